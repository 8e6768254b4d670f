#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/core/types.hpp>

// Distances between points, and sums of their gradients: all that a kernel φ(distance / h) needs to know about space.
//
// A metric has two static functions, on points stored in `Points`:
//   distances(x, y, out)    out(i, j) = distance(x_i, y_j); where x and y are the same object, only the lower
//                           triangle and an exactly zero diagonal are promised
//   pull(x, y, a, c, out)   column j of out = c Σ_i a(i, j) ∇_{y_j} distance(x_i, y_j)
//
// In a few dimensions both are sums over coordinate differences, vectorised over particles and free of cancellation.
// In many, the squared Euclidean metric uses matrix products (there is never a d×n×n tensor).

namespace repel {

namespace detail {

/// Up to this many dimensions coordinate differences are both faster and more exact than a matrix product.
inline constexpr Index kFewDimensions = 8;

/// Points in the layout that suits their dimension.
template <class Scalar>
struct Points {
  Matrix<Scalar> coordinates;  ///< n×d, in few dimensions
  Matrix<Scalar> columns;      ///< d×n and shifted to a common origin, in many dimensions
  Vector<Scalar> norms;        ///< their squared norms
  Vector<Scalar> origin;       ///< the shift
  Matrix<Scalar> parts;        ///< room for products of few but long columns
  Index dim = 0, count = 0;

  /// Distances do not change under a common shift, but rounding does: squared distances from ‖x‖² + ‖y‖² − 2x·y
  /// lose every digit in float when the points lie far from the origin. So the points are shifted by their mean, formed
  /// around the first of them: it is exact, and all points are exactly 0, when all coincide.
  template <class Derived>
  void assign(const Eigen::MatrixBase<Derived>& points) {
    if (points.rows() > kFewDimensions) {
      origin = points.col(0);
      const Scalar weight = 1 / static_cast<Scalar>(points.cols());
      parallel_blocks(points.rows(), 1, static_cast<double>(points.cols()), [&](Index r, Index rows, Index, Index) {
        for (Index j = 1; j < points.cols(); ++j)
          origin.segment(r, rows) += (points.col(j) - points.col(0)).segment(r, rows) * weight;
      });
    }
    assign(points, origin);
  }

  /// Other points, shifted in the same way.
  template <class Derived>
  void assign(const Eigen::MatrixBase<Derived>& points, const Vector<Scalar>& shift) {
    dim = points.rows();
    count = points.cols();
    if (few()) {
      coordinates = points.transpose();
    } else {
      columns.resize(dim, count);
      norms.resize(count);
      parallel_tiles(count, 4, static_cast<double>(dim), [&](Index first, Index width) {
        for (Index j = first; j < first + width; ++j) {
          columns.col(j) = points.col(j) - shift;
          norms(j) = columns.col(j).squaredNorm();
        }
      });
    }
  }

  bool few() const { return dim <= kFewDimensions; }
};

template <class Metric, class Scalar>
void distances_by_coordinate(const Points<Scalar>& x, const Points<Scalar>& y, Matrix<Scalar>& out) {
  const bool self = &x == &y;
  parallel_tiles(y.count, kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
    for (Index j = first; j < first + width; ++j) {
      const Index rows = self ? x.count - j : x.count;
      auto column = out.col(j).tail(rows).array();
      column = Metric::term(x.coordinates.col(0).tail(rows).array() - y.coordinates(j, 0));
      for (Index k = 1; k < x.dim; ++k)
        column += Metric::term(x.coordinates.col(k).tail(rows).array() - y.coordinates(j, k));
    }
  });
}

template <class Metric, class Scalar, class Weights, class Out>
void pull_by_coordinate(const Points<Scalar>& x, const Points<Scalar>& y, const Weights& a, Scalar c, Out& out) {
  parallel_tiles(y.count, kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
    for (Index j = first; j < first + width; ++j)
      for (Index k = 0; k < x.dim; ++k)
        out(k, j) = c * (a.col(j).array() * Metric::slope(y.coordinates(j, k) - x.coordinates.col(k).array())).sum();
  });
}

}  // namespace detail

/// ‖x − y‖²
struct SquaredEuclidean {
  template <class Array>
  static auto term(const Array& difference) {
    return difference.square();
  }
  template <class Array>
  static auto slope(const Array& difference) {
    return 2 * difference;
  }

  template <class Scalar>
  static void distances(const detail::Points<Scalar>& x, detail::Points<Scalar>& y, Matrix<Scalar>& out) {
    out.resize(x.count, y.count);
    if (x.few()) return detail::distances_by_coordinate<SquaredEuclidean>(x, y, out);
    const bool self = &x == &y;
    const bool narrow = x.count <= detail::kTile && y.count <= detail::kTile;
    if (narrow) detail::long_transposed_product<Scalar>(x.columns, y.columns, y.parts, out);
    detail::parallel_tiles(y.count, detail::kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
      const Index top = self ? first : 0, rows = x.count - top;
      auto block = out.block(top, first, rows, width);
      if (!narrow)
        detail::transposed_product<Scalar>(x.columns.middleCols(top, rows), y.columns.middleCols(first, width), block);
      for (Index j = 0; j < width; ++j)
        for (Index i = self ? j : 0; i < rows; ++i) {
          const Scalar scale = x.norms(top + i) + y.norms(first + j), difference = scale - 2 * block(i, j);
          // Two points close to each other but far from the origin: the subtraction has lost their digits.
          block(i, j) = difference > Scalar(0.01) * scale
                            ? difference
                            : (x.columns.col(top + i) - y.columns.col(first + j)).squaredNorm();
        }
    });
  }

  template <class Scalar, class Weights, class Out>
  static void pull(const detail::Points<Scalar>& x, const detail::Points<Scalar>& y, const Weights& a, Scalar c,
                   Out& out) {
    if (x.few()) return detail::pull_by_coordinate<SquaredEuclidean>(x, y, a, c, out);
    detail::product<Scalar>(x.columns, a, out);
    detail::parallel_tiles(y.count, 4, static_cast<double>(x.count + x.dim), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j)
        out.col(j) = (2 * c * a.col(j).sum()) * y.columns.col(j) - (2 * c) * out.col(j);
    });
  }
};

/// ‖x − y‖₁. Its gradient is a sign, which no matrix product gives.
struct Manhattan {
  template <class Array>
  static auto term(const Array& difference) {
    return difference.abs();
  }
  template <class Array>
  static auto slope(const Array& difference) {
    return difference.sign();
  }

  template <class Scalar>
  static void distances(const detail::Points<Scalar>& x, const detail::Points<Scalar>& y, Matrix<Scalar>& out) {
    out.resize(x.count, y.count);
    if (x.few()) return detail::distances_by_coordinate<Manhattan>(x, y, out);
    const bool self = &x == &y;
    detail::parallel_tiles(y.count, detail::kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j)
        for (Index i = self ? j : 0; i < x.count; ++i)
          out(i, j) = (x.columns.col(i) - y.columns.col(j)).template lpNorm<1>();
    });
  }

  template <class Scalar, class Weights, class Out>
  static void pull(const detail::Points<Scalar>& x, const detail::Points<Scalar>& y, const Weights& a, Scalar c,
                   Out& out) {
    if (x.few()) return detail::pull_by_coordinate<Manhattan>(x, y, a, c, out);
    detail::parallel_tiles(y.count, detail::kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        out.col(j).setZero();
        for (Index i = 0; i < x.count; ++i)
          out.col(j).array() += (c * a(i, j)) * (y.columns.col(j) - x.columns.col(i)).array().sign();
      }
    });
  }
};

}  // namespace repel
