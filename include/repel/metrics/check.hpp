// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <cmath>

namespace repel::metrics::detail {

using repel::detail::fail;

/// How far from 1 the sum of a point's probabilities may be: float rounding over some thousand classes and members.
inline constexpr double kSumTolerance = 1e-4;

/// classes×points: every column a distribution.
template <class P>
void require_probabilities(const char* where, const char* name, const Eigen::MatrixBase<P>& p) {
  if (p.rows() < 2) fail(where, name, " has ", p.rows(), " rows, but needs one per class, at least 2");
  if (p.cols() < 1) fail(where, name, " has 0 columns, but needs at least 1 (one per point)");
  for (Index i = 0; i < p.cols(); ++i) {
    double sum = 0;
    for (Index c = 0; c < p.rows(); ++c) {
      const auto value = static_cast<double>(p.derived().coeff(c, i));
      if (!(value >= 0 && value <= 1 + kSumTolerance))
        fail(where, name, "(", c, ", ", i, ") is ", value, ", but a probability must be 0 to 1");
      sum += value;
    }
    if (!(std::abs(sum - 1) <= kSumTolerance))
      fail(where, "column ", i, " of ", name, " sums up to ", sum, ", but probabilities must sum up to 1");
  }
}

/// (classes·points)×members: every column holds what one member says, point by point.
template <class M>
void require_member_shape(const char* where, const char* name, const Eigen::MatrixBase<M>& members, Index classes) {
  if (classes < 2) fail(where, "classes is ", classes, ", but must be at least 2");
  if (members.cols() < 1) fail(where, name, " has 0 columns, but needs at least 1 (one per member)");
  if (members.rows() < 1 || members.rows() % classes != 0)
    fail(where, name, " has ", members.rows(), " rows, but must have a positive multiple of classes, ", classes);
}

/// The same, every point a distribution.
template <class M>
void require_members(const char* where, const Eigen::MatrixBase<M>& members, Index classes) {
  require_member_shape(where, "members", members, classes);
  for (Index m = 0; m < members.cols(); ++m)
    require_probabilities(where, "members", members.col(m).reshaped(classes, members.rows() / classes));
}

template <class Y>
void require_labels(const char* where, const Eigen::MatrixBase<Y>& labels, Index points, Index classes) {
  static_assert(Eigen::NumTraits<typename Y::Scalar>::IsInteger, "repel::metrics: labels must be whole numbers");
  if (labels.size() != points)
    fail(where, "labels has ", labels.size(), " entries, but must have ", points, ", one per point");
  for (Index i = 0; i < points; ++i)
    if (labels.derived().coeff(i) < 0 || labels.derived().coeff(i) >= classes)
      fail(where, "labels(", i, ") is ", labels.derived().coeff(i), ", but a label must be 0 to ", classes - 1);
}

/// Scores, which may be infinite. `values` is evaluated: a product has no entries of its own.
template <class V>
void require_numbers(const char* where, const char* name, const V& values) {
  if (values.size() < 1) fail(where, name, " is empty, but needs at least one value");
  for (Index j = 0; j < values.cols(); ++j)
    for (Index i = 0; i < values.rows(); ++i)
      if (std::isnan(static_cast<double>(values(i, j))))
        fail(where, name, "(", i, ", ", j, ") is nan, but must be a number");
}

template <class V>
void require_finite(const char* where, const char* name, const V& values) {
  require_numbers(where, name, values);
  for (Index j = 0; j < values.cols(); ++j)
    for (Index i = 0; i < values.rows(); ++i)
      if (!std::isfinite(static_cast<double>(values(i, j))))
        fail(where, name, "(", i, ", ", j, ") is ", values(i, j), ", but must be finite");
}

/// The class with the largest probability; the first of several.
template <class Column>
Index likeliest(const Column& p) {
  Index best = 0;
  for (Index c = 1; c < p.size(); ++c)
    if (p(c) > p(best)) best = c;
  return best;
}

}  // namespace repel::metrics::detail
