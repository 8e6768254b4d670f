// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/optim/optimiser.hpp>

#include <cmath>
#include <concepts>
#include <numbers>
#include <type_traits>
#include <utility>

// Schedules of the learning rate: a factor on it for each step of the state, counted from 0. Any callable from a step
// to a factor will do:
//
//   Scheduled{Adam{.learning_rate = 0.1}, schedule::Cosine{.steps = 5000}}
//   Scheduled{Adam{}, schedule::product(schedule::WarmUp{.steps = 100}, schedule::Cosine{.steps = 5000})}
//   Scheduled{Sgd{}, [](repel::Index step) { return 1 / (1 + 0.01 * static_cast<double>(step)); }}

namespace repel::schedule {

/// From 1 to `last` over `steps` steps along half a cosine, then `last`  (Loshchilov & Hutter 2017, without restarts).
struct Cosine {
  Index steps;      ///< until the last factor
  double last = 0;  ///< the last factor

  void validate() const {
    if (steps < 1) detail::fail("schedule::Cosine", "steps is ", steps, ", but must be at least 1");
    detail::require_non_negative("schedule::Cosine", "last", last);
  }
  double operator()(Index step) const {
    if (step >= steps) return last;
    const double t = static_cast<double>(step) / static_cast<double>(steps);
    return last + (1 - last) * (1 + std::cos(std::numbers::pi * t)) / 2;
  }
};

/// A further `factor` after each `every` steps.
struct Step {
  Index every;          ///< steps
  double factor = 0.1;  ///< each time

  void validate() const {
    if (every < 1) detail::fail("schedule::Step", "every is ", every, ", but must be at least 1");
    detail::require_positive("schedule::Step", "factor", factor);
  }
  double operator()(Index step) const { return std::pow(factor, static_cast<double>(step / every)); }
};

/// From 1/steps to 1 in a straight line over the first `steps` steps, then 1.
struct WarmUp {
  Index steps;  ///< until the factor is 1

  void validate() const {
    if (steps < 1) detail::fail("schedule::WarmUp", "steps is ", steps, ", but must be at least 1");
  }
  double operator()(Index step) const {
    return step + 1 >= steps ? 1 : static_cast<double>(step + 1) / static_cast<double>(steps);
  }
};

/// Two factors at once; see product().
template <class A, class B>
struct Product {
  A a;  ///< a factor
  B b;  ///< another

  void validate() const {
    detail::validate(a);
    detail::validate(b);
  }
  double operator()(Index step) const { return a(step) * b(step); }
};

/// The product of two schedules or more, all of which count the state's steps.
template <class A, class B>
Product<A, B> product(A a, B b) {
  return {std::move(a), std::move(b)};
}
/// The product of three schedules and more.
template <class A, class B, class C, class... More>
auto product(A a, B b, C c, More... more) {
  return product(product(std::move(a), std::move(b)), std::move(c), std::move(more)...);
}

}  // namespace repel::schedule

namespace repel {

/// A factor on the learning rate for every step.
template <class S>
concept Schedule = requires(const S& schedule) {
  { schedule(Index{0}) } -> std::convertible_to<double>;
};

namespace detail {

/// An update with a factor on the learning rate. A wrapper of another optimiser has a member update_scaled() that
/// passes the factor on; any other one is copied, with its member learning_rate changed.
template <class O, class Memory, class Phi, class P>
void update_scaled(const O& optimiser, double factor, Memory& memory, Index step, const Phi& phi, P& particles) {
  if constexpr (requires { optimiser.update_scaled(factor, memory, step, phi, particles); }) {
    optimiser.update_scaled(factor, memory, step, phi, particles);
  } else {
    static_assert(
        requires(O & copy) { copy.learning_rate *= factor; },
        "repel::Scheduled: the optimiser must have a member learning_rate, which the schedule's factor multiplies");
    O scaled = optimiser;
    scaled.learning_rate *= factor;
    scaled.update(memory, step, phi, particles);
  }
}

}  // namespace detail

/// An optimiser whose learning rate follows a schedule. It remembers what the optimiser itself remembers, so that a
/// state and a checkpoint go on with or without it. The optimiser is any with a member `learning_rate`, or a wrapper of
/// such a one; it is copied at every step.
template <class Optim, class Sched>
struct Scheduled {
  static_assert(Schedule<Sched>, "repel::Scheduled: a schedule must be callable with a step and return a factor");
  Optim inner{};     ///< the optimiser
  Sched schedule{};  ///< of its learning rate

  void validate() const {
    detail::validate(inner);
    detail::validate(schedule);
  }

  template <class P>
  auto init(const P& particles) const {
    return inner.init(particles);
  }

  template <class Memory, class Phi, class P>
  void update(Memory& memory, Index step, const Phi& phi, P& particles) const {
    update_scaled(1, memory, step, phi, particles);
  }

  template <class Memory, class Phi, class P>
  void update_scaled(double factor, Memory& memory, Index step, const Phi& phi, P& particles) const {
    const double own = schedule(step - 1);
    if (!(own >= 0 && std::isfinite(own)))
      detail::fail("Scheduled", "the schedule's factor for step ", step, " is ", own,
                   ", but must be finite and at least 0");
    detail::update_scaled(inner, factor * own, memory, step, phi, particles);
  }

  template <class Memory, class Scalar>
  void step_sizes(const Memory& memory, Index step, Index first, Index count, double factor, Scalar* out) const {
    inner.step_sizes(memory, step, first, count, factor * schedule(step - 1), out);
  }
};
template <class Optim, class Sched>
Scheduled(Optim, Sched) -> Scheduled<Optim, Sched>;

}  // namespace repel
