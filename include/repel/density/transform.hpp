// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/density/differentiated.hpp>

#include <cmath>
#include <concepts>
#include <limits>
#include <string>

// Transforms of numbers z on the whole line into constrained ones x, for constrained(). A transform says how many numbers
// it takes and gives, and how:
//
//   struct Positive {
//     Index free_dim() const { return 1; }                                           // of z
//     Index dim() const { return 1; }                                                // of x
//     template <class T>
//     T constrain(const T* z, T* x) const { using std::exp; x[0] = exp(z[0]); return z[0]; }    // log |det ∂x/∂z|
//     void unconstrain(const double* x, double* z) const { z[0] = std::log(x[0]); }             // throws if x cannot be
//   };
//
// That is all of a transform of one's own: gradients are found by automatic differentiation. pullback(z, x, g_x, g_z),
// which writes (∂x/∂z)ᵀ g_x + ∇_z log |det ∂x/∂z|, is what the ones here add, for speed and for every digit.
//
// All of them keep x strictly inside its bounds, whatever z is, since log densities are infinite there.

namespace repel {

/// A map from free parameters to constrained ones, with the logarithm of its Jacobian.
template <class T>
concept Transform = requires(const T& t, const double* in, double* out, const Dual* dual_in, Dual* dual_out) {
  { t.free_dim() } -> std::convertible_to<Index>;
  { t.dim() } -> std::convertible_to<Index>;
  { t.constrain(in, out) } -> std::convertible_to<double>;
  { t.constrain(dual_in, dual_out) } -> std::convertible_to<Dual>;
};

namespace detail {

/// The number next to x in the direction of `towards`. Denormal numbers are passed over, since samplers count them as 0.
template <std::floating_point T>
T next_to(T x, T towards) {
  constexpr T least = std::numeric_limits<T>::min();
  if (std::abs(x) < least) return x < towards ? least : -least;
  return std::nextafter(x, towards);
}

}  // namespace detail

namespace transform {

/// Numbers that are transformed one by one. Map has, for a scalar z: value(z), log_slope(z) = log dx/dz, slope(z) and
/// curve(z) = d/dz log_slope(z); and inverse(x), which fails where x is out of bounds.
template <class Map>
struct Elementwise {
  Map map;          ///< of each number
  Index count = 1;  ///< numbers

  Index free_dim() const { return count; }
  Index dim() const { return count; }
  template <class T>
  T constrain(const T* z, T* x) const {
    T sum(0);
    for (Index k = 0; k < count; ++k) {
      x[k] = map.value(z[k]);
      sum += map.log_slope(z[k]);
    }
    return sum;
  }
  template <class T>
  void pullback(const T* z, const T*, const T* g_x, T* g_z) const {
    for (Index k = 0; k < count; ++k) g_z[k] = g_x[k] * map.slope(z[k]) + map.curve(z[k]);
  }
  void unconstrain(const double* x, double* z) const {
    for (Index k = 0; k < count; ++k) z[k] = map.inverse(x[k]);
  }
};

/// x = m + s z
struct Affine {
  double mean = 0, sd = 1;  ///< m and s

  template <class T>
  T value(const T& z) const {
    return static_cast<T>(mean) + static_cast<T>(sd) * z;
  }
  template <class T>
  T slope(const T&) const {
    return static_cast<T>(sd);
  }
  template <class T>
  T log_slope(const T&) const {
    return static_cast<T>(std::log(sd));
  }
  template <class T>
  T curve(const T&) const {
    return T(0);
  }
  double inverse(double x) const { return (x - mean) / sd; }
};

/// x = bound + direction · eᶻ
struct HalfLine {
  double bound = 0, direction = 1;  ///< direction is 1 above the bound, −1 below it

  template <class T>
  T value(const T& z) const {
    using std::exp;
    const T x = static_cast<T>(bound) + static_cast<T>(direction) * exp(z);
    if constexpr (std::floating_point<T>)  // z of −40 would be rounded to the bound
      if (x == static_cast<T>(bound))
        return detail::next_to(x, static_cast<T>(direction) * std::numeric_limits<T>::max());
    return x;
  }
  template <class T>
  T slope(const T& z) const {
    using std::exp;
    return static_cast<T>(direction) * exp(z);
  }
  template <class T>
  T log_slope(const T& z) const {
    return z;
  }
  template <class T>
  T curve(const T&) const {
    return T(1);
  }
  double inverse(double x) const {
    const double distance = direction * (x - bound);
    if (!(distance > 0 && std::isfinite(distance)))
      detail::fail("unconstrain", "x is ", x, ", but must be ", direction > 0 ? "larger" : "smaller", " than ", bound);
    return std::log(distance);
  }
};

/// x = low + (high − low) / (1 + e^−z), from the end that is closer, so that no digits are lost at either.
struct Between {
  double low = 0, high = 1;  ///< the bounds

  template <class T>
  T value(const T& z) const {
    using std::exp;
    const T width = static_cast<T>(high - low);
    if (z < T(0)) {
      const T e = exp(z), x = static_cast<T>(low) + width * e / (T(1) + e);
      if constexpr (std::floating_point<T>) return inside(x);
      return x;
    }
    const T e = exp(-z), x = static_cast<T>(high) - width * e / (T(1) + e);
    if constexpr (std::floating_point<T>) return inside(x);
    return x;
  }
  template <class T>
  T slope(const T& z) const {
    using std::abs, std::exp;
    const T e = exp(-abs(z));
    return static_cast<T>(high - low) * e / ((T(1) + e) * (T(1) + e));
  }
  template <class T>
  T log_slope(const T& z) const {
    using std::abs, std::exp, std::log;
    const T size = abs(z);
    return static_cast<T>(std::log(high - low)) - size - T(2) * log(T(1) + exp(-size));
  }
  template <class T>
  T curve(const T& z) const {  // 1 − 2 / (1 + e^−z)
    using std::tanh;
    return -tanh(z / T(2));
  }
  double inverse(double x) const {
    if (!(x > low && x < high))
      detail::fail("unconstrain", "x is ", x, ", but must be larger than ", low, " and smaller than ", high);
    return std::log(x - low) - std::log(high - x);
  }

 private:
  template <class T>
  T inside(T x) const {
    const T a = static_cast<T>(low), b = static_cast<T>(high);
    return x <= a ? detail::next_to(a, b) : x >= b ? detail::next_to(b, a) : x;
  }
};

}  // namespace transform

namespace detail {

inline Index require_count(const char* where, Index count, Index least) {
  if (count < least) fail(where, "count is ", count, ", but must be at least ", least);
  return count;
}

}  // namespace detail

/// `count` numbers without bounds.
inline transform::Elementwise<transform::Affine> real(Index count = 1) {
  return {{}, detail::require_count("real", count, 1)};
}
/// `count` numbers whose likely size is known: the sampler sees (x − mean) / sd. Nothing else changes.
inline transform::Elementwise<transform::Affine> scaled(double mean, double sd, Index count = 1) {
  if (!std::isfinite(mean)) detail::fail("scaled", "mean is ", mean, ", but must be finite");
  detail::require_positive("scaled", "sd", sd);
  return {{mean, sd}, detail::require_count("scaled", count, 1)};
}
/// `count` positive numbers.
inline transform::Elementwise<transform::HalfLine> positive(Index count = 1) {
  return {{0, 1}, detail::require_count("positive", count, 1)};
}
/// `count` numbers larger than a bound.
inline transform::Elementwise<transform::HalfLine> above(double bound, Index count = 1) {
  if (!std::isfinite(bound)) detail::fail("above", "bound is ", bound, ", but must be finite");
  return {{bound, 1}, detail::require_count("above", count, 1)};
}
/// `count` numbers smaller than a bound.
inline transform::Elementwise<transform::HalfLine> below(double bound, Index count = 1) {
  if (!std::isfinite(bound)) detail::fail("below", "bound is ", bound, ", but must be finite");
  return {{bound, -1}, detail::require_count("below", count, 1)};
}
/// `count` numbers between two bounds.
inline transform::Elementwise<transform::Between> interval(double low, double high, Index count = 1) {
  if (!(low < high && std::isfinite(high - low)))
    detail::fail("interval", "low is ", low, " and high ", high, ", but low must be below high, and both finite");
  if (detail::next_to(low, high) >= high)
    detail::fail("interval", "low is ", low, " and high ", high, ", but there must be numbers between them");
  return {{low, high}, detail::require_count("interval", count, 1)};
}

}  // namespace repel
