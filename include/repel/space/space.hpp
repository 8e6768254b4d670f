// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>
#include <repel/rule/rule.hpp>

#include <concepts>

// Spaces: where the particles interact. In weight space that is at the particles themselves, in function space at their
// outputs. Seen from the sampler a space is a class with
//
//   static constexpr const char* name                  for error messages
//   template <class P> using Buffers                   what a step needs for particles of type P
//   assert_fits<P>()                                   says at compile time if the user's target does not fit P
//   check()                                            throws if the user's target or model cannot work
//   begin_step(step)                                   tells the user's target or model of a step
//   evaluate(particles, b)                             forms the places and the driving force s = ∇ log p there
//   places(particles, b)                               where the particles are, for the check that all is finite
//   driving_force(b)                                   s, which may be scaled by annealing
//   interact(rule, workspace, particles, b)            lets the rule form Φ and says what it saw
//   phi(b)                                             Φ
//   direction(particles, b)                            Φ as a direction of the particles, d×n
//
// in this order. Buffers are the sampler's, and hold nothing that the next step needs.

namespace repel {

/// Where particles interact.
template <class S, class P, class R>
concept Space = requires(S& space, const R& rule, const P& particles, typename S::template Buffers<P>& b,
                         WorkspaceOf<R, typename P::Scalar>& workspace) {
  { S::name } -> std::convertible_to<const char*>;
  S::template assert_fits<P>();
  space.check();
  space.begin_step(Index{0});
  space.evaluate(particles, b);
  space.places(particles, b).cols();
  space.driving_force(b) *= typename P::Scalar(1);
  { space.interact(rule, workspace, particles, b) } -> std::convertible_to<RuleInfo>;
  space.phi(b).cols();
  { space.direction(particles, b) } -> std::convertible_to<const P&>;
};

}  // namespace repel
