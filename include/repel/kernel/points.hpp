#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>

// Points in the layout that suits their dimension: by coordinates in few dimensions, where a register holds one
// coordinate of several points; by points in many, where it holds several coordinates of one point. Both are padded to
// whole registers, so that loops need no special last pass.

namespace repel::detail {

/// Up to this many dimensions points are stored by coordinates.
inline constexpr Index kFewDimensions = 16;

/// A register full of numbers.
template <class Scalar>
inline constexpr Index kChunk = Eigen::internal::packet_traits<Scalar>::size;
template <class Scalar>
using Chunk = Eigen::Array<Scalar, kChunk<Scalar>, 1>;

/// count rounded up to a multiple of unit
constexpr Index whole(Index count, Index unit) { return (count + unit - 1) / unit * unit; }

template <class Scalar>
struct Points {
  static constexpr Index kGroup = 3;  ///< in many dimensions the number of points is padded to a multiple of this

  Matrix<Scalar> coordinates;  ///< n×d, in few dimensions; padded with copies of the last point
  Matrix<Scalar> columns;      ///< d×n and shifted to a common origin, in many dimensions; padded with 0
  Vector<Scalar> origin;       ///< the shift
  Index dim = 0, count = 0;

  bool few() const { return dim <= kFewDimensions; }

  /// Distances do not change under a common shift, but rounding does: sums such as z_j Σ a − Σ a z lose every digit in
  /// float when the points lie far from the origin. So the points are shifted by their mean, formed around the first of
  /// them: it is exact, and all points are exactly 0, when all coincide.
  template <class Derived>
  void assign(const Eigen::MatrixBase<Derived>& points) {
    dim = points.rows();
    count = points.cols();
    if (few()) return assign_coordinates(points);
    shape_columns();
    origin.resize(dim);
    const Scalar weight = 1 / static_cast<Scalar>(count);
    parallel_blocks(dim, 1, 2 * static_cast<double>(count),
                    [&](Index r, Index rows, Index, Index) {  // once through memory
                      auto mean = origin.segment(r, rows);
                      const auto first = points.col(0).segment(r, rows);
                      mean = first;
                      for (Index j = 1; j < count; ++j) mean += (points.col(j).segment(r, rows) - first) * weight;
                      for (Index j = 0; j < count; ++j)
                        columns.col(j).segment(r, rows) = points.col(j).segment(r, rows) - mean;
                    });
  }

  /// Other points, shifted in the same way.
  template <class Derived>
  void assign(const Eigen::MatrixBase<Derived>& points, const Vector<Scalar>& shift) {
    dim = points.rows();
    count = points.cols();
    if (few()) return assign_coordinates(points);
    shape_columns();
    parallel_tiles(count, 4, static_cast<double>(dim), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) columns.col(j).head(dim) = points.col(j) - shift;
    });
  }

  /// m of the points, the k-th of them being pick(k).
  template <class Pick>
  void take(const Points& from, Index m, const Pick& pick) {
    dim = from.dim;
    count = m;
    if (few()) {
      coordinates.resize(whole(m, kChunk<Scalar>), dim);
      for (Index k = 0; k < coordinates.rows(); ++k)
        coordinates.row(k) = from.coordinates.row(pick(std::min(k, m - 1)));
    } else {
      columns.resize(from.columns.rows(), whole(m, kGroup));
      for (Index k = 0; k < m; ++k) columns.col(k) = from.columns.col(pick(k));
      columns.rightCols(columns.cols() - m).setZero();
    }
  }

 private:
  template <class Derived>
  void assign_coordinates(const Eigen::MatrixBase<Derived>& points) {
    coordinates.resize(whole(count, kChunk<Scalar>), dim);
    for (Index k = 0; k < dim; ++k) {
      Scalar* const out = coordinates.col(k).data();
      for (Index i = 0; i < count; ++i) out[i] = points.coeff(k, i);
      std::fill(out + count, out + coordinates.rows(), out[count - 1]);
    }
  }

  void shape_columns() {
    columns.resize(whole(dim, kChunk<Scalar>), whole(count, kGroup));
    columns.bottomRows(columns.rows() - dim).setZero();
    columns.rightCols(columns.cols() - count).setZero();
  }
};

}  // namespace repel::detail
