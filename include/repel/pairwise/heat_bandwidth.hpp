// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/kernel/bandwidth.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/pairwise/distance_pairs.hpp>
#include <repel/pairwise/terms.hpp>

#include <cmath>

// The bandwidth for which the kernel density estimate obeys the heat equation best (Liu et al. 2019, "Understanding and
// accelerating particle-based variational inference", the HE method). Under the flow x′ = −∇ log p(x) a density p obeys
// ∂p/∂t = Δp. If it is estimated by p(x) = Σ_j k(x, x_j), k = exp(−‖x − x_j‖² / h), and the particles move along
// −s_j = −∇ log p(x_j), then ∂p/∂t = −Σ_j ∇_{x_j} k(x, x_j)·s_j instead, and the two differ by
//
//   λ(x) = Δp(x) + Σ_j ∇_{x_j} k(x, x_j)·s_j = Σ_j (4r²/h² − 2d/h) k + (2/h) Σ_j k (x − x_j)·s_j
//
// The rule minimises the mean over the particles of (h λ / p)², which has no units: it is 4d² for h → 0, where each
// particle is alone, as well as for h → ∞, where all of p is one kernel. (To take λ relative to p is
// our choice of weights: sparse regions count like dense ones.)

namespace repel {

/// The h for which the kernel density estimate, and so the repulsion of WGD, obeys the heat equation best. For radial
/// kernels, best for Rbf, whose h it is. A search takes some 20 evaluations of O(n² d); its result is exact to 2 %
/// and follows from the particles alone. With `every` = k it is kept for k steps, from each multiple of k on; then a
/// run that is resumed in between goes on with another h, and one sampler must not step several states in turn.
struct HeatBandwidth {
  Index every = 1;  ///< steps from search to search
  Index step = 0;   ///< set by the sampler: steps taken so far

  template <class Scalar>
  struct Workspace {
    detail::DistancePairs<SquaredEuclidean, double> pairs;
    Matrix<double> x, s, rows, sums;
    Vector<double> p;
    double h = 0;     ///< of the last step
    Index step = -1;  ///< and its number
  };

  void validate() const {
    if (every < 1) detail::fail("HeatBandwidth", "every is ", every, ", but must be at least 1");
  }
  void begin_step(Index now) { step = now; }

  /// The bandwidth of these points, as of the last search.
  template <class Points, class Scalar>
  double operator()(const Points& points, Workspace<Scalar>& w) const {
    const bool keep =
        step % every != 0 && w.step == step - 1 && w.x.rows() == points.rows() && w.x.cols() == points.cols();
    if (!keep) {
      take(points, w);
      w.h = search(w);
    }
    w.step = step;
    return w.h;
  }

  /// The mean of (h λ / p)² over the columns of x.
  template <class Derived>
  static double objective(const Eigen::MatrixBase<Derived>& x, double h) {
    Workspace<typename Derived::Scalar> w;
    take(detail::checked_points("HeatBandwidth::objective", "X", x), w);
    return mismatch(w, h);
  }

 private:
  /// In double, and around the mean: the sums below cancel.
  template <class Points, class Workspace>
  static void take(const Points& points, Workspace& w) {
    w.x = points.template cast<double>();
    for (Index k = 0; k < w.x.rows(); ++k) w.x.row(k).array() -= w.x.row(k).mean();
  }

  template <class Workspace>
  static double mismatch(Workspace& w, double h) {
    const Index d = w.x.rows(), n = w.x.cols();
    const Rbf<FixedBandwidth> kernel{FixedBandwidth{h}};
    const detail::RadialFunction<double> function(kernel, h);
    w.pairs.measure(kernel.bandwidth, w.x);
    w.s.resize(d, n);
    w.pairs.accumulate(function, pair::sums(w.p), pair::log_gradient(w.s));
    // With a_j = x_j·s_j and b_j = ‖x_j‖²:  Σ_j k_ij (x_i − x_j)·s_j = x_i·(S K)_i − (a K)_i, and since
    // (X K)_i = p_i (x_i + h/2 s_i):  Σ_j k_ij r² = (b K)_i − p_i (b_i + h a_i).
    w.rows.resize(d + 2, n);
    w.sums.resize(d + 2, n);
    for (Index j = 0; j < n; ++j) {
      w.rows.col(j).head(d) = w.s.col(j);
      w.rows(d, j) = w.x.col(j).dot(w.s.col(j));
      w.rows(d + 1, j) = w.x.col(j).squaredNorm();
    }
    w.pairs.accumulate(function, pair::product(w.rows, w.sums));
    double total = 0;
    for (Index i = 0; i < n; ++i) {
      const double moved = w.x.col(i).dot(w.sums.col(i).head(d)) - w.sums(d, i);
      const double squares = w.sums(d + 1, i) - w.p(i) * (w.rows(d + 1, i) + h * w.rows(d, i));
      const double relative = (4 / h * squares + 2 * moved) / w.p(i) - 2 * static_cast<double>(d);
      total += relative * relative;
    }
    return total / static_cast<double>(n);
  }

  /// A scan by powers of 2 around the median's h, since there may be several minima, then a golden-section search.
  template <class Workspace>
  static double search(Workspace& w) {
    w.pairs.measure(MedianBandwidth{}, w.x);
    const double start = w.pairs.bandwidth();
    const auto at = [&](double exponent) { return mismatch(w, start * std::exp2(exponent)); };
    double best = 0, least = at(0);
    for (int exponent = -8; exponent <= 4; ++exponent) {
      if (exponent == 0) continue;
      const double value = at(exponent);
      if (!(value < least)) continue;
      least = value;
      best = exponent;
    }
    constexpr double golden = 0.6180339887498949;
    double low = best - 1, high = best + 1;
    double left = high - golden * (high - low), right = low + golden * (high - low);
    double at_left = at(left), at_right = at(right);
    while (high - low > 0.05) {
      if (at_left <= at_right) {
        high = right;
        right = left;
        at_right = at_left;
        at_left = at(left = high - golden * (high - low));
      } else {
        low = left;
        left = right;
        at_left = at_right;
        at_right = at(right = low + golden * (high - low));
      }
    }
    if (at_left < least || at_right < least) best = at_left < at_right ? left : right;
    return start * std::exp2(best);
  }
};

}  // namespace repel
