#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/core/types.hpp>

// Distances between points, and sums of their gradients: all that a kernel φ(distance / h) needs to know about space.
//
// A metric has two static functions, on points stored in `Points`:
//   distances(x, y, out)    out(i, j) = distance(x_i, y_j); where x and y are the same object, only the lower
//                           triangle and an exactly zero diagonal are promised
//   pull(x, y, a, out)      column j of out = Σ_i a(i, j) ∇_{y_j} distance(x_i, y_j)
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
  Index dim = 0, count = 0;

  /// Distances do not change under a common shift, but rounding does: squared distances from ‖x‖² + ‖y‖² − 2x·y
  /// lose every digit in float when the points lie far from the origin. So the points are shifted by their mean, formed
  /// around the first of them: it is exact, and all points are exactly 0, when all coincide.
  template <class Derived>
  void assign(const Eigen::MatrixBase<Derived>& points) {
    if (points.rows() > kFewDimensions) {
      origin = points.col(0);
      for (Index j = 1; j < points.cols(); ++j)
        origin += (points.col(j) - points.col(0)) / static_cast<Scalar>(points.cols());
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
      columns = points.colwise() - shift;
      norms = columns.colwise().squaredNorm().transpose();
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
void pull_by_coordinate(const Points<Scalar>& x, const Points<Scalar>& y, const Weights& a, Out& out) {
  parallel_tiles(y.count, kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
    for (Index j = first; j < first + width; ++j)
      for (Index k = 0; k < x.dim; ++k)
        out(k, j) = (a.col(j).array() * Metric::slope(y.coordinates(j, k) - x.coordinates.col(k).array())).sum();
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
  static void distances(const detail::Points<Scalar>& x, const detail::Points<Scalar>& y, Matrix<Scalar>& out) {
    out.resize(x.count, y.count);
    if (x.few()) return detail::distances_by_coordinate<SquaredEuclidean>(x, y, out);
    const bool self = &x == &y;
    detail::parallel_tiles(y.count, detail::kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
      const Index top = self ? first : 0, rows = x.count - top;
      auto block = out.block(top, first, rows, width);
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
  static void pull(const detail::Points<Scalar>& x, const detail::Points<Scalar>& y, const Weights& a, Out& out) {
    if (x.few()) return detail::pull_by_coordinate<SquaredEuclidean>(x, y, a, out);
    detail::product<Scalar>(x.columns, a, out);
    detail::parallel_tiles(y.count, detail::kTile, static_cast<double>(x.count + x.dim), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) out.col(j) = 2 * (a.col(j).sum() * y.columns.col(j) - out.col(j));
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
  static void pull(const detail::Points<Scalar>& x, const detail::Points<Scalar>& y, const Weights& a, Out& out) {
    if (x.few()) return detail::pull_by_coordinate<Manhattan>(x, y, a, out);
    detail::parallel_tiles(y.count, detail::kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        out.col(j).setZero();
        for (Index i = 0; i < x.count; ++i)
          out.col(j).array() += a(i, j) * (y.columns.col(j) - x.columns.col(i)).array().sign();
      }
    });
  }
};

}  // namespace repel
