// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <cmath>

// Annealing of the driving force (D'Angelo & Fortuin 2021): a factor on ∇ log p that starts small, so that the
// repulsion first spreads the particles over the modes. The fourth argument of the samplers' factories; any callable
// from a step (counted from 0) to a factor will do:
//
//   repel::weight_space(target, rule, optimiser, [](repel::Index step) { return step < 100 ? 0.1 : 1.0; });

namespace repel::anneal {

/// γ at every step. γ = 1 is no annealing, γ < 1 a tempered posterior.
struct Constant {
  double gamma = 1;  ///< the factor

  void validate() const { detail::require_non_negative("anneal::Constant", "gamma", gamma); }
  double operator()(Index) const { return gamma; }
};

/// From 0 to γ in a straight line over `steps` steps, then γ.
struct Linear {
  Index steps;       ///< until the factor is γ
  double gamma = 1;  ///< the last factor

  void validate() const {
    if (steps < 2) detail::fail("anneal::Linear", "steps is ", steps, ", but must be at least 2");
    detail::require_non_negative("anneal::Linear", "gamma", gamma);
  }
  double operator()(Index step) const {
    if (step >= steps) return gamma;
    return gamma * static_cast<double>(step) / static_cast<double>(steps - 1);
  }
};

/// γ tanh((1.3 t)^10) for t from 0 to 1 over `steps` steps, then γ: off for the first half, on for the last fifth.
struct Hyper {
  Index steps;        ///< until the factor is γ
  double gamma = 1;   ///< the last factor
  double power = 10;  ///< of the curve; larger is steeper

  void validate() const {
    if (steps < 2) detail::fail("anneal::Hyper", "steps is ", steps, ", but must be at least 2");
    detail::require_non_negative("anneal::Hyper", "gamma", gamma);
    detail::require_positive("anneal::Hyper", "power", power);
  }
  double operator()(Index step) const {
    if (step >= steps) return gamma;
    const double t = static_cast<double>(step) / static_cast<double>(steps - 1);
    return gamma * std::tanh(std::pow(1.3 * t, power));
  }
};

/// γ t^10 with t running from 0 up to 1 in each of `cycles` equal parts of `steps`, then γ.
struct Cyclic {
  Index steps;        ///< in all
  Index cycles = 5;   ///< in these steps
  double gamma = 1;   ///< the largest factor, and the last one
  double power = 10;  ///< of the curve; larger is steeper

  void validate() const {
    if (cycles < 1) detail::fail("anneal::Cyclic", "cycles is ", cycles, ", but must be at least 1");
    if (steps < cycles)
      detail::fail("anneal::Cyclic", "steps is ", steps, ", but must be at least the number of cycles, ", cycles);
    detail::require_non_negative("anneal::Cyclic", "gamma", gamma);
    detail::require_positive("anneal::Cyclic", "power", power);
  }
  double operator()(Index step) const {
    if (step >= steps) return gamma;
    const double t = static_cast<double>(step * cycles % steps) / static_cast<double>(steps);
    return gamma * std::pow(t, power);
  }
};

}  // namespace repel::anneal

namespace repel {

/// A factor on the driving force for every step.
template <class A>
concept Annealing = requires(const A& anneal) {
  { anneal(Index{0}) } -> std::convertible_to<double>;
};

}  // namespace repel
