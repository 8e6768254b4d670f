// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/kernel/bandwidth.hpp>

namespace repel::diagnostics {

/// The median of the squared distances between distinct particles, as it is: the default of the diagnostics. The
/// library's other rules divide it by log n, so that SVGD's sums over all particles balance its gradient term. A test
/// has no such sum to balance, and the narrower kernel sees less of a shift or a scale that all particles share.
struct PlainMedianBandwidth {
  static constexpr bool counts_zeros = false;
  static double divisor(Index) { return 1; }
};

namespace detail {

using repel::detail::fail;

/// What a diagnostic was given, a particle per column, in double and checked: all of them compute in double.
template <class X>
Eigen::MatrixXd checked_sample(const char* where, const char* name, const Eigen::MatrixBase<X>& given, Index least) {
  static_assert(Real<typename X::Scalar>, "repel::diagnostics: samples must be matrices of float or double");
  Eigen::MatrixXd x = given.template cast<double>();
  repel::detail::require_points(where, name, x);
  if (x.cols() < least)
    fail(where, name, " has ", x.cols(), " columns, but needs at least ", least, " (one per particle)");
  return x;
}

inline void require_count(const char* where, const char* name, Index value, Index least) {
  if (value < least) fail(where, name, " is ", value, ", but must be at least ", least);
}

}  // namespace detail

}  // namespace repel::diagnostics
