#pragma once

#include <repel/kernel/metric.hpp>
#include <repel/kernel/triangle.hpp>

#include <limits>
#include <utility>

// One sweep over all pairs of points in few dimensions: distance, kernel and sums while the values are in registers. K is
// never stored, and each distance and exponential serves both of its points.

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
  Matrix<Scalar> totals;   ///< a row per point (padded like the coordinates) and a column per sum: values, pull, product
  Matrix<Scalar> tasks;    ///< the same for each task, side by side
  Matrix<Scalar> sources;  ///< v, a row per point, padded with zeros
  Matrix<Scalar> weights;  ///< w
};

/// Kernels with φ′ = −φ say so, and one array serves for both.
template <class Kernel>
inline constexpr bool kSlopeIsMinusValue = requires { requires Kernel::slope_is_minus_value; };

/// out[i − begin] = distance(x_i, x_j) for i from begin to end, both whole chunks. Compiled for a dimension known at compile
/// time (D) or any (Dynamic).
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

/// The pairs of one tile. Compiled for a dimension known at compile time (D) or any (Dynamic). Three short loops with the
/// values between them in the first-level cache: in one long loop the processor would wait for its own results.
template <Sums wanted, int D, class Metric, class Kernel, class Scalar>
void sweep_tile(const Kernel& kernel, Scalar inverse_h, const Points<Scalar>& points, const SweepBuffers<Scalar>& in,
                Scalar* sums, Index first_row, Index rows, Index first_column, Index columns) {
  constexpr Index W = kChunk<Scalar>;
  constexpr int most = D == Eigen::Dynamic ? static_cast<int>(kFewDimensions) : D;
  constexpr bool one = kSlopeIsMinusValue<Kernel> && !wanted.weighted;
  using C = Chunk<Scalar>;
  const Index d = D == Eigen::Dynamic ? points.dim : D;
  const Index m = wanted.product ? (D == Eigen::Dynamic ? in.sources.cols() : D) : 0;
  const Index stride = points.coordinates.rows();
  const Scalar *x = points.coordinates.data(), *v = in.sources.data(), *w = in.weights.data();
  Scalar* const pull = sums + (wanted.values ? stride : 0);
  Scalar* const product = pull + (wanted.pull ? d * stride : 0);
  const Index end = first_row + rows, padded_end = (end + W - 1) / W * W;

  alignas(64) Scalar values[kLargestTile], slope_room[one || !wanted.pull ? W : kLargestTile];
  Scalar* const slopes = one ? values : slope_room;
  for (Index j = first_column; j < first_column + columns; ++j) {
    const Index begin = std::max(first_row, (j + 1) / W * W);
    if (begin >= end) continue;
    distance_run<D, Metric>(points, j, begin, padded_end, values);
    for (Index i = 0; i < padded_end - begin; i += W) {
      const C u = (Eigen::Map<C>(values + i) * inverse_h).min(std::numeric_limits<Scalar>::max() / 8);
      Eigen::Map<C>(values + i) = kernel.phi(u);
      if constexpr (wanted.pull && !one) {
        C slope = kernel.phi_prime(u, Eigen::Map<C>(values + i));
        if constexpr (wanted.weighted) slope *= w[j] + Eigen::Map<const C>(w + begin + i);
        Eigen::Map<C>(slopes + i) = slope;
      }
    }
    // Pairs are counted once, not with themselves, and not with what fills the last chunk.
    const auto leave_out = [&](Index i) {
      values[i] = 0;
      if constexpr (wanted.pull && !one) slopes[i] = 0;
    };
    for (Index i = 0; i <= j - begin; ++i) leave_out(i);
    for (Index i = end - begin; i < padded_end - begin; ++i) leave_out(i);

    C own_value = C::Zero();
    C own_pull[most], own_product[most], at[most], source[most];
    for (int k = 0; k < most; ++k) {
      own_pull[k].setZero(), own_product[k].setZero();
      at[k].setConstant(k < d ? x[j + k * stride] : 0);
      source[k].setConstant(k < m ? v[j + k * stride] : 0);
    }
    for (Index i = begin; i < padded_end; i += W) {
      const C value = Eigen::Map<const C>(values + i - begin);
      if constexpr (wanted.values) {
        own_value += value;
        Eigen::Map<C>(sums + i) += value;
      }
      if constexpr (wanted.pull)
#pragma GCC unroll 8
        for (int k = 0; k < (D == Eigen::Dynamic ? static_cast<int>(d) : D); ++k) {
          const C force = Eigen::Map<const C>(slopes + i - begin) * Metric::direction((at[k] - Eigen::Map<const C>(x + i + k * stride)).eval());
          own_pull[k] += force;
          Eigen::Map<C>(pull + i + k * stride) -= force;
        }
      if constexpr (wanted.product)
#pragma GCC unroll 8
        for (int k = 0; k < (D == Eigen::Dynamic ? static_cast<int>(m) : D); ++k) {
          own_product[k] += value * Eigen::Map<const C>(v + i + k * stride);
          Eigen::Map<C>(product + i + k * stride) += value * source[k];
        }
    }
    if constexpr (wanted.values) sums[j] += own_value.sum();
    if constexpr (wanted.pull)
      for (Index k = 0; k < d; ++k) pull[j + k * stride] += own_pull[k].sum();
    if constexpr (wanted.product)
      for (Index k = 0; k < m; ++k) product[j + k * stride] += own_product[k].sum();
  }
}

/// All pairs; the sums are left in buffers.totals, without the terms i = j.
template <Sums wanted, class Metric, class Kernel, class Scalar>
void sweep(const Kernel& kernel, Scalar inverse_h, const Points<Scalar>& points, SweepBuffers<Scalar>& buffers) {
  const Index stride = points.coordinates.rows();
  const Index channels = (wanted.values ? 1 : 0) + (wanted.pull ? points.dim : 0) + (wanted.product ? buffers.sources.cols() : 0);
  const Triangle triangle(points.count, static_cast<double>(10 + 2 * points.dim));
  const Index tasks = triangle.tasks();
  buffers.totals.setZero(stride, channels);
  if (tasks > 1) buffers.tasks.setZero(stride * channels, tasks - 1);
  triangle.for_each_tile([&](Index task, Index i, Index rows, Index j, Index columns) {
    Scalar* const sums = task == 0 ? buffers.totals.data() : buffers.tasks.col(task - 1).data();
    const bool two = points.dim == 2 && (!wanted.product || buffers.sources.cols() == 2);
    if (two)
      sweep_tile<wanted, 2, Metric>(kernel, inverse_h, points, buffers, sums, i, rows, j, columns);
    else
      sweep_tile<wanted, Eigen::Dynamic, Metric>(kernel, inverse_h, points, buffers, sums, i, rows, j, columns);
  });
  if (tasks > 1)
    parallel_tiles(stride * channels, 4096, static_cast<double>(tasks), [&](Index first, Index count) {
      Eigen::Map<Vector<Scalar>> totals(buffers.totals.data() + first, count);
      for (Index t = 0; t < tasks - 1; ++t) totals += buffers.tasks.col(t).segment(first, count);
    });
}

}  // namespace repel::detail
