#pragma once

#include <repel/core/norm.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/kernel/concepts.hpp>
#include <repel/kernel/distances.hpp>

#include <optional>

// What gram.hpp describes, for kernels that are not of a distance.

namespace repel {

template <class K, class Scalar>
class Gram;

/// Any other kernel, pair by pair.
template <PairKernel K, class Scalar>
requires(!DistanceKernel<K>) class Gram<K, Scalar> {
 public:
  template <class Derived>
  void update(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
    const Index n = x.cols();
    kernel_.emplace(kernel);
    x_ = x;
    points_.assign(x);
    bandwidth_ = distances_.bandwidth(kernel.bandwidth, points_);
    values_.resize(n, n);
    detail::parallel_for(n, static_cast<double>(n * x.rows()), [&](Index j) {
      for (Index i = 0; i < n; ++i) values_(i, j) = kernel_->value(x_.col(i), x_.col(j), h());
    });
  }

  double bandwidth() const { return bandwidth_; }
  Index count() const { return x_.cols(); }
  const Matrix<Scalar>& values() const { return values_; }

  template <class Sums>
  void sums(Sums& out) const {
    out.resize(count());
    for (Index j = 0; j < count(); ++j) out(j) = values_.col(j).sum();
  }

  template <class Out>
  void attraction(Out& out) const {
    sum(out, [&](auto column, Index i, Index j) { column += kernel_->gradient(x_.col(i), x_.col(j), h()); });
  }

  template <class Out, class Sums>
  void attraction_over_sums(Out& out, Sums& s) const {
    sums(s);
    attraction(out);
    for (Index j = 0; j < count(); ++j) out.col(j) *= 1 / s(j);
  }

  template <class Weights, class Out>
  void attraction_shared(const Weights& w, Out& out) const {
    sum(out,
        [&](auto column, Index i, Index j) { column += (w(i) + w(j)) * kernel_->gradient(x_.col(i), x_.col(j), h()); });
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

  template <class V, class Out>
  void product(const V& v, Out& out) const {
    detail::product<Scalar>(v, values_, out);
  }

  template <class V, class Out, class G>
  void product_and_gradient_sum(const V& v, Out& out, G& g) const {
    product(v, out);
    gradient_sum(g);
  }

  bool gradient_weights(Matrix<Scalar>&) const { return false; }
  template <class Out>
  void combine(const Matrix<Scalar>&, Scalar, Out&) const {}

  void landmark_values(Index m, Matrix<Scalar>& to_all, Matrix<Scalar>& among) const {
    to_all.resize(count(), m);
    among.resize(m, m);
    for (Index k = 0; k < m; ++k) to_all.col(k) = values_.col(k * count() / m);
    for (Index k = 0; k < m; ++k) among.row(k) = to_all.row(k * count() / m);
  }

  Scalar trace() const { return values_.trace(); }

  template <class V, class Out>
  double stein_direction(const V& v, Out& out) {
    gradients_.resize(x_.rows(), count());
    product_and_gradient_sum(v, out, gradients_);
    out = (out + gradients_) / static_cast<Scalar>(count());
    return detail::mean_norm(gradients_) / static_cast<double>(count());
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
  Matrix<Scalar> x_, values_, gradients_;
  detail::Points<Scalar> points_;
  detail::Distances<MetricOf<K>, Scalar> distances_;
};

}  // namespace repel
