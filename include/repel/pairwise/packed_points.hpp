#pragma once

#include <repel/core/function_ref.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/product.hpp>

#include <algorithm>

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
  /// float when the points lie far from the origin. So the points are shifted by their mean, formed around the first of
  /// them: it is exact, and all points are exactly 0, when all coincide.
  void assign(const In<Scalar>& points) {
    dim = points.rows();
    count = points.cols();
    if (low_dimensional()) return assign_coordinates(points);
    shape_columns();
    origin.resize(dim);
    const Scalar weight = 1 / static_cast<Scalar>(count);
    parallel_blocks(dim, 1, 2 * static_cast<double>(count), [&](const BlockOf& at) {  // once through memory
      const auto point = [&](Index j) { return array_at(points.data() + j * points.outerStride() + at.row, at.rows); };
      auto mean = array_at(origin.data() + at.row, at.rows);
      mean = point(0);
      for (Index j = 1; j < count; ++j) mean += (point(j) - point(0)) * weight;
      for (Index j = 0; j < count; ++j) array_at(&columns(at.row, j), at.rows) = point(j) - mean;
    });
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
  }

  /// m of the points, the k-th of them being pick(k).
  void take(const PackedPoints& from, Index m, FunctionRef<Index(Index)> pick) {
    dim = from.dim;
    count = m;
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
};

}  // namespace repel::detail
