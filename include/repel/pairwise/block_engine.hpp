// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/team.hpp>
#include <repel/linalg/norm.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/gradient_sums.hpp>
#include <repel/pairwise/pair_matrix.hpp>
#include <repel/pairwise/stein_product.hpp>
#include <repel/pairwise/terms.hpp>

#include <cmath>
#include <concepts>
#include <vector>

namespace repel::detail {

/// Sums over pairs from blocks of K (pair_matrix.hpp) and matrix products: used in high dimension, and in low
/// dimension if K exists anyway.
template <class Metric, class Scalar>
class BlockEngine {
 public:
  /// for_blocks(body) calls body with all blocks of the targets in turn; with a team, each process with some of them, and
  /// afterwards all have all.
  using Body = typename PairMatrix<Metric, Scalar>::Body;

  /// `distant`: whether some of the targets may be far from the origin (PackedPoints::any_distant).
  template <class... Terms>
  void accumulate(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points, Index targets, bool distant,
                  Team* team, FunctionRef<void(Body)> for_blocks, const Terms&... terms) {
    one_product_ =
        std::same_as<Metric, SquaredEuclidean> && kernel.shares_slope && !points.low_dimensional() && !distant;
    (begin(kernel, points, targets, terms), ...);
    for_blocks([&](const PairBlock<Scalar>& block) { (take(kernel, points, block, terms), ...); });
    if (team != nullptr) {
      counts_.resize(static_cast<std::size_t>(team->size()));
      for (Index r = 0; r < team->size(); ++r)
        counts_[static_cast<std::size_t>(r)] = PairMatrix<Metric, Scalar>::first_of(*team, targets, r + 1) -
                                               PairMatrix<Metric, Scalar>::first_of(*team, targets, r);
    }
    (end(team, targets, terms), ...);
  }

 private:
  template <class Term>
  void begin(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points, Index targets,
             const Term& term) {
    if constexpr (std::same_as<Term, pair::SumsTerm<Scalar>>) term.out.resize(targets);
    if constexpr (std::same_as<Term, pair::SteinTerm<Scalar>>) {
      if (one_product_)
        stein_.begin(points, kernel.inverse_bandwidth, term.v, targets, term.scale);
      else
        gradients_.resize(points.dim, targets);
    }
  }

  /// The columns of all processes.
  void gather_columns(Team& team, Out<Scalar> out) {
    if (out.outerStride() != out.rows()) {
      gathered_ = out;
      team.gather(gathered_.data(), sizeof(Scalar) * static_cast<std::size_t>(out.rows()), counts_.data());
      out = gathered_;
    } else {
      team.gather(out.data(), sizeof(Scalar) * static_cast<std::size_t>(out.rows()), counts_.data());
    }
  }

  template <class Term>
  void end(Team* team, Index targets, const Term& term) {
    if (team != nullptr) {
      if constexpr (std::same_as<Term, pair::SumsTerm<Scalar>>)
        team->gather(term.out.data(), sizeof(Scalar), counts_.data());
      else
        gather_columns(*team, term.out);
    }
    if constexpr (std::same_as<Term, pair::SteinTerm<Scalar>>)
      if (term.gradient_norm != nullptr) {
        if (team != nullptr && one_product_) stein_.take_norms_of(*team);
        if (team != nullptr && !one_product_) gather_columns(*team, gradients_.leftCols(targets));
        *term.gradient_norm = one_product_
                                  ? stein_.mean_gradient_norm()
                                  : std::abs(static_cast<double>(term.scale)) * mean_norm(gradients_.leftCols(targets));
      }
  }

  template <class Term>
  void take(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points, const PairBlock<Scalar>& block,
            const Term& term) {
    const Index m = block.k.cols();
    const Scalar c = kernel.slope_sign() * kernel.inverse_bandwidth;
    const auto columns = [&](Out<Scalar>& out) -> Out<Scalar> { return out.middleCols(block.first, m); };
    const auto gradients = [&](const Matrix<Scalar>& slopes, const ColumnFactor<Scalar>& factor, Out<Scalar> out) {
      gradient_sums<Metric>(points, block.at, slopes, factor, scratch_, out);
    };
    if constexpr (std::same_as<Term, pair::SumsTerm<Scalar>>) {
      column_sums(block, block.own, &term.out(block.first));
    } else if constexpr (std::same_as<Term, pair::ProductTerm<Scalar>>) {
      take_product(block, term.v, 1, columns(term.out));
    } else if constexpr (std::same_as<Term, pair::GradientTerm<Scalar>>) {
      gradients(block.slopes, {c, kernel.inverse_bandwidth}, columns(term.out));
    } else if constexpr (std::same_as<Term, pair::SourceGradientTerm<Scalar>>) {
      gradients(block.slopes, {-c, kernel.inverse_bandwidth}, columns(term.out));
    } else if constexpr (std::same_as<Term, pair::LogGradientTerm<Scalar>>) {
      sums_.resize(m, 2);  // without and with a particle's own term
      column_sums(block, 0, &sums_(0, 0));
      for (Index j = 0; j < m; ++j) sums_(j, 1) = sums_(j, 0) + block.own;
      gradients(block.slopes, {c, kernel.inverse_bandwidth, &sums_(0, 1), kernel.shares_slope ? &sums_(0, 0) : nullptr},
                columns(term.out));
    } else if constexpr (std::same_as<Term, pair::WeightedGradientTerm<Scalar>>) {
      weighted_.resize(block.slopes.rows(), m);
      parallel_tiles(m, 16, static_cast<double>(points.count), [&](Index begin, Index width) {
        for (Index j = begin; j < begin + width; ++j)
          array_at(&weighted_(0, j), points.count) = array_at(&block.slopes(0, j), points.count) *
                                                     (array_at(term.a.data(), points.count) + term.b(block.first + j));
      });
      gradients(weighted_, {c, kernel.inverse_bandwidth}, columns(term.out));
    } else if constexpr (std::same_as<Term, pair::SteinTerm<Scalar>>) {
      if (one_product_) return stein_.add_block(points, term.v, block, term.out);
      Out<Scalar> out = columns(term.out), part = gradients_.middleCols(block.first, m);
      take_product(block, term.v, term.scale, out);
      gradients(block.slopes, {-c, kernel.inverse_bandwidth}, part);
      parallel_tiles(m, 4, static_cast<double>(points.dim), [&](Index begin, Index width) {
        for (Index j = begin; j < begin + width; ++j)
          array_at(&out(0, j), points.dim) += term.scale * array_at(&part(0, j), points.dim);
      });
    }
  }

  static void column_sums(const PairBlock<Scalar>& block, Scalar own, Scalar* out) {
    parallel_tiles(block.k.cols(), 16, static_cast<double>(block.k.rows()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) out[j] = array_at(&block.k(0, j), block.k.rows()).sum() + own;
    });
  }

  /// out = factor · v K of a block, with the terms that k leaves out.
  static void take_product(const PairBlock<Scalar>& block, const In<Scalar>& v, Scalar factor, Out<Scalar> out) {
    product<Scalar>(v, block.k, out);
    if (block.particle < 0 && factor == 1) return;
    parallel_tiles(out.cols(), 16, static_cast<double>(out.rows()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        auto column = array_at(&out(0, j), out.rows());
        if (block.particle >= 0)
          column += block.own * array_at(v.data() + (block.particle + j) * v.outerStride(), out.rows());
        if (factor != 1) column *= factor;
      }
    });
  }

  bool one_product_ = false;  ///< SteinProduct applies
  SteinProduct<Scalar> stein_;
  Matrix<Scalar> sums_, weighted_, gradients_, scratch_, gathered_;
  std::vector<Index> counts_;  ///< targets of each process
};

}  // namespace repel::detail
