// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/kernel/kernel.hpp>
#include <repel/linalg/norm.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/bandwidth_search.hpp>
#include <repel/pairwise/terms.hpp>

#include <cmath>
#include <concepts>
#include <optional>

namespace repel::detail {

/// What pairs.hpp describes for any kernel with value() and gradient(), pair by pair, by plain loops.
template <PairKernel K, class Scalar>
class GeneralPairs {
 public:
  void measure(const K& kernel, const In<Scalar>& x) {
    kernel_.emplace(kernel);
    x_ = x;
    points_.assign(x);
    matrix_.clear();
    bandwidth_ = search_.bandwidth(kernel.bandwidth, x_, points_, matrix_);
    formed_ = false;
  }

  Index count() const { return x_.cols(); }
  Index dim() const { return x_.rows(); }
  double bandwidth() const { return bandwidth_; }

  const Matrix<Scalar>& values() {
    if (!formed_) values_at(x_, values_);
    formed_ = true;
    return values_;
  }

  void values_at(const In<Scalar>& targets, Matrix<Scalar>& out) const {
    require_targets(targets.rows(), dim());
    out.resize(count(), targets.cols());
    parallel_for(targets.cols(), static_cast<double>(x_.size()), [&](Index j) {
      for (Index i = 0; i < count(); ++i) out(i, j) = kernel_->value(x_.col(i), targets.col(j), h());
    });
  }

  void values_of_some(Index m, FunctionRef<Index(Index)> pick, Matrix<Scalar>& out) {
    values();
    out.resize(count(), m);
    for (Index k = 0; k < m; ++k) out.col(k) = values_.col(pick(k));
  }

  Vector<Scalar> diagonal() { return values().diagonal(); }
  Scalar trace() { return values().trace(); }

  template <class... Terms>
  void accumulate(const Terms&... terms) {
    (require_term(terms, count(), dim(), count()), ...);
    values();
    (take(x_, values_, terms), ...);
  }
  template <class... Terms>
  void accumulate_some(Index first, Index m, const Terms&... terms) {
    require_some(first, m, count());
    accumulate_at(x_.middleCols(first, m), terms...);
  }
  template <class... Terms>
  void accumulate_at(const In<Scalar>& targets, const Terms&... terms) {
    (require_term(terms, count(), dim(), targets.cols()), ...);
    values_at(targets, target_values_);
    (take(targets, target_values_, terms), ...);
  }

  template <class Map>
  void source_gradient_through(const Map& map, Out<Scalar> out) {
    gradients_.resize(dim(), count());
    accumulate(pair::source_gradient(gradients_));
    out = map(gradients_);
  }

 private:
  Scalar h() const { return static_cast<Scalar>(bandwidth_); }

  template <class Term>
  void take(const In<Scalar>& y, const Matrix<Scalar>& k, const Term& term) {
    // Added up in one expression: what a user's gradient returns may refer to temporaries that do not outlive it.
    const auto target_gradient = [&](auto column, Index i, Index j, Scalar weight) {
      column += weight * kernel_->gradient(y.col(j), x_.col(i), h());
    };
    const auto source_gradient = [&](auto column, Index i, Index j, Scalar weight) {
      column += weight * kernel_->gradient(x_.col(i), y.col(j), h());
    };
    if constexpr (std::same_as<Term, pair::SumsTerm<Scalar>>) {
      term.out = k.colwise().sum().transpose();
    } else if constexpr (std::same_as<Term, pair::ProductTerm<Scalar>>) {
      product<Scalar>(term.v, k, term.out);
    } else if constexpr (std::same_as<Term, pair::SteinTerm<Scalar>>) {
      gradients_.resize(dim(), y.cols());
      sum(gradients_, [&](auto column, Index i, Index j) { source_gradient(column, i, j, term.scale); });
      product<Scalar>(term.v, k, term.out);
      term.out = term.scale * term.out + gradients_;
      if (term.gradient_norm != nullptr) *term.gradient_norm = mean_norm(gradients_);
    } else if constexpr (std::same_as<Term, pair::SourceGradientTerm<Scalar>>) {
      sum(term.out, [&](auto column, Index i, Index j) { source_gradient(column, i, j, 1); });
    } else if constexpr (std::same_as<Term, pair::LogGradientTerm<Scalar>>) {
      sum(term.out, [&](auto column, Index i, Index j) { target_gradient(column, i, j, 1); });
      for (Index j = 0; j < y.cols(); ++j) term.out.col(j) *= 1 / k.col(j).sum();
    } else if constexpr (std::same_as<Term, pair::WeightedGradientTerm<Scalar>>) {
      sum(term.out, [&](auto column, Index i, Index j) { target_gradient(column, i, j, term.a(i) + term.b(j)); });
    } else {
      sum(term.out, [&](auto column, Index i, Index j) { target_gradient(column, i, j, 1); });
    }
  }

  /// Column j of out = Σ_i of what add(column, i, j) adds to it.
  template <class M, class Add>
  void sum(M& out, const Add& add) const {
    parallel_for(out.cols(), static_cast<double>(x_.size()), [&](Index j) {
      out.col(j).setZero();
      for (Index i = 0; i < count(); ++i) add(out.col(j), i, j);
    });
  }

  std::optional<K> kernel_;
  double bandwidth_ = 0;
  bool formed_ = false;
  Matrix<Scalar> x_, values_, target_values_, gradients_;
  PackedPoints<Scalar> points_;
  PairMatrix<MetricOf<K>, Scalar> matrix_;
  BandwidthSearch<MetricOf<K>, Scalar> search_;
};

}  // namespace repel::detail
