// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

// Norms of columns, plus whatever else one pass over a large matrix can find out: for large ensembles, memory traffic
// is what counts.

namespace repel::detail {

/// What one pass over some columns finds.
template <class Scalar>
struct ColumnNorms {
  double sum = 0;      ///< of the norms
  Scalar largest = 0;  ///< of their squares; NaN if there is one
  void operator+=(const ColumnNorms& other) {
    sum += other.sum;
    if (!std::isnan(largest) && !(other.largest <= largest)) largest = other.largest;
  }
};

/// The norms of columns first … first + count. Squares are collected first, so that several roots are taken at
/// once.
template <class M>
ColumnNorms<typename M::Scalar> column_norms(const M& columns, Index first, Index count) {
  using Scalar = typename M::Scalar;
  constexpr Index batch = 64;
  alignas(64) Scalar squares[batch];
  ColumnNorms<Scalar> all;
  for (Index begin = first; begin < first + count; begin += batch) {
    const Index size = std::min(batch, first + count - begin), rows = columns.rows();
    for (Index j = 0; j < size; ++j) {
      if (rows > 8) {
        squares[j] = columns.col(begin + j).squaredNorm();
      } else {  // Eigen's set-up would take longer than the sum
        Scalar sum = 0;
        for (Index k = 0; k < rows; ++k) sum += columns.coeff(k, begin + j) * columns.coeff(k, begin + j);
        squares[j] = sum;
      }
    }
    const auto found = array_at(&std::as_const(squares[0]), size);
    all += {static_cast<double>(found.sqrt().sum()), found.template maxCoeff<Eigen::PropagateNaN>()};
  }
  return all;
}

/// What there is to know about the columns of a matrix.
struct Survey {
  double mean_norm = 0;
  bool usable = true;  ///< every entry is a number whose square can be summed (see largest_coordinate)
};

template <class Derived>
Survey survey(const Eigen::MatrixBase<Derived>& columns) {
  using Scalar = typename Derived::Scalar;
  const Scalar largest = largest_coordinate<Scalar>();
  const ColumnNorms<Scalar> all =
      parallel_sum(columns.cols(), static_cast<double>(columns.rows()),
                   [&](Index first, Index count) { return column_norms(columns.derived(), first, count); });
  // A square that is too large may be the sum of many that are not.
  return {all.sum / static_cast<double>(columns.cols()), all.largest <= largest * largest || all_usable(columns)};
}

/// The mean of the norms of the columns.
template <class Derived>
double mean_norm(const Eigen::MatrixBase<Derived>& columns) {
  return survey(columns).mean_norm;
}

/// out = a − b, and the mean of the norms of the columns of b on the way. out may be b.
template <class A, class B, class Out>
double subtract_and_norm(const A& a, const B& b, Out& out) {
  const double sum = parallel_sum(a.cols(), 2 * static_cast<double>(a.rows()), [&](Index first, Index count) {
    const double norms = column_norms(b, first, count).sum;
    for (Index j = first; j < first + count; ++j) out.col(j) = a.col(j) - b.col(j);
    return norms;
  });
  return sum / static_cast<double>(a.cols());
}

}  // namespace repel::detail
