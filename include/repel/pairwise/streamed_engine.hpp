// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>
#include <repel/linalg/norm.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/sweep.hpp>
#include <repel/pairwise/terms.hpp>

#include <algorithm>
#include <concepts>

namespace repel::detail {

/// Sums over pairs in low dimension: one streamed pass for all terms (sweep.hpp), and K is never formed.
template <class Metric, class Scalar>
class StreamedEngine {
 public:
  /// Whether the terms fit in one or a few passes: they do not if they multiply K by many rows.
  template <class... Terms>
  static bool fits(const Terms&... terms) {
    const auto one = [](const auto& term) {
      if constexpr (requires { term.v; })
        return term.v.rows() <= (sizeof...(Terms) == 1 && !term.sums.gradient ? 4 * kLowDimension : kLowDimension);
      else
        return true;
    };
    return (one(terms) && ...);
  }

  /// `among`: the targets are the particles themselves, and each pair serves both of its points.
  template <bool among, class... Terms>
  void accumulate(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points,
                  const PackedPoints<Scalar>& targets, const Terms&... terms) {
    static_assert(one_of_each<Terms...>, "repel: a pass has at most one term with gradients and one with products");
    constexpr Sums wanted = combined<Terms...>();
    const auto pass = [&] {
      if constexpr (among)
        sweep<wanted, Metric>(kernel, points, sweep_);
      else
        sweep_between<wanted, Metric>(kernel, points, targets, sweep_);
    };
    const Scalar own = among ? kernel.value_at_0 : Scalar(0);  // sums among the particles lack the terms i = j
    if constexpr (wanted.product && !wanted.gradient && !wanted.values) {
      const auto& term = (terms, ...);
      for (Index first = 0; first < term.v.rows(); first += kLowDimension) {
        const Index rows = std::min(kLowDimension, term.v.rows() - first);
        const pair::ProductTerm<Scalar> slice{term.v.middleRows(first, rows), term.out.middleRows(first, rows)};
        prepare(points, slice);
        pass();
        take<wanted>(kernel, targets, own, slice);
      }
    } else {
      (prepare(points, terms), ...);
      pass();
      (take<wanted>(kernel, targets, own, terms), ...);
    }
  }

 private:
  template <class... Terms>
  static constexpr Sums combined() {
    Sums all;
    ((all.values |= Terms::sums.values, all.gradient |= Terms::sums.gradient, all.product |= Terms::sums.product,
      all.weighted |= Terms::sums.weighted),
     ...);
    return all;
  }
  template <class... Terms>
  static constexpr bool one_of_each = ((Terms::sums.gradient ? 1 : 0) + ...) <= 1 &&
                                      ((Terms::sums.product ? 1 : 0) + ...) <= 1;

  /// What a pass reads beside the points.
  template <class Term>
  void prepare(const PackedPoints<Scalar>& points, const Term& term) {
    const Index padded = points.coordinates.rows(), n = points.count;
    if constexpr (requires { term.v; }) {
      sweep_.sources.resize(padded, term.v.rows());
      for (Index k = 0; k < term.v.rows(); ++k) {
        for (Index i = 0; i < n; ++i) sweep_.sources(i, k) = term.v(k, i);
        for (Index i = n; i < padded; ++i) sweep_.sources(i, k) = 0;
      }
    }
    if constexpr (Term::sums.weighted) {
      sweep_.source_weights.setZero(padded);
      sweep_.source_weights.head(n) = term.a;
      sweep_.target_weights = term.b;
    }
  }

  /// Turns the totals of a pass into the results of a term.
  template <Sums wanted, class Term>
  void take(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& targets, Scalar own, const Term& term) {
    const Index n = targets.count, d = targets.dim, product_at = wanted.product_at(d);
    const Scalar c = kernel.slope_sign() * static_cast<Scalar>(kSlopeFactor<Metric>) * kernel.inverse_bandwidth;
    const auto write_gradient = [&](Index j, Scalar factor, Scalar inverse = 1) {  // see ColumnFactor
      for (Index k = 0; k < d; ++k) term.out(k, j) = factor * (inverse * sweep_.total(j, wanted.gradient_at() + k));
    };
    const auto product_total = [&](Index k, Index j) {
      const Scalar others = sweep_.total(j, product_at + k);
      if constexpr (requires { term.v; }) return own != 0 ? others + own * term.v(k, j) : others;
      return others;
    };
    if constexpr (std::same_as<Term, pair::SumsTerm<Scalar>>) {
      term.out.resize(n);
      for (Index j = 0; j < n; ++j) term.out(j) = sweep_.total(j, 0) + own;
    } else if constexpr (std::same_as<Term, pair::ProductTerm<Scalar>>) {
      for (Index j = 0; j < n; ++j)
        for (Index k = 0; k < term.v.rows(); ++k) term.out(k, j) = product_total(k, j);
    } else if constexpr (std::same_as<Term, pair::LogGradientTerm<Scalar>>) {
      for (Index j = 0; j < n; ++j) write_gradient(j, c, 1 / (sweep_.total(j, 0) + own));
    } else if constexpr (std::same_as<Term, pair::SourceGradientTerm<Scalar>>) {
      for (Index j = 0; j < n; ++j) write_gradient(j, -c);
    } else if constexpr (std::same_as<Term, pair::SteinTerm<Scalar>>) {
      for (Index j = 0; j < n; ++j) write_gradient(j, -c * term.scale);
      if (term.gradient_norm != nullptr) *term.gradient_norm = mean_norm(term.out);
      for (Index j = 0; j < n; ++j)
        for (Index k = 0; k < d; ++k) term.out(k, j) += term.scale * product_total(k, j);
    } else {
      for (Index j = 0; j < n; ++j) write_gradient(j, c);
    }
  }

  SweepBuffers<Scalar> sweep_;
};

}  // namespace repel::detail
