#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/kernel/concepts.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

// The narrow waist between kernels and everything above them. For one set of particles x_1 … x_n, Gram holds
//   bandwidth()               h
//   values()                  K, the n×n matrix k(x_i, x_j)
//   gradient_sum(out)         G, column j = Σ_k ∇_{x_k} k(x_k, x_j)
//   attraction(out)           column i = Σ_j ∇_{x_i} k(x_i, x_j); the opposite of G for kernels of a distance
//   attraction(w, out)        the same with weights: Σ_j w(i, j) ∇_{x_i} k(x_i, x_j), for a symmetric n×n expression w
//   values_at(queries, K)     k(x_i, q_j), with the same h
//   attraction_at(queries, K, A)   the same, and column j of A = Σ_i ∇_{q_j} k(q_j, x_i)
// Buffers are kept from one update to the next, so a step with unchanged sizes allocates nothing.

namespace repel {

namespace detail {

/// Copies the strictly lower triangle onto the upper one, block by block to be kind to the cache.
template <class Scalar>
void mirror_lower(Matrix<Scalar>& m) {
  constexpr Index width = 8;
  const Index n = m.cols();
  for (Index j = 0; j < n; j += width) {
    const Index w = std::min(width, n - j);
    for (Index c = 0; c < w; ++c)
      for (Index r = 0; r < c; ++r) m(j + r, j + c) = m(j + c, j + r);
    Index i = j + w;
    for (; i + width <= n; i += width)
      m.template block<width, width>(j, i) = m.template block<width, width>(i, j).transpose();
    if (i < n) m.block(j, i, w, n - i) = m.block(i, j, n - i, w).transpose();
  }
}

/// Measures the columns of x by the kernel's metric, and returns the h that the kernel's rule makes of the distances.
template <class K, class Derived, class Scalar>
double measure(const K& kernel, const Eigen::MatrixBase<Derived>& x, Points<Scalar>& points, Matrix<Scalar>& distances,
               std::vector<Scalar>& scratch) {
  points.assign(x);
  MetricOf<K>::distances(points, points, distances);
  const double h = kernel.bandwidth(std::as_const(distances), scratch);
  if (!(h > 0) || !(static_cast<Scalar>(1 / h) > 0) || !std::isfinite(static_cast<Scalar>(1 / h)))
    fail("bandwidth", "the rule returned ", h, ", but h must be positive and 1/h within the range of ",
         8 * sizeof(Scalar), "-bit numbers");
  return h;
}

}  // namespace detail

template <class K, class Scalar>
class Gram;

/// Kernels of a distance: everything in whole columns and matrix products.
template <DistanceKernel K, class Scalar>
class Gram<K, Scalar> {
  using Metric = MetricOf<K>;

 public:
  template <class Derived>
  void update(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
    const Index n = x.cols();
    kernel_.emplace(kernel);
    bandwidth_ = detail::measure(kernel, x, points_, slopes_, scratch_);
    values_.resize(n, n);
    // K is symmetric: the lower half of the exponentials is enough. slopes_ turns from distances into φ′ in place.
    detail::parallel_tiles(n, detail::kTile, static_cast<double>(4 * n), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        auto u = slopes_.col(j).tail(n - j).array();
        auto k = values_.col(j).tail(n - j).array();
        u = scaled(u);
        k = kernel_->phi(u);
        u = kernel_->phi_prime(u, k);
        slopes_(j, j) = 0;  // a particle does not pull on itself: exactly, not up to rounding
      }
    });
    detail::mirror_lower(values_);
    detail::mirror_lower(slopes_);
  }

  double bandwidth() const { return bandwidth_; }
  const Matrix<Scalar>& values() const { return values_; }

  template <class Out>
  void attraction(Out& out) const {
    Metric::pull(points_, points_, slopes_, inverse_bandwidth(), out);
  }

  template <class Weights, class Out>
  void attraction(const Weights& weights, Out& out) {
    weighted_.noalias() = slopes_.cwiseProduct(weights);
    Metric::pull(points_, points_, weighted_, inverse_bandwidth(), out);
  }

  template <class Out>
  void gradient_sum(Out& out) const {
    Metric::pull(points_, points_, slopes_, -inverse_bandwidth(), out);
  }

  template <class Derived>
  void values_at(const Eigen::MatrixBase<Derived>& queries, Matrix<Scalar>& values) {
    scaled_distances_at(queries);
    values = kernel_->phi(query_slopes_.array()).matrix();
  }

  template <class Derived>
  void attraction_at(const Eigen::MatrixBase<Derived>& queries, Matrix<Scalar>& values, Matrix<Scalar>& attraction) {
    values_at(queries, values);
    auto u = query_slopes_.array();
    u = kernel_->phi_prime(u, values.array());
    attraction.resize(queries.rows(), queries.cols());
    Metric::pull(points_, queries_, query_slopes_, inverse_bandwidth(), attraction);
  }

 private:
  Scalar inverse_bandwidth() const { return static_cast<Scalar>(1 / bandwidth_); }

  /// distance / h, kept finite so that tails such as (1 + √u) exp(−√u) end in 0 and not in ∞·0.
  template <class Array>
  auto scaled(const Array& distance) const {
    return (distance * inverse_bandwidth()).min(std::numeric_limits<Scalar>::max() / 8);
  }

  template <class Derived>
  void scaled_distances_at(const Eigen::MatrixBase<Derived>& queries) {
    queries_.assign(queries, points_.origin);
    Metric::distances(points_, queries_, query_slopes_);
    query_slopes_.array() = scaled(query_slopes_.array());
  }

  std::optional<K> kernel_;
  double bandwidth_ = 0;
  detail::Points<Scalar> points_, queries_;
  Matrix<Scalar> values_, slopes_, weighted_, query_slopes_;
  std::vector<Scalar> scratch_;
};

/// Any other kernel, pair by pair.
template <PairKernel K, class Scalar>
requires(!DistanceKernel<K>) class Gram<K, Scalar> {
 public:
  template <class Derived>
  void update(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
    const Index n = x.cols();
    kernel_.emplace(kernel);
    x_ = x;
    bandwidth_ = detail::measure(kernel, x, points_, distances_, scratch_);
    values_.resize(n, n);
    const auto h = static_cast<Scalar>(bandwidth_);
    detail::parallel_for(n, static_cast<double>(n * x.rows()), [&](Index j) {
      for (Index i = 0; i < n; ++i) values_(i, j) = kernel_->value(x_.col(i), x_.col(j), h);
    });
  }

  double bandwidth() const { return bandwidth_; }
  const Matrix<Scalar>& values() const { return values_; }

  template <class Out>
  void attraction(Out& out) const {
    sum(out, [&](auto column, Index i, Index j) { column += kernel_->gradient(x_.col(i), x_.col(j), h()); });
  }

  template <class Weights, class Out>
  void attraction(const Weights& w, Out& out) const {
    sum(out,
        [&](auto column, Index i, Index j) { column += w.coeff(i, j) * kernel_->gradient(x_.col(i), x_.col(j), h()); });
  }

  template <class Out>
  void gradient_sum(Out& out) const {
    sum(out, [&](auto column, Index j, Index k) { column += kernel_->gradient(x_.col(k), x_.col(j), h()); });
  }

  template <class Derived>
  void values_at(const Eigen::MatrixBase<Derived>& queries, Matrix<Scalar>& values) const {
    values.resize(x_.cols(), queries.cols());
    for (Index j = 0; j < queries.cols(); ++j)
      for (Index i = 0; i < x_.cols(); ++i) values(i, j) = kernel_->value(x_.col(i), queries.col(j), h());
  }

  template <class Derived>
  void attraction_at(const Eigen::MatrixBase<Derived>& queries, Matrix<Scalar>& values,
                     Matrix<Scalar>& attraction) const {
    values_at(queries, values);
    attraction.setZero(queries.rows(), queries.cols());
    for (Index j = 0; j < queries.cols(); ++j)
      for (Index i = 0; i < x_.cols(); ++i) attraction.col(j) += kernel_->gradient(queries.col(j), x_.col(i), h());
  }

 private:
  Scalar h() const { return static_cast<Scalar>(bandwidth_); }

  /// Column i of out = Σ_j of what add(column, i, j) adds to it. It adds in one expression: what a user's gradient
  /// returns may refer to temporaries that do not outlive it.
  template <class Out, class Add>
  void sum(Out& out, const Add& add) const {
    detail::parallel_for(x_.cols(), static_cast<double>(x_.size()), [&](Index i) {
      out.col(i).setZero();
      for (Index j = 0; j < x_.cols(); ++j) add(out.col(i), i, j);
    });
  }

  std::optional<K> kernel_;
  double bandwidth_ = 0;
  Matrix<Scalar> x_;
  detail::Points<Scalar> points_;
  Matrix<Scalar> values_, distances_;
  std::vector<Scalar> scratch_;
};

/// The kernel matrix of the columns of x, n×n.
template <class K, class Derived>
Matrix<typename Derived::Scalar> gram(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
  static_assert(detail::assert_kernel<K>());
  detail::validate_kernel(kernel);
  const auto& points = x.derived().eval();
  detail::require_points("gram", "X", points);
  Gram<K, typename Derived::Scalar> result;
  result.update(kernel, points);
  return result.values();
}

/// The h that the kernel's bandwidth rule chooses for the columns of x.
template <class K, class Derived>
double bandwidth(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
  using Scalar = typename Derived::Scalar;
  static_assert(detail::assert_kernel<K>());
  detail::validate_kernel(kernel);
  const auto& points = x.derived().eval();
  detail::require_points("bandwidth", "X", points);
  detail::Points<Scalar> measured;
  Matrix<Scalar> distances;
  std::vector<Scalar> scratch;
  return detail::measure(kernel, points, measured, distances, scratch);
}

}  // namespace repel
