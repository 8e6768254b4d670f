#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/optim/adam.hpp>
#include <repel/optim/anneal.hpp>
#include <repel/rule/rule.hpp>
#include <repel/space/function_space.hpp>
#include <repel/space/weight_space.hpp>

#include <functional>
#include <utility>

namespace repel {

/// What one step did.
struct StepInfo {
  Index step = 0;        ///< the number of this step, from 1
  double bandwidth = 0;  ///< the kernel's h; 0 for a rule without a kernel
  double driving = 0;    ///< mean over particles of ‖∇ log p‖, annealed
  double repulsion =
      0;  ///< the same of the repulsive part of the direction (for SVGD with d > 16 over 4 to 16 particles)
  Index iterations = 0;  ///< of an iterative solver (score/solver.hpp): products with K; 0 for a dense one
  double residual = 0;   ///< what it reached, relative to the right-hand side
  bool finite = true;    ///< false: a value was NaN, infinite or too large to square, and nothing was moved
  Index particle = -1;   ///< if not finite, the first particle concerned
};

/// All that changes while sampling, as a value: copy it to keep a snapshot, or to run two ways from one place.
template <class P, class Memory, class Workspace>
struct State {
  P particles;          ///< d×n, a particle per column; may be edited between steps, keeping its shape
  Index step = 0;       ///< steps taken so far
  Memory memory;        ///< what the optimiser remembers
  Workspace workspace;  ///< buffers, without meaning between steps
};

/// The buffers of a step: those of the space and those of the rule.
template <class SpaceBuffers, class RuleBuffers>
struct StepBuffers {
  SpaceBuffers space;
  RuleBuffers rule;
};

/// The stepper: a space, an update rule, an optimiser and an annealing schedule. Holds settings (and the user's target)
/// only; everything that moves is in the State. Build it with weight_space() or function_space().
template <class Space, class UpdateRule, class Optim, class Anneal>
class Sampler {
  template <class P>
  using Workspace = StepBuffers<typename Space::template Workspace<P>, WorkspaceOf<UpdateRule, typename P::Scalar>>;

 public:
  template <class P>
  using StateFor = State<P, MemoryOf<Optim, P>, Workspace<P>>;

  Sampler(Space space, UpdateRule rule, Optim optimiser, Anneal annealing)
      : space_(std::move(space)),
        rule_(std::move(rule)),
        optimiser_(std::move(optimiser)),
        annealing_(std::move(annealing)) {
    detail::validate(rule_);
    detail::validate(optimiser_);
    detail::validate(annealing_);
  }

  /// The state at step 0. Any dense Eigen matrix with a particle per column will do, and the state keeps its type.
  template <class Derived>
  auto init(const Eigen::MatrixBase<Derived>& particles) const {
    static_assert(Real<typename Derived::Scalar>, "repel: particles must be a matrix of float or double");
    using P = typename Derived::PlainObject;
    P copy = particles;
    detail::require_points(Space::name, "particles", copy);
    auto memory = optimiser_.init(copy);
    Workspace<P> workspace{space_.init(copy), {}};
    return StateFor<P>{std::move(copy), 0, std::move(memory), std::move(workspace)};
  }

  /// Moves the particles once. Where a value is not usable nothing moves, and the info says so; where an exception is
  /// thrown (by the user's target, or for bad input) nothing has moved either.
  template <class P, class Memory, class Buffers>
  StepInfo step(State<P, Memory, Buffers>& state) {
    static_assert(std::same_as<State<P, Memory, Buffers>, StateFor<P>>,
                  "repel: this state was made by a sampler with another rule or optimiser; use the init() of the one "
                  "that steps it");
    auto& [particles, steps, memory, workspace] = state;
    auto& force = workspace.space.force;
    StepInfo info{.step = steps + 1};
    const auto usable = [&info](const auto& values) {
      if (detail::all_usable(values)) return true;
      info.finite = false;
      info.particle = detail::first_unusable_column(values);
      return false;
    };

    space_.begin_step(steps);
    space_.evaluate(particles, workspace.space);
    if (const double factor = annealing_(steps); factor != 1) force *= static_cast<typename P::Scalar>(factor);
    const auto& positions = space_.positions(particles, workspace.space);
    if (!usable(positions) || !usable(force)) return info;

    const Forces forces = apply_rule(positions, workspace);
    info.bandwidth = forces.bandwidth;
    info.driving = forces.driving;
    info.repulsion = forces.repulsion;
    info.iterations = forces.solve.iterations;
    info.residual = forces.solve.residual;
    const auto& direction = space_.pull_back(particles, workspace.space);
    if (!usable(direction)) return info;

    optimiser_.update(memory, steps + 1, direction, particles);
    ++steps;
    return info;
  }

 private:
  /// The rule's direction, with the space's way back from where the kernel looks, if it has one.
  template <class Z, class Buffers>
  Forces apply_rule(const Z& positions, Buffers& w) {
    if constexpr (requires { space_.pull_from_view(w.space, w.space.phi); }) {
      const auto pull = [&](const auto& v) -> const auto& { return space_.pull_from_view(w.space, v); };
      if constexpr (requires { rule_.direction(positions, w.space.force, w.rule, w.space.phi, pull); }) {
        return rule_.direction(positions, w.space.force, w.rule, w.space.phi, pull);
      } else {
        if (!space_.looks_at_outputs())
          detail::fail(Space::name,
                       "the kernel does not look at the model's outputs themselves, but the rule's direction() ",
                       "has no fifth argument, the way back from where it looks (see rule/rule.hpp)");
        return rule_.direction(positions, w.space.force, w.rule, w.space.phi);
      }
    } else {
      return rule_.direction(positions, w.space.force, w.rule, w.space.phi);
    }
  }

  Space space_;
  UpdateRule rule_;
  Optim optimiser_;
  Anneal annealing_;
};

namespace detail {

template <class Space, class T, class UpdateRule, class Optim, class Anneal>
auto make_sampler(T&& target, UpdateRule rule, Optim optimiser, Anneal annealing) {
  static_assert(assert_rule<UpdateRule>());
  static_assert(assert_optimiser<Optim>());
  static_assert(Annealing<Anneal>, "repel: annealing must be callable with a step and return the factor, a double");
  return Sampler<Space, UpdateRule, Optim, Anneal>(Space(std::forward<T>(target)), std::move(rule),
                                                   std::move(optimiser), std::move(annealing));
}

}  // namespace detail

/// A sampler on the particles themselves.
///
///   target      writes ∇ log p of every particle: target(w, g), both d×n; std::ref(target) is kept by reference
///   rule        Wgd{…}, Svgd{…}, Map{}
///   optimiser   Adam{…}, Sgd{…}, AdaGrad{…}, RmsProp{…}
///   annealing   a factor on the driving force per step (anneal.hpp); none by default
template <class T, class UpdateRule, class Optim = Adam, class Anneal = anneal::Constant>
auto weight_space(T&& target, UpdateRule rule, Optim optimiser = {}, Anneal annealing = {}) {
  return detail::make_sampler<WeightSpace<std::unwrap_ref_decay_t<T>>>(std::forward<T>(target), std::move(rule),
                                                                       std::move(optimiser), std::move(annealing));
}

/// A sampler on the outputs of the particles, as functions, at a set of points: the direction is formed there and
/// pulled back to each particle by its own Jacobian  (paper, Eq. "rep_update_fw").
///
///   model       predict, score and pullback (see space/function_space.hpp); std::ref(model) is kept by reference
///   rule        Wgd{Kde{…}} is kde-fWGD, Svgd{…} is f-SVGD, and so on: the rules are those of weight space
///   optimiser, annealing   as in weight_space
template <class M, class UpdateRule, class Optim = Adam, class Anneal = anneal::Constant>
auto function_space(M&& model, UpdateRule rule, Optim optimiser = {}, Anneal annealing = {}) {
  return detail::make_sampler<FunctionSpace<std::unwrap_ref_decay_t<M>>>(std::forward<M>(model), std::move(rule),
                                                                         std::move(optimiser), std::move(annealing));
}

}  // namespace repel
