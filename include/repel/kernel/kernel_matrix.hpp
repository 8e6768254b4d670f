#pragma once

#include <repel/core/parallel.hpp>
#include <repel/kernel/concepts.hpp>
#include <repel/kernel/distances.hpp>
#include <repel/kernel/sweep.hpp>

#include <algorithm>
#include <limits>
#include <optional>

// A kernel of a distance on one set of points, and its values as a matrix where there is one.

namespace repel::detail {

/// A kernel, the points it is on, and their bandwidth.
template <class K, class Scalar>
struct KernelField {
  std::optional<K> kernel;
  Points<Scalar> points;
  Distances<MetricOf<K>, Scalar> distances;
  double bandwidth = 0;
  Scalar value_at_0 = 1;  ///< k(x, x)

  template <class Derived>
  void measure(const K& chosen, const Eigen::MatrixBase<Derived>& x) {
    kernel.emplace(chosen);
    points.assign(x);
    bandwidth = distances.bandwidth(chosen.bandwidth, points);
    value_at_0 = Eigen::Array<Scalar, 1, 1>(kernel->phi(Eigen::Array<Scalar, 1, 1>(Scalar(0))))(0);
  }

  Scalar inverse_bandwidth() const { return static_cast<Scalar>(1 / bandwidth); }

  /// distance / h, kept finite so that tails such as (1 + √u) exp(−√u) end in 0 and not in ∞·0.
  template <class Array>
  auto scaled(const Array& distance) const {
    return (distance * inverse_bandwidth()).min(std::numeric_limits<Scalar>::max() / 8);
  }
};

/// K and φ′ by blocks of columns: one block where they are held, strips of some columns beyond. Where φ′ = −φ, K stands
/// for both.
template <class K, class Scalar>
class KernelMatrix {
  static constexpr bool one = kSlopeIsMinusValue<K>;
  using Field = KernelField<K, Scalar>;

 public:
  /// Before the points change: the memory goes back to the distances.
  void forget(Field& field) {
    if (held_) field.distances.recycle(one ? values_ : slopes_);
    held_ = false;
  }

  bool held() const { return held_; }

  /// K, n×n.
  const Matrix<Scalar>& values(Field& field) {
    form(field);
    return values_;
  }

  /// φ′ or, where one stands for both, K; n×n. The diagonal has no meaning.
  const Matrix<Scalar>& slopes(Field& field) {
    form(field);
    return one ? values_ : slopes_;
  }

  /// body(first, points, k, slopes) for blocks that cover all columns, with zeros where a particle meets itself: it
  /// does not pull on itself exactly, not up to rounding.
  template <class Body>
  void for_each_block(Field& field, bool want_slopes, const Body& body) {
    if (field.points.count <= kHeldCount || held_) {
      form(field);
      values_.diagonal().setZero();
      body(0, field.points, values_, slopes_);
      values_.diagonal().setConstant(field.value_at_0);  // as values() has promised
      return;
    }
    field.distances.for_each_strip(field.points, [&](Index first, const auto& at, Matrix<Scalar>& u) {
      values_.resize(u.rows(), u.cols());
      parallel_tiles(u.cols(), 4, static_cast<double>(10 * u.rows()), [&](Index begin, Index width) {
        for (Index j = begin; j < begin + width; ++j) {
          u.col(j) = field.scaled(u.col(j).array());
          values_.col(j) = field.kernel->phi(u.col(j).array());
          if constexpr (!one)
            if (want_slopes) u.col(j) = field.kernel->phi_prime(u.col(j).array(), values_.col(j).array());
          values_(first + j, j) = u(first + j, j) = 0;
        }
      });
      body(first, at, values_, u);
    });
  }

 private:
  /// K is symmetric: half of the exponentials are enough.
  void form(Field& field) {
    if (held_) return;
    const Index n = field.points.count;
    field.distances.hold_into(field.points, one ? values_ : slopes_);
    values_.resize(n, n);
    Triangle(n, 12).for_each_tile([&](Index, Index first, Index rows, Index column, Index columns) {
      for (Index j = column; j < column + columns; ++j) {
        const Index top = std::max(first, j), height = first + rows - top;
        if (height <= 0) continue;
        auto k = values_.col(j).segment(top, height).array();
        if constexpr (one) {
          k = field.scaled(k);
          k = field.kernel->phi(k);
        } else {
          auto u = slopes_.col(j).segment(top, height).array();
          u = field.scaled(u);
          k = field.kernel->phi(u);
          u = field.kernel->phi_prime(u, k);
        }
      }
    });
    values_.diagonal().setConstant(field.value_at_0);
    mirror_lower(values_);
    if constexpr (!one) {
      slopes_.diagonal().setZero();
      mirror_lower(slopes_);
    }
    held_ = true;
  }

  static void mirror_lower(Matrix<Scalar>& m) {
    Triangle(m.cols(), 4).for_each_tile([&](Index, Index i, Index rows, Index j, Index columns) {
      if (i == j)
        m.block(i, i, rows, rows).template triangularView<Eigen::StrictlyUpper>() =
            m.block(i, i, rows, rows).transpose();
      else
        for (Index c = 0; c < columns; c += 8)
          for (Index r = 0; r < rows; r += 8) {  // by small blocks, to be kind to the cache
            const Index h = std::min<Index>(8, rows - r), w = std::min<Index>(8, columns - c);
            m.block(j + c, i + r, w, h) = m.block(i + r, j + c, h, w).transpose();
          }
    });
  }

  bool held_ = false;
  Matrix<Scalar> values_, slopes_;
};

}  // namespace repel::detail
