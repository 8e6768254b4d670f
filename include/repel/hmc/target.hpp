// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace repel {

/// A target for HMC and NUTS from two functions of a d×n batch: gradient(w, g) as for weight_space(), and
/// log_density(w, values), which writes log p of every column, up to a common constant.
template <class Gradient, class LogDensity>
struct TargetWithDensity {
  Gradient gradient;   ///< as gradient(w, g)
  LogDensity density;  ///< as density(w, values)

  /// Writes the gradient of every particle into g.
  template <class W, class G>
  void operator()(const W& w, G& g) {
    static_assert(std::invocable<Gradient&, const W&, G&>,
                  "repel::with_log_density: the gradient must be callable as gradient(w, g), where w and g are d x n");
    gradient(w, g);
  }
  template <class W>
  void log_density(const W& w, Vector<double>& values) {
    static_assert(
        std::invocable<LogDensity&, const W&, Vector<double>&>,
        "repel::with_log_density: the log density must be callable as log_density(w, values), where w is d x n "
        "and values a Vector<double> that receives log p of every column; it returns nothing");
    density(w, values);
  }
};
/// A target from gradient(w, g) and log_density(w, values), for hmc(), nuts() and check_gradient().
template <class Gradient, class LogDensity>
TargetWithDensity<std::decay_t<Gradient>, std::decay_t<LogDensity>> with_log_density(Gradient&& gradient,
                                                                                     LogDensity&& log_density) {
  return {std::forward<Gradient>(gradient), std::forward<LogDensity>(log_density)};
}

/// A target that knows its log density as well as its gradient.
template <class T, class P>
concept HmcTarget = requires(T& target, const P& w, P& g, Vector<double>& values) {
  target(w, g);
  target.log_density(w, values);
};

namespace detail {

/// Gradients and log densities at once: in one call if the target has value_and_gradient(w, g, values), which NUTS makes
/// once per leapfrog step, else in two.
template <class T, class W, class G>
void evaluate(T& target, const W& w, G& g, Vector<double>& values) {
  if constexpr (requires { target.value_and_gradient(w, g, values); }) {
    target.value_and_gradient(w, g, values);
  } else {
    target(w, g);
    target.log_density(w, values);
  }
}

}  // namespace detail

}  // namespace repel
