// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/density/transform.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

// Transforms of several numbers that depend on each other: those that add up to 1, those in order.

namespace repel {

namespace transform {

/// k positive numbers that add up to 1, from k − 1: x = softmax(V z), where the columns of V are orthonormal and each add
/// up to 0 (the isometric log-ratio transform of Egozcue et al. 2003). log |det| = Σ log x_i + ½ log k, on the first k − 1
/// of x. Symmetric in all entries, so that z = 0 is the middle.
struct Simplex {
  Index count = 2;  ///< numbers that add up to 1

  Index free_dim() const { return count - 1; }
  Index dim() const { return count; }

  template <class T>
  T constrain(const T* z, T* x) const {
    using std::exp, std::log;
    spread(z, x);
    Index top = 0;
    for (Index i = 1; i < count; ++i)
      if (x[top] < x[i]) top = i;
    const T largest = x[top];
    T sum(0), logs(0);
    for (Index i = 0; i < count; ++i) {
      x[i] = x[i] - largest;
      logs += x[i];
      sum += exp(x[i]);
    }
    for (Index i = 0; i < count; ++i) {
      x[i] = exp(x[i]) / sum;
      if constexpr (std::floating_point<T>) x[i] = std::max(x[i], std::numeric_limits<T>::min());
    }
    const T k = static_cast<T>(static_cast<double>(count));
    return logs - k * log(sum) + static_cast<T>(0.5 * std::log(static_cast<double>(count)));
  }

  /// With y = V z: d/dy_i = x_i (g_i − xᵀg) + 1 − k x_i, and then Vᵀ.
  template <class T>
  void pullback(const T*, const T* x, const T* g_x, T* g_z) const {
    // Relative to g at the largest x, which is rounded to 1 first: then xᵀg is the sum of small terms with all digits.
    const T g_top = g_x[std::max_element(x, x + count) - x];
    T mean(0);
    for (Index i = 0; i < count; ++i) mean += x[i] * (g_x[i] - g_top);
    const T k = static_cast<T>(count);
    T before(0);  // Σ of d/dy over the entries before
    for (Index i = 0; i < count; ++i) {
      const T slope = x[i] * (g_x[i] - g_top - mean) + T(1) - k * x[i];
      if (i > 0) g_z[i - 1] = (before - static_cast<T>(i) * slope) * weight<T>(i);
      before += slope;
    }
  }

  void unconstrain(const double* x, double* z) const {
    double sum = 0, logs = 0;
    for (Index i = 0; i < count; ++i) {
      if (!(x[i] > 0))
        detail::fail("unconstrain", "x is ", x[i], " in entry ", i, " of a simplex, but must be positive");
      sum += x[i];
    }
    if (!(std::abs(sum - 1) < 1e-6))
      detail::fail("unconstrain", "the ", count, " entries of a simplex add up to ", sum, ", but must add up to 1");
    for (Index i = 0; i < count; ++i) {
      if (i > 0) z[i - 1] = (logs - static_cast<double>(i) * std::log(x[i])) * weight<double>(i);
      logs += std::log(x[i]);
    }
  }

 private:
  /// Column j of V, j = 1 …: j entries of 1 and one of −j, over √(j (j + 1)).
  template <class T>
  static T weight(Index j) {
    const auto i = static_cast<double>(j);
    return static_cast<T>(1 / std::sqrt(i * (i + 1)));
  }
  /// y = V z
  template <class T>
  void spread(const T* z, T* y) const {
    T after(0);  // what later columns add to all entries before
    for (Index i = count - 1; i >= 1; --i) {
      const T part = z[i - 1] * weight<T>(i);
      y[i] = after - static_cast<T>(static_cast<double>(i)) * part;
      after += part;
    }
    y[0] = after;
  }
};

/// x_1 < x_2 < …: the first as it is, then each the exponential of z above the one before.
struct Ordered {
  Index count = 2;  ///< increasing numbers

  Index free_dim() const { return count; }
  Index dim() const { return count; }

  template <class T>
  T constrain(const T* z, T* x) const {
    using std::exp;
    x[0] = z[0];
    T sum(0);
    for (Index i = 1; i < count; ++i) {
      x[i] = x[i - 1] + exp(z[i]);
      if constexpr (std::floating_point<T>)
        if (x[i] == x[i - 1]) x[i] = detail::next_to(x[i], std::numeric_limits<T>::max());
      sum += z[i];
    }
    return sum;
  }
  template <class T>
  void pullback(const T* z, const T*, const T* g_x, T* g_z) const {
    T above(0);  // x_i moves all that come after
    for (Index i = count - 1; i >= 1; --i) {
      above += g_x[i];
      g_z[i] = above * std::exp(z[i]) + T(1);
    }
    g_z[0] = above + g_x[0];
  }
  void unconstrain(const double* x, double* z) const {
    z[0] = x[0];
    for (Index i = 1; i < count; ++i) {
      if (!(x[i] > x[i - 1]))
        detail::fail("unconstrain", "x is ", x[i], " in entry ", i, " of an ordered vector, but must be larger than ",
                     x[i - 1], " before it");
      z[i] = std::log(x[i] - x[i - 1]);
    }
  }
};

}  // namespace transform

/// `count` positive numbers that add up to 1, from count − 1 free ones.
inline transform::Simplex simplex(Index count) { return {detail::require_count("simplex", count, 2)}; }
/// `count` numbers in increasing order.
inline transform::Ordered ordered(Index count) { return {detail::require_count("ordered", count, 1)}; }

}  // namespace repel
