// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/team.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/pair_matrix.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

namespace repel::detail {

/// Σ_i [v_i k_ij + ∇_{x_i} k_ij], scaled, by one matrix product, for kernels with φ′ = −φ of the squared Euclidean
/// distance in high dimension. There the gradients sum up to G_j = c Σ_i k_ij (y_j − x_i) with c = 2/h, so
///   V K + G = (V − c X) K + c Y diag(Σ_i k_ij).
/// G itself is then never formed, and its norm is estimated by the mean over 4 to 16 evenly spread targets.
template <class Scalar>
class SteinProduct {
 public:
  /// Forms V − c X, which serves all blocks.
  void begin(const PackedPoints<Scalar>& points, Scalar inverse_bandwidth, const In<Scalar>& v, Index targets,
             Scalar scale) {
    factor_ = 2 * inverse_bandwidth;
    scale_ = scale;
    targets_ = targets;
    checked_ = std::min(targets, std::clamp<Index>(targets / 16, 4, 16));
    norms_.setZero(checked_);
    const Index d = points.dim, n = points.count;
    at_once_ = targets > kColumnTile;  // otherwise some rows at a time, just before they are used
    slots_ = thread_slots();
    if (!at_once_) return sources_.resize(std::min(d, kRowTile) * n, slots_);
    sources_.resize(d, n);
    parallel_blocks(d, 1, 2 * static_cast<double>(n), [&](const BlockOf& at) {
      form_sources(points, v, at.row, at.rows, block_at(sources_, at.row, 0));
    });
  }

  /// Writes the columns of one block into out.
  void add_block(const PackedPoints<Scalar>& points, const In<Scalar>& v, const PairBlock<Scalar>& block,
                 Out<Scalar> out) {
    const Index n = points.count, first = block.first;
    sums_.resize(block.k.cols());
    parallel_tiles(block.k.cols(), 16, static_cast<double>(n), [&](Index begin, Index width) {
      for (Index j = begin; j < begin + width; ++j) sums_(j) = array_at(&block.k(0, j), n).sum();
    });
    parallel_blocks(points.dim, block.k.cols(), static_cast<double>(n), slots_, [&](const BlockOf& at, Index slot) {
      const Block<Scalar> part = block_at(out, at.row, first + at.column);
      Block<Scalar> sources = block_at(sources_, at.row, 0);
      if (!at_once_) {
        sources = {&sources_(0, slot), at.rows};
        form_sources(points, v, at.row, at.rows, sources);
      }
      multiply<Stored::plain, Stored::plain, Scalar>(at.rows, at.columns, n, sources, block_at(block.k, 0, at.column),
                                                     part);
      for (Index b = 0; b < at.columns; ++b) {
        const Index j = at.column + b;
        auto column = array_at(part.data + b * part.stride, at.rows);
        column += (scale_ * factor_ * sums_(j)) * array_at(&block.at.columns(at.row, j), at.rows);
        if (block.particle >= 0)  // k has a zero where a particle meets itself
          column +=
              (scale_ * block.own) * array_at(v.data() + (block.particle + j) * v.outerStride() + at.row, at.rows);
      }
    });
    add_norms(points, block);
  }

  /// The mean norm of the columns of scale · G.
  double mean_gradient_norm() const {
    double sum = 0;
    for (Index t = 0; t < checked_; ++t) sum += norms_(t);
    return std::abs(static_cast<double>(factor_ * scale_)) * sum / static_cast<double>(checked_);
  }

  /// The norms that other processes have found: each is that of one of them.
  void take_norms_of(Team& team) {
    const Index members = team.size();
    team_norms_.resize(checked_, members);
    ones_.assign(static_cast<std::size_t>(members), 1);
    team_norms_.col(team.rank()) = norms_;
    team.gather(team_norms_.data(), sizeof(double) * static_cast<std::size_t>(checked_), ones_.data());
    norms_.setZero(checked_);
    for (Index r = 0; r < members; ++r) norms_ += team_norms_.col(r);
  }

 private:
  /// scale (v − c x), some rows of all particles
  void form_sources(const PackedPoints<Scalar>& points, const In<Scalar>& v, Index row, Index rows,
                    Block<Scalar> sources) const {
    for (Index i = 0; i < points.count; ++i)
      array_at(sources.data + i * sources.stride, rows) =
          scale_ *
          (array_at(v.data() + i * v.outerStride() + row, rows) - factor_ * array_at(&points.columns(row, i), rows));
  }

  /// Adds ‖G_j / c‖ of those of the checked targets that are columns of this block.
  void add_norms(const PackedPoints<Scalar>& points, const PairBlock<Scalar>& block) {
    const Index d = points.dim, n = points.count;
    Index found = 0;
    values_.resize(n, checked_);
    columns_.resize(checked_);
    checked_at_.resize(checked_);
    for (Index t = 0; t < checked_; ++t)
      if (const Index j = t * targets_ / checked_ - block.first; j >= 0 && j < block.k.cols()) {
        std::copy_n(&block.k(0, j), n, &values_(0, found));
        checked_at_(found) = t;
        columns_(found++) = j;
      }
    gradients_.resize(d, checked_);
    product<Scalar>(points.columns.topLeftCorner(d, n), values_.leftCols(found), gradients_.leftCols(found));
    for (Index t = 0; t < found; ++t) {
      const Index j = columns_(t);
      const auto gradient = sums_(j) * array_at(&block.at.columns(0, j), d) - array_at(&gradients_(0, t), d);
      norms_(checked_at_(t)) = static_cast<double>(std::sqrt(gradient.square().sum()));
    }
  }

  Scalar factor_ = 0, scale_ = 1;
  bool at_once_ = false;
  Index targets_ = 0, checked_ = 0, slots_ = 1;
  Vector<double> norms_;  ///< of the checked targets
  Matrix<double> team_norms_;
  std::vector<Index> ones_;
  Matrix<Scalar> sources_, values_, gradients_;
  Vector<Scalar> sums_;
  Eigen::Matrix<Index, Eigen::Dynamic, 1> columns_, checked_at_;
};

}  // namespace repel::detail
