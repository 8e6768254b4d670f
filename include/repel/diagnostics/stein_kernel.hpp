// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/diagnostics/check.hpp>
#include <repel/kernel/imq.hpp>
#include <repel/kernel/kernel.hpp>
#include <repel/pairwise/pairs.hpp>

#include <algorithm>
#include <concepts>
#include <utility>

// The Stein kernel of a target p with score s = ∇ log p, for a radial kernel k = φ(‖x − y‖² / h):
//
//   u(x, y) = s(x)·s(y) k + s(x)·∇_y k + s(y)·∇_x k + tr ∇_x ∇_y k
//           = φ s(x)·s(y) − 2/h [ φ′ ((s(x) − s(y))·(x − y) + d) + 2 φ″ ‖x − y‖²/h ]
//
// Its mean over y ~ p is 0 for every x, if k is in the Stein class of p; p's normalising constant does not enter. The
// discrepancy (ksd.hpp), thinning and weights (stein_thinning.hpp) are sums over it.

namespace repel::diagnostics {

/// Kernels with a Stein kernel: radial, with φ″. Rbf, Imq and Matern52 are; so is yours, with phi_second(u, k).
template <class K>
concept TwiceDifferentiable = DistanceKernel<K> && std::same_as<MetricOf<K>, SquaredEuclidean> &&
    requires(const K& kernel, const repel::detail::Chunk<double>& u) {
  { kernel.phi_second(u, u) } -> std::convertible_to<repel::detail::Chunk<double>>;
};

/// The default kernel of the Stein diagnostics. Imq, because its discrepancy is 0 in the limit only if the particles
/// converge to p, for p with light tails; that of Rbf and other kernels with light tails can vanish while particles
/// wander off, from 3 dimensions on (Gorham & Mackey 2017, theorems 6 and 8).
using SteinDefault = Imq<PlainMedianBandwidth>;

namespace detail {

/// u(x_i, x_j) of one set of particles, in runs of 64 rows of one column; nothing of size n² is kept. Differences are
/// taken coordinate by coordinate, so that near and coincident particles far from the origin lose no digits.
template <class K>
class SteinMatrix {
  static_assert(TwiceDifferentiable<K>,
                "repel::diagnostics: the Stein kernel takes a radial kernel with a second derivative, such as Imq{}, "
                "Rbf{} or Matern52{}, or your own with phi_second(u, k)");

 public:
  static constexpr Index kRun = repel::detail::kTile;

  template <class X, class S>
  SteinMatrix(const char* where, const char* name, const Eigen::MatrixBase<X>& particles,
              const Eigen::MatrixBase<S>& scores, K kernel)
      : kernel_(std::move(kernel)) {
    const Eigen::MatrixXd x = checked_sample(where, name, particles, 2);
    const Eigen::MatrixXd s = checked_sample(where, "scores", scores, 1);
    repel::detail::require_same_shape(where, "scores", s, name, x);
    h_ = repel::bandwidth(kernel_, x);
    n_ = x.cols();
    const Index padded = (n_ + kRun - 1) / kRun * kRun;  // so that every run is whole
    x_.setZero(padded, x.rows());
    s_.setZero(padded, x.rows());
    x_.topRows(n_) = x.transpose();
    s_.topRows(n_) = s.transpose();
  }

  Index count() const { return n_; }
  Index dim() const { return x_.cols(); }
  double bandwidth() const { return h_; }
  /// Multiply-adds for an entry, about.
  double work() const { return 3 * static_cast<double>(dim()) + 20; }

  /// out[i] = u(x_{first + i}, x_j) for i = 0 … rows − 1; first is a multiple of kRun.
  void column(Index j, Index first, Index rows, double* out) const {
    for (Index row = 0; row < rows; row += kRun) {
      const Run u = run(first + row, j);
      std::copy_n(u.data(), std::min(kRun, rows - row), out + row);
    }
  }

  /// u(x_i, x_i)
  Eigen::VectorXd diagonal() const {
    Eigen::VectorXd out(n_);
    for (Index i = 0; i < n_; ++i) out(i) = run(i / kRun * kRun, i)(i % kRun);
    return out;
  }

 private:
  using Run = Eigen::Array<double, kRun, 1>;

  Run run(Index row, Index j) const {
    Run squares = Run::Zero(), slopes = Run::Zero(), products = Run::Zero();
    for (Index k = 0; k < dim(); ++k) {
      const Eigen::Map<const Run> x(&x_(row, k)), s(&s_(row, k));
      const Run difference = x - x_(j, k);
      squares += difference.square();
      slopes += difference * (s - s_(j, k));
      products += s * s_(j, k);
    }
    const Run u = squares / h_, value = kernel_.phi(u);
    const Run slope = kernel_.phi_prime(u, value), second = kernel_.phi_second(u, value);
    return value * products - 2 / h_ * (slope * (slopes + static_cast<double>(dim())) + 2 * u * second);
  }

  K kernel_;
  double h_ = 1;
  Index n_ = 0;
  Eigen::MatrixXd x_, s_;  ///< a particle per row
};

template <class K>
Eigen::MatrixXd full_matrix(const SteinMatrix<K>& stein) {
  const Index n = stein.count();
  Eigen::MatrixXd out(n, n);
  repel::detail::parallel_for(n, stein.work() * static_cast<double>(n),
                              [&](Index j) { stein.column(j, 0, n, &out(0, j)); });
  return out;
}

}  // namespace detail

/// The n×n matrix of u(x_i, x_j), for statistics of your own. `particles` and `scores` are d×n.
template <class X, class S, class K = SteinDefault>
Eigen::MatrixXd stein_matrix(const Eigen::MatrixBase<X>& particles, const Eigen::MatrixBase<S>& scores,
                             const K& kernel = {}) {
  return detail::full_matrix(
      detail::SteinMatrix<K>("diagnostics::stein_matrix", "particles", particles, scores, kernel));
}

}  // namespace repel::diagnostics
