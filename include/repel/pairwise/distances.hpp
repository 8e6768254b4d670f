// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/kernel/metric.hpp>
#include <repel/pairwise/packed_points.hpp>

#include <algorithm>

// Distances between two sets of points, as a matrix or as runs. They are formed from the differences themselves, which
// avoids cancellation (and there is never a d×n×n tensor).

namespace repel::detail {

/// In low dimension: out[i − begin] = distance(x_i, y_j) for i from begin to end, both whole chunks. Compiled for a
/// dimension known at compile time (D) or any (Dynamic).
template <int D, class Metric, class Scalar>
void distance_run(const PackedPoints<Scalar>& sources, const PackedPoints<Scalar>& targets, Index j, Index begin,
                  Index end, Scalar* out) {
  using C = Chunk<Scalar>;
  const Index d = D == Eigen::Dynamic ? sources.dim : D, stride = sources.coordinates.rows();
  const Scalar* const x = sources.coordinates.data();
  Scalar at[D == Eigen::Dynamic ? kLowDimension : D];
  for (Index k = 0; k < d; ++k) at[k] = targets.coordinates(j, k);
  for (Index i = begin; i < end; i += kChunk<Scalar>) {
    C u = Metric::term(at[0] - Eigen::Map<const C>(x + i));
#pragma GCC unroll 4
    for (Index k = 1; k < d; ++k) u += Metric::term(at[k] - Eigen::Map<const C>(x + i + k * stride));
    Eigen::Map<C>(out + (i - begin)) = u;
  }
}

/// The distances of 3×3 points over `depth` coordinates, added to out: nine sums in registers, each coordinate loaded
/// once for three of them. A general matrix product is no faster, since it cannot use the symmetry.
template <class Metric, class Scalar>
void add_distances_3x3(const Scalar* x, const Scalar* y, Index stride, Index depth, Scalar* out, Index out_stride) {
  using C = Chunk<Scalar>;
  C sums[3][3];
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c)
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) sums[c][r].setZero();
  for (Index k = 0; k < depth; k += kChunk<Scalar>) {
    C row[3];
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) row[r] = Eigen::Map<const C>(x + r * stride + k);
#pragma GCC unroll 3
    for (int c = 0; c < 3; ++c) {
      const C column = Eigen::Map<const C>(y + c * stride + k);
#pragma GCC unroll 3
      for (int r = 0; r < 3; ++r) sums[c][r] += Metric::term(row[r] - column);
    }
  }
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c)
#pragma GCC unroll 3
    for (int r = 0; r < 3; ++r) out[r + c * out_stride] += sums[c][r].sum();
}

/// Points in high dimension are compared by blocks of this many, which fit the caches; in one block if they are few.
inline Index distance_block(Index count) { return count <= 72 ? whole(count, 3) : 48; }

/// out(a, b) += distance of x_{i+a} and y_{j+b} over the coordinates first … first + depth. Of the diagonal block
/// (i = j of the same points) the lower half is enough. out is block×block, and block is a multiple of 3.
template <class Metric, class Scalar>
void add_distances(const PackedPoints<Scalar>& x, Index i, Index rows, const PackedPoints<Scalar>& y, Index j,
                   Index columns, Index first, Index depth, bool diagonal, Index block, Scalar* out) {
  constexpr Index slice =
      2048 / static_cast<Index>(sizeof(Scalar));  // three points of this length stay in the nearest cache
  const Index stride = x.columns.rows(), end = std::min(first + depth, stride);
  for (Index k = first; k < end; k += slice)
    for (Index b = 0; b < columns; b += 3)
      for (Index a = diagonal ? b : 0; a < rows; a += 3)
        add_distances_3x3<Metric>(&x.columns(k, i + a), &y.columns(k, j + b), stride, std::min(slice, end - k),
                                  out + a + b * block, block);
}

/// distances() in high dimension. Few but long points are also cut along their length, and the parts added up in order.
template <class Metric, class Scalar>
void distances_in_high_dimension(const PackedPoints<Scalar>& x, const PackedPoints<Scalar>& y, bool self,
                                 Matrix<Scalar>& scratch, Matrix<Scalar>& out) {
  const Index side = distance_block(std::max(x.count, y.count)), slots = thread_slots();
  const Index high = (x.count + side - 1) / side, wide = (y.count + side - 1) / side, blocks = high * wide;
  const Index length = x.columns.rows(), cuts = std::clamp<Index>(std::min(16 / blocks, length / 256), 1, 8);
  const Index depth = whole((length + cuts - 1) / cuts, kChunk<Scalar>);
  scratch.resize(side * side, cuts > 1 ? cuts * blocks : slots);
  const auto finish = [&](Index block, const Scalar* sums) {
    const Index i = block % high * side, j = block / high * side, rows = std::min(side, x.count - i);
    for (Index b = 0; b < std::min(side, y.count - j); ++b) {
      const Index top = self && i == j ? b : 0;
      std::copy(sums + b * side + top, sums + b * side + rows, &out(i + top, j + b));
    }
  };
  parallel_for(blocks * cuts, static_cast<double>(side * side * depth), slots, [&](Index piece, Index slot) {
    const Index block = piece / cuts, cut = piece % cuts, i = block % high * side, j = block / high * side;
    if (self && i < j) return;
    Scalar* const sums = scratch.col(cuts > 1 ? piece : slot).data();
    std::fill(sums, sums + side * side, Scalar(0));
    add_distances<Metric>(x, i, std::min(side, x.count - i), y, j, std::min(side, y.count - j), cut * depth, depth,
                          self && i == j, side, sums);
    if (cuts == 1) finish(block, sums);
  });
  if (cuts > 1)
    for (Index block = 0; block < blocks; ++block) {
      auto sums = array_at(&scratch(0, block * cuts), side * side);
      for (Index cut = 1; cut < cuts; ++cut) sums += array_at(&scratch(0, block * cuts + cut), side * side);
      finish(block, sums.data());
    }
}

/// out(i, j) = distance(x_i, y_j). If x and y are the same object only the lower triangle and a zero diagonal are
/// promised.
template <class Metric, class Scalar>
void distances(const PackedPoints<Scalar>& x, const PackedPoints<Scalar>& y, Matrix<Scalar>& scratch,
               Matrix<Scalar>& out) {
  const bool self = &x == &y;
  out.resize(x.count, y.count);
  if (out.size() == 0) return;
  if (!x.low_dimensional()) return distances_in_high_dimension<Metric>(x, y, self, scratch, out);
  const Index slots = thread_slots(), padded = x.coordinates.rows();
  scratch.resize(padded, slots);
  parallel_for((y.count + kTile - 1) / kTile, static_cast<double>(kTile * x.count * x.dim), slots,
               [&](Index tile, Index slot) {
                 Scalar* const run = scratch.col(slot).data();
                 for (Index j = tile * kTile; j < std::min(y.count, (tile + 1) * kTile); ++j) {
                   const Index begin = self ? j / kChunk<Scalar> * kChunk<Scalar> : 0, top = self ? j : 0;
                   distance_run<Eigen::Dynamic, Metric>(x, y, j, begin, padded, run);
                   std::copy(run + (top - begin), run + (x.count - begin), &out(top, j));
                 }
               });
}

}  // namespace repel::detail
