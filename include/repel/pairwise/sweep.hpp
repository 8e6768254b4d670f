// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/team.hpp>
#include <repel/pairwise/distances.hpp>
#include <repel/pairwise/pair_tiles.hpp>
#include <repel/pairwise/radial_function.hpp>

#include <algorithm>
#include <vector>

// Passes over all pairs of points in low dimension: distance, kernel and sums while the values are in the nearest
// cache. K is never stored. Among the particles themselves each distance and each kernel value serves both of its
// points; sources against other targets take the plain way, target by target.

namespace repel::detail {

/// What a pass sums up. With k = φ(u), s = φ′(u) and D = ∇_{y_j} distance(x_i, y_j), for each target j over all i:
struct Sums {
  bool values = false;    ///< Σ_i k_ij
  bool gradient = false;  ///< Σ_i s_ij D_ij, without the metric's factor and 1/h
  bool product = false;   ///< Σ_i k_ij v_i for m-vectors v
  bool weighted = false;  ///< the gradient with (a_i + b_j) s_ij in place of s_ij

  /// How many numbers that is for a target, and where the second and the third begin.
  constexpr Index gradient_at() const { return values ? 1 : 0; }
  constexpr Index product_at(Index dim) const { return gradient_at() + (gradient ? dim : 0); }
};

/// The buffers of a pass.
template <class Scalar>
struct SweepBuffers {
  Vector<Scalar> sums;     ///< of the tasks, one after the other: for each the values, the gradient, the product,
                           ///< `stride` entries each
  Index stride = 0;        ///< the number of targets, padded like their coordinates
  Matrix<Scalar> sources;  ///< v, a row per source, padded with zeros
  Vector<Scalar> source_weights, target_weights;  ///< a and b
  Vector<Scalar> sent, received;                  ///< what a team exchanges (core/team.hpp)
  std::vector<Index> sent_counts, received_counts, slices;

  /// What was summed up for a target, in the order of Sums.
  Scalar total(Index target, Index which) const { return sums(target + which * stride); }

  /// Room for all tasks, set to 0; it only ever grows, since rules ask for different sums in turn.
  void clear(Index targets, Index each, Index tasks) {
    stride = targets;
    if (sums.size() < targets * each * tasks) sums.resize(targets * each * tasks);
    sums.head(targets * each * tasks).setZero();
  }
};

/// k of target j and the sources from begin to end (begin a whole chunk), and φ′ if it is wanted apart from k; 0 for
/// the first `skipped` of them and for what fills the last chunk.
template <Sums wanted, int D, class Metric, class Scalar>
void kernel_run(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& sources,
                const PackedPoints<Scalar>& targets, Index j, Index begin, Index end, Index skipped, Scalar* values,
                Scalar* slopes) {
  const Index padded = whole(end, kChunk<Scalar>) - begin;
  const bool apart = wanted.gradient && slopes != values;
  distance_run<D, Metric>(sources, targets, j, begin, begin + padded, values);
  kernel(values, padded, values, apart ? slopes : nullptr);
  const auto leave_out = [&](Index from, Index to) {
    for (Index i = from; i < to; ++i) {
      values[i] = 0;
      if (apart) slopes[i] = 0;
    }
  };
  leave_out(0, skipped);
  leave_out(end - begin, padded);
}

/// The pairs of two points j and j + 1 (or of the one, if it is the last) with those of one tile of rows. Short loops
/// with the values between them in the nearest cache: in one long loop the processor would wait for its own results.
/// Two points at once share what is loaded and stored for each row.
template <Sums wanted, int D, class Metric, class Scalar>
void sweep_columns(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points,
                   const SweepBuffers<Scalar>& in, Scalar* sums, Index first_row, Index rows, Index j, bool last) {
  constexpr Index W = kChunk<Scalar>;
  constexpr int most = D == Eigen::Dynamic ? static_cast<int>(kLowDimension) : D;
  using C = Chunk<Scalar>;
  using In = Eigen::Map<const C>;
  using Out = Eigen::Map<C>;
  const int d = D == Eigen::Dynamic ? static_cast<int>(points.dim) : D;
  const int m = wanted.product ? (D == Eigen::Dynamic ? static_cast<int>(in.sources.cols()) : D) : 0;
  const Index stride = points.coordinates.rows();
  const Scalar *x = points.coordinates.data(), *v = in.sources.data();
  Scalar* const gradient = sums + wanted.gradient_at() * stride;
  Scalar* const product = sums + wanted.product_at(d) * stride;
  const Index begin = std::max(first_row, (j + 1) / W * W), end = first_row + rows, padded_end = whole(end, W);
  if (begin >= end) return;

  const bool apart = wanted.gradient && !kernel.shares_slope;
  alignas(64) Scalar values[2][kLargestTile], slope_values[2][wanted.gradient ? kLargestTile : W];
  Scalar* const slopes[2] = {apart ? slope_values[0] : values[0], apart ? slope_values[1] : values[1]};
  for (int c = 0; c < (last ? 1 : 2); ++c)
    kernel_run<wanted, D, Metric>(kernel, points, points, j + c, begin, end, std::min(j + c + 1, end) - begin,
                                  values[c], slopes[c]);
  if (last) {
    std::fill_n(values[1], padded_end - begin, Scalar(0));
    if (apart) std::fill_n(slopes[1], padded_end - begin, Scalar(0));
  }

  Scalar at[2][most], source[2][most];  // of the two points
  C own_value[2], own_gradient[2][most], own_product[2][most];
#pragma GCC unroll 2
  for (int c = 0; c < 2; ++c) {
    const Index column = last ? j : j + c;
    own_value[c].setZero();
#pragma GCC unroll 4
    for (int k = 0; k < d; ++k) {
      own_gradient[c][k].setZero();
      at[c][k] = x[column + k * stride];
    }
#pragma GCC unroll 4
    for (int k = 0; k < m; ++k) {
      own_product[c][k].setZero();
      source[c][k] = v[column + k * stride];
    }
  }
  for (Index i = begin; i < padded_end; i += W) {
    C value[2], slope[2];
#pragma GCC unroll 2
    for (int c = 0; c < 2; ++c) {
      if constexpr (wanted.values || wanted.product) value[c] = In(values[c] + (i - begin));
      if constexpr (wanted.gradient) slope[c] = In(slopes[c] + (i - begin));
      if constexpr (wanted.weighted) slope[c] *= in.target_weights(last ? j : j + c) + In(in.source_weights.data() + i);
    }
    if constexpr (wanted.values) {
      C row = In(sums + i);
#pragma GCC unroll 2
      for (int c = 0; c < 2; ++c) {
        own_value[c] += value[c];
        row += value[c];
      }
      Out(sums + i) = row;
    }
    if constexpr (wanted.gradient)
#pragma GCC unroll 4
      for (int k = 0; k < d; ++k) {
        const C there = In(x + i + k * stride);
        C row = In(gradient + i + k * stride);
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c) {
          const C difference = at[c][k] - there;
          const C force = slope[c] * Metric::slope(difference);
          own_gradient[c][k] += force;
          row -= force;
        }
        Out(gradient + i + k * stride) = row;
      }
    if constexpr (wanted.product)
#pragma GCC unroll 4
      for (int k = 0; k < m; ++k) {
        const C there = In(v + i + k * stride);
        C row = In(product + i + k * stride);
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c) {
          own_product[c][k] += value[c] * there;
          row += value[c] * source[c][k];
        }
        Out(product + i + k * stride) = row;
      }
  }
  for (int c = 0; c < (last ? 1 : 2); ++c) {
    if constexpr (wanted.values) sums[j + c] += own_value[c].sum();
    if constexpr (wanted.gradient)
      for (int k = 0; k < d; ++k) gradient[j + c + k * stride] += own_gradient[c][k].sum();
    if constexpr (wanted.product)
      for (int k = 0; k < m; ++k) product[j + c + k * stride] += own_product[c][k].sum();
  }
}

/// The pairs of one tile. Compiled for a dimension known at compile time (D) or any (Dynamic).
template <Sums wanted, int D, class Metric, class Scalar>
void sweep_tile(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points,
                const SweepBuffers<Scalar>& in, Scalar* sums, Index first_row, Index rows, Index first_column,
                Index columns) {
  const Index end = first_column + columns;
  for (Index j = first_column; j < end; j += 2)
    sweep_columns<wanted, D, Metric>(kernel, points, in, sums, first_row, rows, j, j + 1 == end);
}

/// Adds up the sums of all tasks, of which this process has some: each process adds one slice of them, in the order of the
/// tasks, and everyone gets the totals.
template <class Scalar>
void add_tasks_of_team(Team& team, Index tasks, Index size, SweepBuffers<Scalar>& buffers) {
  const Index members = team.size(), me = team.rank();
  const auto tasks_of = [&](Index r) { return team.first(tasks, r + 1) - team.first(tasks, r); };
  const auto slice_of = [&](Index r) { return team.first(size, r + 1) - team.first(size, r); };
  const Index own = tasks_of(me), width = slice_of(me);
  for (auto* counts : {&buffers.sent_counts, &buffers.received_counts, &buffers.slices})
    counts->resize(static_cast<std::size_t>(members));
  buffers.sent.resize(own * size);
  buffers.received.resize(tasks * width);
  Scalar* to = buffers.sent.data();
  for (Index r = 0; r < members; ++r) {
    const auto at = static_cast<std::size_t>(r);
    buffers.slices[at] = slice_of(r);
    buffers.sent_counts[at] = own * slice_of(r);
    buffers.received_counts[at] = tasks_of(r) * width;
    for (Index t = 0; t < own; ++t)
      to = std::copy_n(buffers.sums.data() + t * size + team.first(size, r), slice_of(r), to);
  }
  team.exchange(buffers.sent.data(), buffers.sent_counts.data(), buffers.received.data(),
                buffers.received_counts.data(), sizeof(Scalar));
  if (buffers.sums.size() < size) buffers.sums.resize(size);
  auto total = buffers.sums.segment(team.first(size, me), width);
  total = buffers.received.head(width);
  for (Index t = 1; t < tasks; ++t) total += buffers.received.segment(t * width, width);
  team.gather(buffers.sums.data(), sizeof(Scalar), buffers.slices.data());
}

/// All pairs among one set of points; what was summed up is left in buffers.total(), without the terms i = j.
template <Sums wanted, class Metric, class Scalar>
void sweep(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points, SweepBuffers<Scalar>& buffers) {
  const Index each = wanted.product_at(points.dim) + (wanted.product ? buffers.sources.cols() : 0);
  const PairTiles tiles(points.count, static_cast<double>(10 + 2 * points.dim));
  const Index tasks = tiles.tasks(), size = points.coordinates.rows() * each;
  Team* const team = tasks > 1 ? team_for(tiles.work()) : nullptr;
  const Index begin = team == nullptr ? 0 : team->first(tasks, team->rank()),
              end = team == nullptr ? tasks : team->first(tasks, team->rank() + 1);
  buffers.clear(points.coordinates.rows(), each, end - begin);
  const bool two = points.dim == 2 && (!wanted.product || buffers.sources.cols() == 2);
  tiles.for_some(begin, end, [&](Index task, Index i, Index rows, Index j, Index columns) {
    Scalar* const sums = buffers.sums.data() + (task - begin) * size;
    if (two)
      sweep_tile<wanted, 2, Metric>(kernel, points, buffers, sums, i, rows, j, columns);
    else
      sweep_tile<wanted, Eigen::Dynamic, Metric>(kernel, points, buffers, sums, i, rows, j, columns);
  });
  if (team != nullptr) return add_tasks_of_team(*team, tasks, size, buffers);
  if (tasks > 1)
    parallel_tiles(size, 4096, static_cast<double>(tasks), [&](Index first, Index count) {
      for (Index t = 1; t < tasks; ++t)
        buffers.sums.segment(first, count) += buffers.sums.segment(t * size + first, count);
    });
}

/// All sources against some targets; totals are complete, the terms of coincident points included. A target's sums do
/// not depend on which others there are.
template <Sums wanted, class Metric, class Scalar>
void sweep_between(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& sources,
                   const PackedPoints<Scalar>& targets, SweepBuffers<Scalar>& buffers) {
  using C = Chunk<Scalar>;
  using In = Eigen::Map<const C>;
  constexpr Index W = kChunk<Scalar>, tile = 8;
  const Index d = sources.dim, m = wanted.product ? buffers.sources.cols() : 0, stride = sources.coordinates.rows();
  buffers.clear(targets.coordinates.rows(), wanted.product_at(d) + m, 1);
  parallel_tiles(targets.count, tile, static_cast<double>(sources.count * (10 + 2 * d)), [&](Index first, Index width) {
    alignas(64) Scalar values[kLargestTile], slope_values[wanted.gradient ? kLargestTile : W];
    const bool apart = wanted.gradient && !kernel.shares_slope;
    Scalar* const slopes = apart ? slope_values : values;
    const Scalar* const weighted = wanted.weighted ? slope_values : slopes;
    for (Index j = first; j < first + width; ++j) {
      const auto add = [&](Index which, Scalar value) { buffers.sums(j + which * buffers.stride) += value; };
      for (Index begin = 0; begin < sources.count; begin += kLargestTile) {
        const Index end = std::min(sources.count, begin + kLargestTile), padded = whole(end, W) - begin;
        kernel_run<wanted, Eigen::Dynamic, Metric>(kernel, sources, targets, j, begin, end, 0, values, slopes);
        if constexpr (wanted.weighted)
          for (Index i = 0; i < padded; i += W)
            Eigen::Map<C>(slope_values + i) =
                In(slopes + i) * (buffers.target_weights(j) + In(buffers.source_weights.data() + begin + i));
        if constexpr (wanted.values) {
          C sum = C::Zero();
          for (Index i = 0; i < padded; i += W) sum += In(values + i);
          add(0, sum.sum());
        }
        if constexpr (wanted.gradient)
          for (Index k = 0; k < d; ++k) {
            const Scalar at = targets.coordinates(j, k);
            const Scalar* const x = &sources.coordinates(begin, k);
            C sum = C::Zero();
            for (Index i = 0; i < padded; i += W) {
              const C difference = at - In(x + i);
              sum += In(weighted + i) * Metric::slope(difference);
            }
            add(wanted.gradient_at() + k, sum.sum());
          }
        if constexpr (wanted.product)
          for (Index k = 0; k < m; ++k) {
            const Scalar* const v = buffers.sources.data() + begin + k * stride;
            C sum = C::Zero();
            for (Index i = 0; i < padded; i += W) sum += In(values + i) * In(v + i);
            add(wanted.product_at(d) + k, sum.sum());
          }
      }
    }
  });
}

}  // namespace repel::detail
