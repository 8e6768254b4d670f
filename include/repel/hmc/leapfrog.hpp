// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/hmc/state.hpp>
#include <repel/hmc/target.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

// The parts of Hamiltonian dynamics that HMC and NUTS share: momenta, energies, the leapfrog integrator. The mass matrix
// is diagonal, the inverse of the state's variances; H = −log p(q) + ½ pᵀ diag(variances) p.

namespace repel::detail {

/// An energy that is lost, or not finite, by this much ends a trajectory: the integrator has diverged (Betancourt 2017).
inline constexpr double kDivergence = 1000;

inline void require_values(const char* where, const Vector<double>& values, Index chains) {
  if (values.size() != chains)
    fail(where, "log_density wrote ", values.size(), " values, but must write one per chain: ", chains);
}

/// Whether the gradient of one chain is finite and small enough to square, for any storage order.
template <class P>
bool usable_column(const P& m, Index c) {
  return m.col(c).array().abs().template maxCoeff<Eigen::PropagateNaN>() <= largest_coordinate<typename P::Scalar>();
}

/// The momentum of a chain, N(0, M): a function of seed, stream and chain alone.
template <class Column>
void draw_momentum(std::uint64_t seed, std::uint64_t stream, Index chain, const Vector<double>& variances,
                   Vector<double>& draw, Column&& momentum) {
  using Scalar = typename std::remove_cvref_t<Column>::Scalar;
  draw.resize(variances.size());
  fill_normal<double>(stream_seed(seed, stream, static_cast<std::uint64_t>(chain) + 2), draw);
  momentum = (draw.array() / variances.array().sqrt()).template cast<Scalar>();
}

template <class Column>
double kinetic_energy(const Vector<double>& variances, const Column& momentum) {
  return 0.5 * (variances.array() * momentum.template cast<double>().array().square()).sum();
}

/// The two halves of the leapfrog integrator for a column, with a step that may be negative, to go back in time.
template <class Momentum, class Slope>
void kick(double step, const Slope& slope, Momentum&& momentum) {
  momentum += static_cast<typename std::remove_cvref_t<Momentum>::Scalar>(step) * slope;
}
template <class Position, class Momentum>
void drift(double step, const Vector<double>& variances, const Momentum& momentum, Position&& position) {
  using Scalar = typename std::remove_cvref_t<Position>::Scalar;
  position.array() += static_cast<Scalar>(step) * variances.array().template cast<Scalar>() * momentum.array();
}

/// Trajectories of all chains, of the same number of steps.
template <class P>
struct Trajectories {
  P position, momentum, slope;  ///< at the end
  Vector<double> log_density;   ///< there
  Vector<double> acceptance;    ///< min(1, exp(−ΔH)), or NaN for a divergence
  Vector<double> draw;

  template <class Target>
  void run(const char* where, Target& target, const HmcState<P>& s, std::uint64_t seed, std::uint64_t stream,
           Index steps) {
    const Index n = s.particles.cols();
    acceptance.resize(n);
    momentum.resize(s.particles.rows(), n);
    resize_unwritten(log_density, n, 1);
    for (Index c = 0; c < n; ++c) {
      draw_momentum(seed, stream, c, s.variances, draw, momentum.col(c));
      acceptance(c) = s.log_density(c) - kinetic_energy(s.variances, momentum.col(c));  // −H at the start
    }
    position = s.particles;
    slope = s.gradient;
    for (Index c = 0; c < n; ++c) kick(0.5 * s.step_size(c), slope.col(c), momentum.col(c));
    for (Index l = 1; l <= steps; ++l) {
      for (Index c = 0; c < n; ++c) drift(s.step_size(c), s.variances, momentum.col(c), position.col(c));
      if (l < steps)
        target(std::as_const(position), slope);
      else
        evaluate(target, std::as_const(position), slope, log_density);
      require_same_shape(where, "the gradient written by the target", slope, "the chains", s.particles);
      for (Index c = 0; c < n; ++c) kick((l < steps ? 1 : 0.5) * s.step_size(c), slope.col(c), momentum.col(c));
    }
    require_values(where, log_density, n);
    for (Index c = 0; c < n; ++c) {
      const double gain = log_density(c) - kinetic_energy(s.variances, momentum.col(c)) - acceptance(c);
      const bool kept = gain > -kDivergence && std::isfinite(gain) && usable_column(slope, c);
      acceptance(c) = kept ? std::min(1.0, std::exp(gain)) : std::numeric_limits<double>::quiet_NaN();
    }
  }
};

}  // namespace repel::detail
