// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/function_ref.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/product.hpp>

#include <algorithm>
#include <cmath>

// Points in the layout that suits their dimension: by coordinates in low dimension, where a register holds one
// coordinate of several points; by points in high dimension, where it holds several coordinates of one point. Both are
// padded to whole registers, so that loops need no special last pass.

namespace repel::detail {

/// Up to this dimension points are stored by coordinates.
inline constexpr Index kLowDimension = 16;

/// count rounded up to a multiple of unit
constexpr Index whole(Index count, Index unit) { return (count + unit - 1) / unit * unit; }

template <class Scalar>
struct PackedPoints {
  static constexpr Index kGroup = 3;  ///< in high dimension the number of points is padded to a multiple of this

  Matrix<Scalar> coordinates;  ///< n×d, in low dimension; padded with copies of the last point
  Matrix<Scalar> columns;      ///< d×n and shifted to a common origin, in high dimension; padded with 0
  Vector<Scalar> origin;       ///< the shift
  Index dim = 0, count = 0;

  bool low_dimensional() const { return dim <= kLowDimension; }

  /// Distances do not change under a common shift, but rounding does: sums such as z_j Σ a − Σ a z lose every digit in
  /// float when the points lie far from the origin. So a coordinate in which all points are close together, compared with
  /// how far away they are, is shifted to their middle; then all differences are exact, and all points are exactly 0 when
  /// they coincide. Otherwise it is left as it is: any shift towards some of the points would round others, and one that
  /// is far away (or has escaped) would spoil all of them. Where that leaves points far from the origin, is_distant() says so.
  void assign(const In<Scalar>& points) {
    dim = points.rows();
    count = points.cols();
    if (low_dimensional()) return assign_coordinates(points);
    shape_columns();
    origin.resize(dim);
    bounds_.resize(dim, 2);
    parallel_blocks(dim, 1, 2 * static_cast<double>(count), [&](const BlockOf& at) {  // once through memory
      const auto point = [&](Index j) { return array_at(points.data() + j * points.outerStride() + at.row, at.rows); };
      auto low = array_at(&bounds_(at.row, 0), at.rows), high = array_at(&bounds_(at.row, 1), at.rows);
      low = high = point(0);
      for (Index j = 1; j < count; ++j) {
        low = low.min(point(j));
        high = high.max(point(j));
      }
      for (Index k = at.row; k < at.row + at.rows; ++k) {
        Scalar &least = bounds_(k, 0), &most = bounds_(k, 1);
        const Scalar width = most - least;
        origin(k) = 4 * width <= std::max(std::abs(least), std::abs(most)) ? least + width / 2 : Scalar(0);
        most = std::max(std::abs(least - origin(k)), std::abs(most - origin(k)));
      }
      const auto shift = array_at(origin.data() + at.row, at.rows);
      for (Index j = 0; j < count; ++j) array_at(&columns(at.row, j), at.rows) = point(j) - shift;
    });
    reach_ = array_at(&bounds_(0, 1), dim).square().sum();
  }

  /// Other points, shifted in the same way.
  void assign(const In<Scalar>& points, const Vector<Scalar>& shift) {
    dim = points.rows();
    count = points.cols();
    if (low_dimensional()) return assign_coordinates(points);
    shape_columns();
    parallel_tiles(count, 4, static_cast<double>(dim), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j)
        array_at(&columns(0, j), dim) =
            array_at(points.data() + j * points.outerStride(), dim) - array_at(shift.data(), dim);
    });
    reach_ = 0;
    for (Index j = 0; j < count; ++j) reach_ = std::max(reach_, squared_norm(j));
  }

  /// In high dimension: whether a point is so far from the origin, compared with the width √h of a kernel, that sums of
  /// the form z_j Σ a − Σ a z lose more than 6 of the 24 bits of float, or 12 of the 53 of double; or whether some point
  /// may be.
  bool is_distant(Index j, Scalar inverse_bandwidth) const { return squared_norm(j) * inverse_bandwidth > kDistant; }
  bool any_distant(Scalar inverse_bandwidth) const {
    return !low_dimensional() && reach_ * inverse_bandwidth > kDistant;
  }

  /// m of the points, the k-th of them being pick(k).
  void take(const PackedPoints& from, Index m, FunctionRef<Index(Index)> pick) {
    dim = from.dim;
    count = m;
    reach_ = from.reach_;
    if (low_dimensional()) {
      coordinates.resize(whole(m, kChunk<Scalar>), dim);
      for (Index k = 0; k < coordinates.rows(); ++k) {
        const Index i = pick(std::min(k, m - 1));
        for (Index c = 0; c < dim; ++c) coordinates(k, c) = from.coordinates(i, c);
      }
    } else {
      columns.resize(from.columns.rows(), whole(m, kGroup));
      for (Index k = 0; k < m; ++k) std::copy_n(&from.columns(0, pick(k)), columns.rows(), &columns(0, k));
      std::fill(columns.data() + columns.rows() * m, columns.data() + columns.size(), Scalar(0));
    }
  }

 private:
  static constexpr Scalar kDistant = sizeof(Scalar) == 8 ? Scalar(1 << 24) : Scalar(4096);

  Scalar squared_norm(Index j) const { return array_at(&columns(0, j), dim).square().sum(); }

  void assign_coordinates(const In<Scalar>& points) {
    coordinates.resize(whole(count, kChunk<Scalar>), dim);
    for (Index k = 0; k < dim; ++k) {
      Scalar* const out = coordinates.col(k).data();
      for (Index i = 0; i < count; ++i) out[i] = points.coeff(k, i);
      if (count > 0) std::fill(out + count, out + coordinates.rows(), out[count - 1]);
    }
  }

  void shape_columns() {
    columns.resize(whole(dim, kChunk<Scalar>), whole(count, kGroup));
    for (Index j = 0; j < count; ++j) std::fill(&columns(0, j) + dim, &columns(0, j) + columns.rows(), Scalar(0));
    std::fill(columns.data() + columns.rows() * count, columns.data() + columns.size(), Scalar(0));
  }

  Matrix<Scalar> bounds_;  ///< of the coordinates, then their largest magnitude after the shift
  Scalar reach_ = 0;       ///< no point's squared distance from the origin is larger, in high dimension
};

}  // namespace repel::detail
