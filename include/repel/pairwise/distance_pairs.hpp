// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/team.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/bandwidth_search.hpp>
#include <repel/pairwise/block_engine.hpp>
#include <repel/pairwise/pair_matrix.hpp>
#include <repel/pairwise/streamed_engine.hpp>
#include <repel/pairwise/terms.hpp>

#include <concepts>

namespace repel::detail {

/// The pairs of a kernel of a distance (see pairs.hpp), without the kernel's own type: compiled once per metric and
/// scalar type. It holds the points, and chooses the engine for each sum.
template <class Metric, class Scalar>
class DistancePairs {
  using Body = typename PairMatrix<Metric, Scalar>::Body;

 public:
  template <class Rule>
  void measure(const Rule& rule, const In<Scalar>& x) {
    matrix_.clear();
    points_.assign(x);
    bandwidth_ = search_.bandwidth(rule, x, points_, matrix_);
  }

  Index count() const { return points_.count; }
  Index dim() const { return points_.dim; }
  double bandwidth() const { return bandwidth_; }
  const Matrix<Scalar>& values(const RadialFunction<Scalar>& kernel) { return matrix_.values(kernel, points_); }

  void values_at(const RadialFunction<Scalar>& kernel, const In<Scalar>& targets, Matrix<Scalar>& out) {
    require_targets(targets.rows(), dim());
    others_.assign(targets, points_.origin);
    matrix_.values_between(kernel, points_, others_, out);
  }

  void values_of_some(const RadialFunction<Scalar>& kernel, Index m, FunctionRef<Index(Index)> pick,
                      Matrix<Scalar>& out) {
    others_.take(points_, m, pick);
    matrix_.values_between(kernel, points_, others_, out);
  }

  /// All particles against all particles, each pair once if that is faster.
  template <class... Terms>
  void accumulate(const RadialFunction<Scalar>& kernel, const Terms&... terms) {
    (require_term(terms, count(), dim(), count()), ...);
    const bool stream = streams(terms...) && !matrix_.holds_values();
    if constexpr ((Terms::sums.weighted || ...))
      if (stream && !(symmetric(terms) && ...))
        return streamed_.template accumulate<false>(kernel, points_, points_, terms...);
    if (stream) {
      streamed_.template accumulate<true>(kernel, points_, points_, terms...);
    } else {
      Team* const team = matrix_.by_strips(points_)
                             ? team_for(static_cast<double>(count()) * static_cast<double>(count() * dim()))
                             : nullptr;
      blocks_.accumulate(
          kernel, points_, count(), distant(points_, kernel), team,
          [&](Body body) { matrix_.for_each_block(kernel, points_, team, body); }, terms...);
    }
  }

  /// All particles against the particles first … first + m. A target's sums do not depend on the other targets.
  template <class... Terms>
  void accumulate_some(const RadialFunction<Scalar>& kernel, Index first, Index m, const Terms&... terms) {
    require_some(first, m, count());
    (require_term(terms, count(), dim(), m), ...);
    if (m == 0) return (finish_empty(terms), ...);
    if (streams(terms...)) {
      others_.take(points_, m, [&](Index k) { return first + k; });
      streamed_.template accumulate<false>(kernel, points_, others_, terms...);
    } else {
      blocks_.accumulate(
          kernel, points_, m, distant(points_, kernel), nullptr,
          [&](Body body) { matrix_.for_some(kernel, points_, first, m, body); }, terms...);
    }
  }

  /// All particles against other points.
  template <class... Terms>
  void accumulate_at(const RadialFunction<Scalar>& kernel, const In<Scalar>& targets, const Terms&... terms) {
    require_targets(targets.rows(), dim());
    (require_term(terms, count(), dim(), targets.cols()), ...);
    if (targets.cols() == 0) return (finish_empty(terms), ...);
    others_.assign(targets, points_.origin);
    if (streams(terms...))
      streamed_.template accumulate<false>(kernel, points_, others_, terms...);
    else
      blocks_.accumulate(
          kernel, points_, targets.cols(), distant(others_, kernel), nullptr,
          [&](Body body) { matrix_.for_others(kernel, points_, others_, body); }, terms...);
  }

  /// out = L(G) for a linear map L that acts on the columns: map(g) returns L(g), which may be g itself. In high dimension and with squared distances G
  /// is a combination of the particles, G = X M, and L acts on M if that is the smaller one.
  void source_gradient_through(const RadialFunction<Scalar>& kernel,
                               FunctionRef<const Matrix<Scalar>&(Matrix<Scalar>&)> map, Out<Scalar> out) {
    const Index n = count();
    if (std::same_as<Metric, SquaredEuclidean> && !points_.low_dimensional() && points_.dim >= n / 2 &&
        n <= kHeldCount && !distant(points_, kernel)) {
      form_gradient_weights(kernel);
      product<Scalar>(points_.columns.topLeftCorner(points_.dim, n), map(gradients_), out);
    } else {
      gradients_.resize(points_.dim, n);
      accumulate(kernel, pair::source_gradient(gradients_));
      out = map(gradients_);
    }
  }

 private:
  static bool distant(const PackedPoints<Scalar>& targets, const RadialFunction<Scalar>& kernel) {
    return targets.any_distant(kernel.inverse_bandwidth);
  }

  /// Whether a pair has the same weight for both of its points.
  template <class Term>
  static bool symmetric(const Term& term) {
    if constexpr (Term::sums.weighted)
      return term.a.data() == term.b.data();
    else
      return true;
  }

  template <class... Terms>
  bool streams(const Terms&... terms) const {
    return points_.low_dimensional() && StreamedEngine<Metric, Scalar>::fits(terms...);
  }

  /// M with G = X M:  G_j = 2/h Σ_i φ′_ij (x_i − x_j).
  void form_gradient_weights(const RadialFunction<Scalar>& kernel) {
    const Scalar c = 2 * kernel.slope_sign() * kernel.inverse_bandwidth;
    const Matrix<Scalar>& a = matrix_.slopes(kernel, points_);
    gradients_.resize(count(), count());
    parallel_tiles(count(), 16, static_cast<double>(count()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        auto column = array_at(&gradients_(0, j), count());
        column = c * array_at(&a(0, j), count());
        gradients_(j, j) = 0;
        gradients_(j, j) = -column.sum();
      }
    });
  }

  double bandwidth_ = 0;
  PackedPoints<Scalar> points_, others_;
  BandwidthSearch<Metric, Scalar> search_;
  PairMatrix<Metric, Scalar> matrix_;
  StreamedEngine<Metric, Scalar> streamed_;
  BlockEngine<Metric, Scalar> blocks_;
  Matrix<Scalar> gradients_;
};

}  // namespace repel::detail
