// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/begin_step.hpp>
#include <repel/core/check.hpp>
#include <repel/core/float_mode.hpp>
#include <repel/core/matrix_view.hpp>
#include <repel/core/scratch.hpp>
#include <repel/core/types.hpp>
#include <repel/core/undo.hpp>
#include <repel/linalg/norm.hpp>
#include <repel/linalg/virial.hpp>
#include <repel/optim/adam.hpp>
#include <repel/optim/anneal.hpp>
#include <repel/optim/optimiser.hpp>
#include <repel/rule/langevin.hpp>
#include <repel/rule/rule.hpp>
#include <repel/space/coordinates.hpp>
#include <repel/space/space.hpp>

#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace repel {

/// Why a step moved nothing.
enum class Fault {
  none,
  particles,  ///< the particles, or in function space their outputs, are not finite
  unwritten,  ///< the target or model did not write its gradient
  gradient,   ///< the gradient of the log posterior is not finite
  direction,  ///< the rule's direction is not finite
};

/// What one step did. Norms are averaged over the particles and taken in the space where they interact: of the
/// particles in weight space, of the outputs in function space.
struct StepInfo {
  Index step = 0;          ///< the number of this step, from 1
  double bandwidth = 0;    ///< the kernel's h; 0 for a rule without a kernel
  double driving = 0;      ///< the norm of ∇ log p, annealed
  double repulsion = 0;    ///< of the repulsive part of Φ (for SVGD with Ard or where d > 16: from 4 to 16 particles)
  double direction = 0;    ///< of Φ itself: 0 at a fixed point of the rule
  double noise = 0;        ///< β of Langevin noise (rule/langevin.hpp)
  double temperature = 0;  ///< T: 1 for a sample of the posterior (linalg/virial.hpp), annealing left aside
  Index iterations = 0;    ///< of an iterative solver (linalg/solver.hpp): products with K; 0 for a dense one
  double residual = 0;     ///< what it reached, relative to the right-hand side
  bool finite = true;      ///< false: a value was NaN, infinite or too large to square, and nothing was moved
  Index particle = -1;     ///< if not finite, the first particle affected
  Fault fault = Fault::none;  ///< if not finite, what it was
  /// For observers, until the sampler's next step; empty in a run's Report, and for samplers that do not show them.
  MatrixView gradients{};   ///< ∇ log p, annealed, where the particles interact: d×n in weight space
  MatrixView directions{};  ///< what the optimiser was given, d×n
};

/// All that changes while sampling, as a value: copy it to keep a snapshot, to branch two runs from one point, or to
/// continue under another rule.
template <class P, class Memory>
struct State {
  P particles;     ///< d×n, a particle per column; may be edited between steps, keeping its shape
  Index step = 0;  ///< steps taken so far
  Memory memory;   ///< what the optimiser remembers
};

/// The stepper: a space, an update rule, an optimiser, an annealing schedule and coordinates. Holds settings (and the
/// user's target), and buffers whose contents do not outlive a step; everything that changes is in the State. Build it
/// with weight_space() or function_space().
template <class SpacePolicy, class UpdateRule, class Optim, class Anneal, class Coords = coordinates::AsGiven>
class Sampler {
  static constexpr bool as_given = std::same_as<Coords, coordinates::AsGiven>;

  template <class P>
  struct FramedBuffers {
    Matrix<typename P::Scalar> z, s, phi, back, work;
  };
  template <class P>
  struct Buffers {
    typename SpacePolicy::template Buffers<P> space;
    WorkspaceOf<UpdateRule, typename P::Scalar> rule;
    std::vector<detail::VirialSums> virials;
    std::conditional_t<as_given, Empty, FramedBuffers<P>> framed;
  };
  template <class P>
  struct FindMemory {
    using type = MemoryOf<Optim, P>;
  };
  template <class P>
  requires(!as_given) struct FindMemory<P> {
    using type = detail::FramedMemory<MemoryOf<Optim, Matrix<typename P::Scalar>>, typename P::Scalar>;
  };

 public:
  /// The optimiser's memory for particles of type P.
  template <class P>
  using MemoryFor = typename FindMemory<P>::type;
  /// The state for particles of type P.
  template <class P>
  using StateFor = State<P, MemoryFor<P>>;

  /// Made by weight_space() and function_space().
  Sampler(SpacePolicy space, UpdateRule rule, Optim optimiser, Anneal annealing, Coords coords = {})
      : space_(std::move(space)),
        rule_(std::move(rule)),
        optimiser_(std::move(optimiser)),
        annealing_(std::move(annealing)),
        coordinates_(std::move(coords)) {
    detail::validate(rule_);
    detail::validate(optimiser_);
    detail::validate(annealing_);
    detail::validate(coordinates_);
  }

  /// The state at step 0. Any dense Eigen matrix with a particle per column will do, and the state keeps its type.
  template <class Derived>
  auto init(const Eigen::MatrixBase<Derived>& particles) const {
    static_assert(Real<typename Derived::Scalar>, "repel: particles must be a matrix of float or double");
    using P = typename Derived::PlainObject;
    SpacePolicy::template assert_fits<P>();
    static_assert(Space<SpacePolicy, P, UpdateRule>,
                  "repel: the sampler's space lacks a member; see repel/space/space.hpp");
    P copy = particles;
    detail::require_points(SpacePolicy::name, "particles", copy);
    space_.check();
    if constexpr (as_given) {
      auto memory = optimiser_.init(copy);
      return StateFor<P>{std::move(copy), 0, std::move(memory)};
    } else {
      const Matrix<typename P::Scalar> z = copy;
      const bool whole = Coords::whole && copy.cols() >= 2 * copy.rows();
      MemoryFor<P> memory{optimiser_.init(z), {copy.rows(), whole}};
      return StateFor<P>{std::move(copy), 0, std::move(memory)};
    }
  }

  /// Moves the particles once. If a value is not usable nothing moves, and the info says so; if an exception is thrown
  /// (by the user's target, or for bad input) nothing has moved either. Numbers below the smallest normal one count as
  /// 0 in a step (see FlushDenormals).
  template <class P, class Memory>
  StepInfo step(State<P, Memory>& state) {
    static_assert(
        std::same_as<Memory, MemoryFor<P>>,
        "repel: this state was made by a sampler with another optimiser; use the init() of the one that steps "
        "it, or give both the same optimiser (and coordinates)");
    auto& [particles, steps, memory] = state;
    require_fit(state);
    const FlushDenormals flush;
    auto& buffers = scratch_.template get<Buffers<P>>();
    StepInfo info{.step = steps + 1};

    space_.begin_step(steps);
    detail::begin_step(rule_, steps);
    space_.evaluate(particles, buffers.space);
    auto& force = space_.driving_force(buffers.space);
    info.temperature = detail::temperature_of(space_.places(particles, buffers.space), force, buffers.virials);
    if (const double factor = annealing_(steps); factor != 1) force *= static_cast<typename P::Scalar>(factor);
    const auto& places = space_.places(particles, buffers.space);
    if (!detail::all_usable(places)) return failed(info, Fault::particles, places);
    const detail::Survey driving = detail::survey(force);
    info.driving = driving.mean_norm;
    if (!driving.usable) return failed(info, Fault::gradient, force);

    if constexpr (as_given)
      return move(state, info, buffers);
    else
      return move_in_frame(state, info, buffers);
  }

  /// What it is made of, for samplers built on this one (repel/mpi.hpp).
  struct Parts {
    SpacePolicy& space;   ///< where particles interact
    UpdateRule& rule;     ///< how
    Optim& optimiser;     ///< how a direction becomes a step
    Anneal& annealing;    ///< the factor on the driving force
    Coords& coordinates;  ///< the units
  };
  Parts parts() { return {space_, rule_, optimiser_, annealing_, coordinates_}; }

 private:
  template <class P, class Memory>
  StepInfo move(State<P, Memory>& state, StepInfo info, Buffers<P>& buffers) {
    auto& [particles, steps, memory] = state;
    take(info, space_.interact(rule_, buffers.rule, particles, buffers.space));
    const auto& phi = space_.phi(buffers.space);
    const detail::Survey whole = detail::survey(phi);
    info.direction = whole.mean_norm;
    if (!whole.usable) return failed(info, Fault::direction, phi);
    const P& direction = space_.direction(particles, buffers.space);
    if (static_cast<const void*>(&direction) != static_cast<const void*>(&phi) && !detail::all_usable(direction))
      return failed(info, Fault::direction, direction);

    info.gradients = MatrixView(space_.driving_force(buffers.space));
    info.directions = MatrixView(direction);
    detail::Undo undo(state, backup_);
    optimiser_.update(memory, steps + 1, direction, particles);
    add_noise(memory, steps + 1, particles);
    undo.cancel();
    ++steps;
    return info;
  }

  /// The same, but rule and optimiser see the particles in other coordinates (space/coordinates.hpp).
  template <class P, class Memory>
  StepInfo move_in_frame(State<P, Memory>& state, StepInfo info, Buffers<P>& buffers) {
    auto& [particles, steps, memory] = state;
    auto& force = space_.driving_force(buffers.space);
    auto& [z, s, phi, back, work] = buffers.framed;
    if (steps <= coordinates_.until && detail::renews(steps)) detail::renew(particles, force, memory);
    memory.frame.enter(particles, work, z);
    memory.frame.pull(force, work, s);
    phi.resize(z.rows(), z.cols());
    info.driving = detail::mean_norm(s);
    take(info, rule_.direction(z, s, buffers.rule, phi));
    const detail::Survey whole = detail::survey(phi);
    info.direction = whole.mean_norm;
    if (!whole.usable) return failed(info, Fault::direction, phi);

    memory.frame.push(phi, work, back);
    info.gradients = MatrixView(force);
    info.directions = MatrixView(back);
    detail::Undo undo(state, backup_);
    optimiser_.update(memory.inner, steps + 1, phi, z);
    add_noise(memory.inner, steps + 1, z);
    memory.frame.leave(z, work, particles);
    undo.cancel();
    ++steps;
    return info;
  }

  static void take(StepInfo& info, const RuleInfo& seen) {
    info.bandwidth = seen.bandwidth;
    info.repulsion = seen.repulsion;
    info.iterations = seen.solve.iterations;
    info.residual = seen.solve.residual;
    info.noise = seen.noise;
  }

  template <class Memory, class Z>
  void add_noise(const Memory& memory, Index step, Z& z) const {
    if constexpr (requires { requires UpdateRule::adds_noise; })
      if (rule_.beta > 0) detail::add_noise(optimiser_, memory, step, rule_.beta, rule_.seed, z);
  }

  template <class State>
  static void require_fit(const State& state) {
    const auto& particles = state.particles;
    if (particles.size() == 0)
      detail::fail(SpacePolicy::name, "state.particles is empty, but must be as init() made it");
    if (state.step < 0 || state.step == std::numeric_limits<Index>::max())
      detail::fail(SpacePolicy::name, "state.step is ", state.step,
                   ", but must be at least 0, and leave room for one more");
    const auto check = [&]<class Memory>(const Memory& memory) {
      if constexpr (detail::LikeParticles<Memory>)
        detail::for_each_field(memory, [&](const auto& field) {
          detail::require_same_shape(SpacePolicy::name, "state.particles", particles, "what the optimiser remembers",
                                     field);
        });
    };
    if constexpr (as_given)
      check(state.memory);
    else {
      check(state.memory.inner);
      if (state.memory.frame.centre.size() != particles.rows())
        detail::fail(SpacePolicy::name, "state.particles has ", particles.rows(), " rows, but its coordinates have ",
                     state.memory.frame.centre.size());
    }
  }

  template <class Values>
  static StepInfo failed(StepInfo info, Fault fault, const Values& values) {
    info.finite = false;
    info.particle = detail::first_unusable_column(values);
    info.fault = fault;
    for (Index i = 0; i < values.rows() && info.particle >= 0; ++i)
      if (detail::is_unwritten(values(i, info.particle))) info.fault = Fault::unwritten;
    return info;
  }

  SpacePolicy space_;
  UpdateRule rule_;
  Optim optimiser_;
  Anneal annealing_;
  Coords coordinates_;
  detail::Scratch scratch_, backup_;
};

namespace detail {

template <class SpacePolicy, class UpdateRule, class Optim, class Anneal, class Coords = coordinates::AsGiven>
auto make_sampler(SpacePolicy space, UpdateRule rule, Optim optimiser, Anneal annealing, Coords coords = {}) {
  static_assert(assert_rule<UpdateRule>());
  static_assert(assert_optimiser<Optim>());
  static_assert(Annealing<Anneal>, "repel: annealing must be callable with a step and return the factor, a double");
  return Sampler<SpacePolicy, UpdateRule, Optim, Anneal, Coords>(
      std::move(space), std::move(rule), std::move(optimiser), std::move(annealing), std::move(coords));
}

}  // namespace detail

}  // namespace repel
