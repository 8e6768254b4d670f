// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

// Functions that log densities need and that automatic differentiation's scalars often lack. They work on double and on
// every scalar with +, −, ·, /, abs, exp and log, and have no branches, which a tape could not follow.

namespace repel {

/// log(1 + eˣ), for any x: log1p_exp(−t) is −log of a logistic function at t.
template <class T>
T log1p_exp(const T& x) {
  using std::abs, std::exp, std::log;
  const T size = abs(x), decay = exp(-size);
  return 0.5 * (x + size) + log(1 + decay);
}

/// aᵇ, a > 0: for an exponent that is a parameter, which Eigen's AutoDiff lacks. Not for integers.
template <class T>
requires(!std::integral<T>) T pow(const T& a, const std::type_identity_t<T>& b) {
  using std::exp, std::log;
  return exp(b * log(a));
}

/// log Σ_i exp(v_i). Of numbers, some or all may be −∞, as the logarithm of a weight of 0 is.
template <class T>
T log_sum_exp(const Vector<T>& v) {
  using std::abs, std::exp, std::log;
  if constexpr (std::floating_point<T>) {
    const T most = v.maxCoeff();
    return std::isinf(most) ? most : most + log((v.array() - most).exp().sum());
  }
  T largest = v(0);
  for (Index i = 1; i < v.size(); ++i) {
    const T gap = v(i) - largest;
    largest = largest + 0.5 * (gap + abs(gap));  // the larger of the two
  }
  T sum = exp(v(0) - largest);
  for (Index i = 1; i < v.size(); ++i) sum += exp(v(i) - largest);
  return largest + log(sum);
}

/// log(eᵃ + eᵇ), with the same exception.
template <class T>
T log_sum_exp(const T& a, const std::type_identity_t<T>& b) {
  if constexpr (std::floating_point<T>)
    if (std::isinf(a) || std::isinf(b)) return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? b : a;
  return a + log1p_exp(T(b - a));
}

/// log Γ(x), x > 0: Stirling's series at x + 8, where its error is below 1e-14, and eight steps of Γ(x + 1) = x Γ(x)
/// back.
template <class T>
T log_gamma(const T& x) {
  using std::log;
  const T y = x + 8, inverse = 1 / y, square = inverse * inverse;
  const T series =
      inverse *
      (1. / 12 -
       square *
           (1. / 360 - square * (1. / 1260 - square * (1. / 1680 - square * (1. / 1188 - square * (691. / 360360))))));
  const T low = x * (x + 1) * (x + 2) * (x + 3), high = (x + 4) * (x + 5) * (x + 6) * (x + 7);
  return (y - 0.5) * log(y) - y + 0.91893853320467274178 + series - log(low) - log(high);  // ½ log 2π
}

}  // namespace repel
