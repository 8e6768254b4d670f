#pragma once

#include <repel/kernel/metric.hpp>
#include <repel/kernel/triangle.hpp>

#include <algorithm>
#include <limits>
#include <utility>

// One sweep over all pairs of points in few dimensions: distance, kernel and sums while the values are in registers. K
// is never stored, and each distance and exponential serves both of its points.

namespace repel::detail {

/// What a sweep sums up. With k = φ(u), s = φ′(u) and D = ∇_{x_j} distance(x_i, x_j), for each point j over i ≠ j:
struct Sums {
  bool values = false;    ///< Σ_i k_ij
  bool pull = false;      ///< Σ_i s_ij D_ij
  bool product = false;   ///< Σ_i k_ij v_i for m-vectors v
  bool weighted = false;  ///< the pull with (w_i + w_j) s_ij in place of s_ij
};

/// The buffers of a sweep.
template <class Scalar>
struct SweepBuffers {
  Vector<Scalar> sums;     ///< of the tasks, one after the other: for each the
                           ///< values, the pull, the product, `stride` entries each
  Index stride = 0;        ///< the number of points, padded like the coordinates
  Matrix<Scalar> sources;  ///< v, a row per point, padded with zeros
  Matrix<Scalar> weights;  ///< w

  /// What was summed up for a point, in the order of Sums.
  Scalar total(Index point, Index which) const { return sums(point + which * stride); }

  /// Room for all tasks, set to 0; it only ever grows, since rules ask for different sums in turn.
  void clear(Index points, Index each, Index tasks) {
    stride = points;
    if (sums.size() < points * each * tasks) sums.resize(points * each * tasks);
    sums.head(points * each * tasks).setZero();
  }
};

/// Kernels with φ′ = −φ say so, and one array serves for both.
template <class Kernel>
inline constexpr bool kSlopeIsMinusValue = requires {
  requires Kernel::slope_is_minus_value;
};

/// out[i − begin] = distance(x_i, x_j) for i from begin to end, both whole chunks. Compiled for a dimension known at
/// compile time (D) or any (Dynamic).
template <int D, class Metric, class Scalar>
void distance_run(const Points<Scalar>& points, Index j, Index begin, Index end, Scalar* out) {
  using C = Chunk<Scalar>;
  const Index d = D == Eigen::Dynamic ? points.dim : D, stride = points.coordinates.rows();
  const Scalar* const x = points.coordinates.data();
  Scalar at[D == Eigen::Dynamic ? kFewDimensions : D];
  for (Index k = 0; k < d; ++k) at[k] = x[j + k * stride];
  for (Index i = begin; i < end; i += kChunk<Scalar>) {
    C u = Metric::term(at[0] - Eigen::Map<const C>(x + i));
#pragma GCC unroll 4
    for (Index k = 1; k < d; ++k) u += Metric::term(at[k] - Eigen::Map<const C>(x + i + k * stride));
    Eigen::Map<C>(out + i - begin) = u;
  }
}

/// k of point j and the points from begin (a whole chunk) to end, and φ′ where it is wanted and not −k; 0 for pairs
/// that have been counted, for the point itself and for what fills the last chunk.
template <Sums wanted, int D, class Metric, class Kernel, class Scalar>
void kernel_run(const Kernel& kernel, Scalar inverse_h, const Points<Scalar>& points, const Scalar* weights, Index j,
                Index begin, Index end, Scalar* values, Scalar* slopes) {
  constexpr bool both = wanted.pull && (wanted.weighted || !kSlopeIsMinusValue<Kernel>);
  using C = Chunk<Scalar>;
  using Out = Eigen::Map<C>;
  const Index padded_end = whole(end, kChunk<Scalar>);
  distance_run<D, Metric>(points, j, begin, padded_end, values);
  for (Index i = 0; i < padded_end - begin; i += kChunk<Scalar>) {
    C u = Out(values + i) * inverse_h;
    if constexpr (!kSlopeIsMinusValue<Kernel>) u = u.min(std::numeric_limits<Scalar>::max() / 8);
    Out(values + i) = kernel.phi(u);
    if constexpr (both) {
      C slope = kernel.phi_prime(u, Out(values + i));
      if constexpr (wanted.weighted) slope *= weights[j] + Eigen::Map<const C>(weights + begin + i);
      Out(slopes + i) = slope;
    }
  }
  const auto leave_out = [&](Index from, Index to) {
    for (Index i = from; i < to; ++i) {
      values[i] = 0;
      if constexpr (both) slopes[i] = 0;
    }
  };
  leave_out(0, std::min(j + 1, end) - begin);
  leave_out(end - begin, padded_end - begin);
}

/// The pairs of two points j and j + 1 (or of the one, if it is the last) with those of one tile of rows. Short loops
/// with the values between them in the nearest cache: in one long loop the processor would wait for its own results.
/// Two points at once share what is loaded and stored for each row.
template <Sums wanted, int D, class Metric, class Kernel, class Scalar>
void sweep_columns(const Kernel& kernel, Scalar inverse_h, const Points<Scalar>& points, const SweepBuffers<Scalar>& in,
                   Scalar* sums, Index first_row, Index rows, Index j, bool last) {
  constexpr Index W = kChunk<Scalar>;
  constexpr int most = D == Eigen::Dynamic ? static_cast<int>(kFewDimensions) : D;
  constexpr bool one = kSlopeIsMinusValue<Kernel> && !wanted.weighted;
  using C = Chunk<Scalar>;
  using In = Eigen::Map<const C>;
  using Out = Eigen::Map<C>;
  const int d = D == Eigen::Dynamic ? static_cast<int>(points.dim) : D;
  const int m = wanted.product ? (D == Eigen::Dynamic ? static_cast<int>(in.sources.cols()) : D) : 0;
  const Index stride = points.coordinates.rows();
  const Scalar *x = points.coordinates.data(), *v = in.sources.data();
  Scalar* const pull = sums + (wanted.values ? stride : 0);
  Scalar* const product = pull + (wanted.pull ? d * stride : 0);
  const Index begin = std::max(first_row, (j + 1) / W * W), end = first_row + rows, padded_end = whole(end, W);
  if (begin >= end) return;

  alignas(64) Scalar values[2][kLargestTile], slope_room[2][one || !wanted.pull ? W : kLargestTile];
  const auto slopes = [&](int c) { return one ? values[c] : slope_room[c]; };
  kernel_run<wanted, D, Metric>(kernel, inverse_h, points, in.weights.data(), j, begin, end, values[0], slopes(0));
  if (!last) {
    kernel_run<wanted, D, Metric>(kernel, inverse_h, points, in.weights.data(), j + 1, begin, end, values[1],
                                  slopes(1));
  } else {
    std::fill_n(values[1], padded_end - begin, Scalar(0));
    if constexpr (wanted.pull && !one) std::fill_n(slopes(1), padded_end - begin, Scalar(0));
  }

  Scalar at[2][most], source[2][most];  // of the two points
  C own_value[2], own_pull[2][most], own_product[2][most];
#pragma GCC unroll 2
  for (int c = 0; c < 2; ++c) {
    const Index column = last ? j : j + c;
    own_value[c].setZero();
#pragma GCC unroll 4
    for (int k = 0; k < d; ++k) {
      own_pull[c][k].setZero();
      at[c][k] = x[column + k * stride];
    }
#pragma GCC unroll 4
    for (int k = 0; k < m; ++k) {
      own_product[c][k].setZero();
      source[c][k] = v[column + k * stride];
    }
  }
  for (Index i = begin; i < padded_end; i += W) {
    if constexpr (wanted.values) {
      C row = In(sums + i);
#pragma GCC unroll 2
      for (int c = 0; c < 2; ++c) {
        const C value = In(values[c] + i - begin);
        own_value[c] += value;
        row += value;
      }
      Out(sums + i) = row;
    }
    if constexpr (wanted.pull)
#pragma GCC unroll 4
      for (int k = 0; k < d; ++k) {
        const C there = In(x + i + k * stride);
        C row = In(pull + i + k * stride);
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c) {
          const C difference = at[c][k] - there;
          const C force = In(slopes(c) + i - begin) * Metric::direction(difference);
          own_pull[c][k] += force;
          row -= force;
        }
        Out(pull + i + k * stride) = row;
      }
    if constexpr (wanted.product)
#pragma GCC unroll 4
      for (int k = 0; k < m; ++k) {
        const C there = In(v + i + k * stride);
        C row = In(product + i + k * stride);
#pragma GCC unroll 2
        for (int c = 0; c < 2; ++c) {
          const C value = In(values[c] + i - begin);
          own_product[c][k] += value * there;
          row += value * source[c][k];
        }
        Out(product + i + k * stride) = row;
      }
  }
  for (int c = 0; c < (last ? 1 : 2); ++c) {
    if constexpr (wanted.values) sums[j + c] += own_value[c].sum();
    if constexpr (wanted.pull)
      for (int k = 0; k < d; ++k) pull[j + c + k * stride] += own_pull[c][k].sum();
    if constexpr (wanted.product)
      for (int k = 0; k < m; ++k) product[j + c + k * stride] += own_product[c][k].sum();
  }
}

/// The pairs of one tile. Compiled for a dimension known at compile time (D) or any (Dynamic).
template <Sums wanted, int D, class Metric, class Kernel, class Scalar>
void sweep_tile(const Kernel& kernel, Scalar inverse_h, const Points<Scalar>& points, const SweepBuffers<Scalar>& in,
                Scalar* sums, Index first_row, Index rows, Index first_column, Index columns) {
  const Index end = first_column + columns;
  for (Index j = first_column; j < end; j += 2)
    sweep_columns<wanted, D, Metric>(kernel, inverse_h, points, in, sums, first_row, rows, j, j + 1 == end);
}

/// All pairs; what was summed up is left in buffers.total(), without the terms i = j.
template <Sums wanted, class Metric, class Kernel, class Scalar>
void sweep(const Kernel& kernel, Scalar inverse_h, const Points<Scalar>& points, SweepBuffers<Scalar>& buffers) {
  const Index each =
      (wanted.values ? 1 : 0) + (wanted.pull ? points.dim : 0) + (wanted.product ? buffers.sources.cols() : 0);
  const Triangle triangle(points.count, static_cast<double>(10 + 2 * points.dim));
  const Index tasks = triangle.tasks(), size = points.coordinates.rows() * each;
  buffers.clear(points.coordinates.rows(), each, tasks);
  triangle.for_each_tile([&](Index task, Index i, Index rows, Index j, Index columns) {
    Scalar* const sums = buffers.sums.data() + task * size;
    const bool two = points.dim == 2 && (!wanted.product || buffers.sources.cols() == 2);
    if (two)
      sweep_tile<wanted, 2, Metric>(kernel, inverse_h, points, buffers, sums, i, rows, j, columns);
    else
      sweep_tile<wanted, Eigen::Dynamic, Metric>(kernel, inverse_h, points, buffers, sums, i, rows, j, columns);
  });
  if (tasks > 1)
    parallel_tiles(size, 4096, static_cast<double>(tasks), [&](Index first, Index count) {
      for (Index t = 1; t < tasks; ++t)
        buffers.sums.segment(first, count) += buffers.sums.segment(t * size + first, count);
    });
}

}  // namespace repel::detail
