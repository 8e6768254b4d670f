// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

namespace repel::detail {

/// Eight neighbouring numbers in memory, in double.
template <class Scalar>
auto eight_at(const Scalar* values) {
  return Eigen::Map<const Eigen::Array<Scalar, 8, 1>>(values).template cast<double>();
}

/// Σ_k f(k), k = 0 … count − 1, in an order that depends on the count alone: eight sums side by side. (Eigen's own sums
/// begin where memory is aligned, and a particle lies elsewhere in every division among processes.) eight(k) is the array of
/// f(k) … f(k + 7).
template <class Eight, class One>
double steady_sum(Index count, const Eight& eight, const One& one) {
  Eigen::Array<double, 8, 1> sums = Eigen::Array<double, 8, 1>::Zero();
  Index k = 0;
  for (; k + 8 <= count; k += 8) sums += eight(k);
  for (Index r = 0; k + r < count; ++r) sums(r) += one(k + r);
  return ((sums(0) + sums(4)) + (sums(1) + sums(5))) + ((sums(2) + sums(6)) + (sums(3) + sums(7)));
}

/// x·y of numbers in memory.
template <class X, class Y>
double steady_dot(const X* x, const Y* y, Index count) {
  return steady_sum(
      count, [&](Index k) { return eight_at(x + k) * eight_at(y + k); },
      [&](Index k) { return static_cast<double>(x[k]) * static_cast<double>(y[k]); });
}

}  // namespace repel::detail
