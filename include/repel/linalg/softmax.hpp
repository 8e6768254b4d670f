// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/seen_aligned.hpp>
#include <repel/core/types.hpp>

#include <cmath>
#include <limits>
#include <type_traits>

// The softmax and the logarithm of its sum, for values of any size: the largest is taken out before exp, and
// what has overflowed to infinity is taken to its limit.

namespace repel::detail {

/// log Σ exp of the entries of a column, in double.
template <class Column>
double log_sum_exp(const Column& values) {
  const auto top = static_cast<double>(values.maxCoeff());
  if (!std::isfinite(top)) return top;
  return top + std::log((values.template cast<double>().array() - top).exp().sum());
}

/// The softmax of a column whose largest entry is infinite, or none is finite: the limit, with equal shares.
template <class Column>
void softmax_of_infinities(Column&& column, typename std::remove_cvref_t<Column>::Scalar top) {
  using Scalar = typename std::remove_cvref_t<Column>::Scalar;
  if (column.isNaN().any())
    column.setConstant(std::numeric_limits<Scalar>::quiet_NaN());
  else
    column = (column == top).template cast<Scalar>();
}

/// p ← its softmax, column by column.
template <class P>
void softmax(P& p) {
  for (Index i = 0; i < p.cols(); ++i) {
    auto column = p.col(i).array();
    const auto top = column.maxCoeff();
    if (std::isfinite(top))
      column = (column - top).exp();
    else
      softmax_of_infinities(column, top);
    column /= column.sum();
  }
}

/// The logarithm of one entry of the softmax of a column.
template <class Column>
double log_softmax_at(const Column& values, Index which) {
  const auto top = static_cast<double>(values.maxCoeff()), value = static_cast<double>(values(which));
  if (!std::isinf(top)) return value - log_sum_exp(values);
  if (values.array().isNaN().any()) return std::numeric_limits<double>::quiet_NaN();
  if (value != top) return -std::numeric_limits<double>::infinity();
  return -std::log(static_cast<double>((values.array() == values.maxCoeff()).count()));
}

/// p ← (∂p/∂f)ᵀ v = p ∘ (v − p·v), column by column, where p = softmax(f).
template <class P, class V>
void softmax_vjp(P& p, const V& v) {
  for (Index i = 0; i < p.cols(); ++i) p.col(i).array() *= v.col(i).array() - p.col(i).dot(v.col(i));
}

/// The same for many functions: a column holds `classes` numbers per point, point after point. `aligned`: the bits of a
/// column do not depend on where it lies.
template <class Scalar>
void softmax_columns(Matrix<Scalar>& values, Index classes, bool aligned = false) {
  parallel_for(values.cols(), 10 * static_cast<double>(values.rows()), [&](Index j) {
    const SeenAligned<Scalar> column(aligned, 0, values.col(j).data(), values.rows());
    Eigen::Map<Matrix<Scalar>> p(column.data(), classes, values.rows() / classes);
    softmax(p);
    column.write_back();
  });
}
template <class Scalar>
void softmax_vjp_columns(Matrix<Scalar>& p, Index classes, const Matrix<Scalar>& v, bool aligned = false) {
  parallel_for(p.cols(), 10 * static_cast<double>(p.rows()), [&](Index j) {
    const SeenAligned<Scalar> column(aligned, 0, p.col(j).data(), p.rows());
    const SeenAligned<Scalar> seen(aligned, 1, const_cast<Scalar*>(v.col(j).data()), v.rows());  // and never written
    Eigen::Map<Matrix<Scalar>> at_points(column.data(), classes, p.rows() / classes);
    const Eigen::Map<const Matrix<Scalar>> direction(seen.data(), classes, p.rows() / classes);
    softmax_vjp(at_points, direction);
    column.write_back();
  });
}

}  // namespace repel::detail
