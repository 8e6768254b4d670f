// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/begin_step.hpp>
#include <repel/core/check.hpp>
#include <repel/core/float_mode.hpp>
#include <repel/core/matrix_view.hpp>
#include <repel/core/scratch.hpp>
#include <repel/core/share.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/steady_sum.hpp>
#include <repel/mpi/communicator.hpp>
#include <repel/mpi/exchange.hpp>
#include <repel/mpi/state.hpp>
#include <repel/sampler.hpp>
#include <repel/space/coordinates.hpp>
#include <repel/space/function_space.hpp>
#include <repel/space/weight_space.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace repel::mpi {

/// The sampler of one process among several; made by spread().
template <class S>
class Spread {
  static_assert(sizeof(S) == 0,
                "repel::mpi::spread: a sampler made by weight_space() or function_space() is expected here; chains of "
                "HMC and NUTS are spread by their target, hmc(mpi::divided(target, comm), …), and what is behind an "
                "AnySampler cannot be spread");
};

/// What spread() makes of a sampler of weight_space() or function_space().
template <class SpacePolicy, class UpdateRule, class Optim, class Anneal, class Coords>
class Spread<Sampler<SpacePolicy, UpdateRule, Optim, Anneal, Coords>> {
  using Inner = Sampler<SpacePolicy, UpdateRule, Optim, Anneal, Coords>;
  using Places = detail::SpreadPlaces<SpacePolicy>;
  static constexpr bool as_given = std::same_as<Coords, coordinates::AsGiven>;
  static constexpr bool needs_scores = !as_given || !detail::uses_own_score_only<UpdateRule>();

  template <class P>
  struct Buffers {
    using M = Matrix<typename P::Scalar>;
    typename SpacePolicy::template Buffers<P> own, all;
    P particles;              ///< of all processes, in weight space
    P moved;                  ///< in other coordinates
    M annealed;               ///< s of the own particles, times the annealing's factor
    M z, s, phi, back, work;  ///< of all, in other coordinates
    WorkspaceOf<UpdateRule, typename P::Scalar> rule;
    detail::Figures figures;
  };

 public:
  /// The state of particles of type P.
  template <class P>
  using StateFor = State<P, typename Inner::template MemoryFor<P>>;

  /// See spread().
  Spread(Inner sampler, MPI_Comm comm, const Options& options)
      : sampler_(std::move(sampler)),
        comm_(std::make_shared<detail::Communicator>(comm, options)),
        team_(std::make_unique<detail::MpiTeam>(comm_)) {}

  /// The number of this process, from 0.
  int process() const { return comm_->rank(); }
  int processes() const { return comm_->size(); }
  /// For observers and files of many processes.
  detail::Communicator& communicator() const { return *comm_; }

  /// The state at step 0 from the particles of this process, of which there may be none.
  template <class Derived>
  auto init(const Eigen::MatrixBase<Derived>& particles) {
    using P = typename Derived::PlainObject;
    static_assert(Real<typename Derived::Scalar>, "repel: particles must be a matrix of float or double");
    static_assert(!P::IsRowMajor || P::ColsAtCompileTime == 1,
                  "repel::mpi::spread: particles must be stored by columns (Eigen's default): they travel as columns");
    static_assert(
        P::ColsAtCompileTime == Eigen::Dynamic,
        "repel::mpi::spread: the number of particles must be a run-time number (Eigen::Dynamic columns): every "
        "process has some of them");
    SpacePolicy::template assert_fits<P>();
    P own = particles;
    std::exception_ptr error;
    try {
      if (own.cols() > 0) detail::require_points(SpacePolicy::name, "particles", own);
      sampler_.parts().space.check();
    } catch (...) {
      error = std::current_exception();
    }
    const auto& all = comm_->agree({.rows = own.cols() > 0 ? own.rows() : 0, .columns = own.cols()}, error);
    State<P, typename Inner::template MemoryFor<P>> state = blank<P>(all);
    if (own.cols() > 0) state.particles = std::move(own);
    return state;
  }

  /// Moves the particles of all processes once. What the sampler's own step() says of faults and exceptions is true here of
  /// all processes: if a value is not usable in one of them, or if an exception is thrown there, no particle moves anywhere,
  /// and all say so.
  template <class P, class Memory>
  StepInfo step(State<P, Memory>& state) {
    static_assert(
        std::same_as<Memory, typename Inner::template MemoryFor<P>>,
        "repel: this state was made by a sampler with another optimiser; use the init() of the one that steps "
        "it, or give both the same optimiser (and coordinates)");
    const FlushDenormals flush;
    auto& b = scratch_.template get<Buffers<P>>();
    StepInfo info{.step = state.step + 1};
    if (!evaluate(state, b, info)) return info;
    std::exception_ptr error;
    detail::FoundFault fault;
    const P* direction = nullptr;
    try {
      const detail::UseTeam use(team_.get());
      direction = &interact(state, b, info, fault);
    } catch (const LostProcess&) {
      throw;
    } catch (...) {
      error = std::current_exception();
    }
    b.figures.exchange(*comm_, state.counts, fault, error);
    if (fault.fault != Fault::none) return failed(info, fault);
    b.figures.summarise(Places::of_all(b).rows(), info);
    try {
      move(state, b, *direction, info);
    } catch (...) {
      comm_->agree({.step = state.step}, std::current_exception());  // the others hear of it at their next agreement
    }
    ++state.step;
    return info;
  }

  /// All particles, d×n, in every process.
  template <class P, class Memory>
  Matrix<typename P::Scalar> gather(const State<P, Memory>& state) const {
    return gather_columns(state, state.particles);
  }

  /// A matrix with a column per own particle, of all processes.
  template <class P, class Memory, class M>
  Matrix<typename M::Scalar> gather_columns(const State<P, Memory>& state, const M& own) const {
    Matrix<typename M::Scalar> all(own.rows(), state.share.total);
    all.middleCols(state.share.first, own.cols()) = own;
    detail::gather_columns(*comm_, state.counts, all, "the particles");
    return all;
  }

  /// A state without anything in it yet, for this process or for another one.
  template <class P>
  StateFor<P> blank(Index rows, std::vector<Index> counts, std::size_t process) {
    Share share;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      if (r < process) share.first += counts[r];
      share.total += counts[r];
    }
    P particles = P::Zero(rows, counts[process]);
    auto& optimiser = sampler_.parts().optimiser;
    if constexpr (as_given) {
      auto memory = optimiser.init(particles);
      return {std::move(particles), 0, std::move(memory), std::move(counts), share};
    } else {
      const Matrix<typename P::Scalar> z = particles;
      const bool whole = Coords::whole && share.total >= 2 * rows;
      typename Inner::template MemoryFor<P> memory{optimiser.init(z), {rows, whole}};
      return {std::move(particles), 0, std::move(memory), std::move(counts), share};
    }
  }

 private:
  template <class P>
  StateFor<P> blank(const std::vector<detail::Notice>& all) {
    Index rows = 0;
    std::vector<Index> counts;
    for (std::size_t r = 0; r < all.size(); ++r) {
      counts.push_back(static_cast<Index>(all[r].columns));
      if (all[r].columns == 0) continue;
      if (rows == 0) rows = static_cast<Index>(all[r].rows);
      if (all[r].rows != rows)
        detail::fail("mpi::spread", "the particles of process ", r, " have ", all[r].rows, " rows, but must have ",
                     rows, " like those of the processes before it");
    }
    if (rows == 0) detail::fail("mpi::spread", "there are 0 particles in all processes together, but must be some");
    return blank<P>(rows, std::move(counts), static_cast<std::size_t>(comm_->rank()));
  }

  static StepInfo failed(StepInfo info, const detail::FoundFault& found) {
    info.finite = false;
    info.particle = found.particle;
    info.fault = found.fault;
    return info;
  }

  /// The own particles' places and driving forces, and those of all processes that the rule needs. False: there is a fault.
  template <class P, class Memory>
  bool evaluate(State<P, Memory>& state, Buffers<P>& b, StepInfo& info) {
    auto parts = sampler_.parts();
    const Index own = state.particles.cols();
    detail::Notice notice{.step = state.step, .rows = state.particles.rows(), .columns = own};
    std::exception_ptr error;
    detail::FoundFault fault;
    try {
      if (own != state.counts[static_cast<std::size_t>(comm_->rank())])
        detail::fail("mpi::spread", "state.particles has ", own, " columns, but must have ",
                     state.counts[static_cast<std::size_t>(comm_->rank())], ", as init() made it");
      parts.space.take_share(state.share);
      detail::take_share(parts.optimiser, state.share);
      parts.space.begin_step(state.step);
      detail::begin_step(parts.rule, state.step);
      if (own > 0) {
        parts.space.evaluate(state.particles, b.own);
        const auto& places = parts.space.places(state.particles, b.own);
        notice.places = places.rows();
        b.annealed = parts.space.driving_force(b.own);
        if (const double factor = parts.annealing(state.step); factor != 1)
          b.annealed *= static_cast<typename P::Scalar>(factor);
        if (!fault.look(places, Fault::particles)) fault.look(b.annealed, Fault::gradient);
      }
    } catch (...) {
      error = std::current_exception();
    }
    notice.fault = fault.code();
    notice.particle = state.share.first + fault.particle;
    const auto& notices = comm_->agree(notice, error);
    fault = detail::first_fault(notices);
    if (fault.fault != Fault::none) {
      info = failed(info, fault);
      return false;
    }
    gather_all(state, b, detail::common_rows(notices));
    return true;
  }

  template <class P, class Memory>
  void gather_all(const State<P, Memory>& state, Buffers<P>& b, Index rows) {
    const Share& share = state.share;
    const Index own = state.particles.cols();
    auto& places = Places::of_all(b);
    auto& force = sampler_.parts().space.driving_force(b.all);
    const bool fits = force.rows() == rows && force.cols() == share.total;
    places.resize(rows, share.total);
    force.resize(rows, share.total);
    if (!fits) force.setZero();  // columns of others that are not exchanged are not used, but must be numbers
    if (own > 0) {
      places.middleCols(share.first, own) = sampler_.parts().space.places(state.particles, b.own);
      force.middleCols(share.first, own) = b.annealed;
    }
    detail::gather_columns(*comm_, state.counts, places, "the particles or outputs");
    if constexpr (needs_scores) detail::gather_columns(*comm_, state.counts, force, "the scores");
    b.figures.begin(places, own, share.first);
    if (own > 0) b.figures.see_scores(places, sampler_.parts().space.driving_force(b.own), b.annealed);
  }

  /// Φ of the own particles as a direction.
  template <class P, class Memory>
  const P& interact(State<P, Memory>& state, Buffers<P>& b, StepInfo& info, detail::FoundFault& fault) {
    auto parts = sampler_.parts();
    const Index first = state.share.first, own = state.particles.cols();
    if constexpr (as_given) {
      take(info, parts.space.interact(parts.rule, b.rule, b.particles, b.all));
      b.own.phi = parts.space.phi(b.all).middleCols(first, own);
      if (own == 0) return state.particles;
      b.figures.see_directions(b.own.phi);
      if (!fault.look(b.own.phi, Fault::direction, first)) {
        const P& direction = parts.space.direction(state.particles, b.own);
        if (static_cast<const void*>(&direction) != static_cast<const void*>(&b.own.phi))
          fault.look(direction, Fault::direction, first);
        return direction;
      }
      return state.particles;
    } else {
      auto& memory = state.memory;
      if (state.step <= parts.coordinates.until && detail::renews(state.step))
        detail::renew(b.particles, b.all.force, memory, [&](const auto& map, auto& m) {  // as wide as without MPI
          b.work.setZero(m.rows(), state.share.total);
          b.work.middleCols(first, own) = m;
          b.work = (map * b.work).eval();
          m = b.work.middleCols(first, own);
        });
      memory.frame.enter(b.particles, b.work, b.z);
      memory.frame.pull(b.all.force, b.work, b.s);
      b.phi.resize(b.z.rows(), b.z.cols());
      take(info, parts.rule.direction(b.z, b.s, b.rule, b.phi));
      memory.frame.push(b.phi, b.work, b.back);
      b.own.phi = b.phi.middleCols(first, own);
      b.annealed = b.s.middleCols(first, own);
      b.figures.see_driving(b.annealed);
      b.figures.see_directions(b.own.phi);
      fault.look(b.own.phi, Fault::direction, first);
      b.moved = b.z.middleCols(first, own);
      b.own.direction = b.back.middleCols(first, own);
      return b.own.direction;
    }
  }

  static void take(StepInfo& info, const RuleInfo& seen) {
    info.bandwidth = seen.bandwidth;
    info.repulsion = seen.repulsion;
    info.iterations = seen.solve.iterations;
    info.residual = seen.solve.residual;
    info.noise = seen.noise;
  }

  template <class P, class Memory>
  void move(State<P, Memory>& state, Buffers<P>& b, const P& direction, StepInfo& info) {
    auto parts = sampler_.parts();
    const Index own = state.particles.cols(), next = state.step + 1;
    if (own == 0) return;
    auto& force = parts.space.driving_force(b.own);
    if (const double factor = parts.annealing(state.step); factor != 1)
      force *= static_cast<typename P::Scalar>(factor);
    info.gradients = MatrixView(force);
    info.directions = MatrixView(direction);
    if constexpr (as_given) {
      parts.optimiser.update(state.memory, next, direction, state.particles);
      add_noise(state.memory, next, state.particles, state.share.first);
    } else {
      Matrix<typename P::Scalar>& z = b.work;
      z = b.moved;
      parts.optimiser.update(state.memory.inner, next, b.own.phi, z);
      add_noise(state.memory.inner, next, z, state.share.first);
      b.z.middleCols(state.share.first, own) = z;  // as wide as without MPI
      state.memory.frame.leave(b.z, b.work, b.particles);
      state.particles = b.particles.middleCols(state.share.first, own);
    }
  }

  template <class Memory, class Z>
  void add_noise(const Memory& memory, Index step, Z& z, Index first) {
    auto parts = sampler_.parts();
    if constexpr (requires { requires UpdateRule::adds_noise; })
      if (parts.rule.beta > 0)
        detail::add_noise(parts.optimiser, memory, step, parts.rule.beta, parts.rule.seed, z, first);
  }

  Inner sampler_;
  std::shared_ptr<detail::Communicator> comm_;
  std::unique_ptr<detail::MpiTeam> team_;
  detail::Scratch scratch_;
};

/// Spreads the particles of a sampler over the processes of `comm`. Collective, as are init(), step(), run() and gather().
template <class S>
Spread<S> spread(S sampler, MPI_Comm comm = MPI_COMM_WORLD, const Options& options = {}) {
  return Spread<S>(std::move(sampler), comm, options);
}

}  // namespace repel::mpi
