// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/hmc/chains.hpp>
#include <repel/hmc/leapfrog.hpp>
#include <repel/hmc/result.hpp>
#include <repel/hmc/state.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

namespace repel {

/// Settings of Hamiltonian Monte Carlo. Step size and mass matrix are found in warm-up.
struct Hmc {
  Index warmup = 500;         ///< iterations used to adapt, then discarded
  Index samples = 500;        ///< iterations after it, per chain
  Index leapfrog_steps = 20;  ///< on average: each trajectory takes 1 to 2 · leapfrog_steps − 1, to avoid resonances
  double target_acceptance = 0.8;  ///< what the step size is adapted to
  Index thin = 1;                  ///< keep every thin-th draw
  std::uint64_t seed = 0;
  bool adapt_mass = true;  ///< false: the identity, where chains move too little in warm-up to tell scales (networks)

  static constexpr const char* name = "hmc";

  void validate() const {
    detail::require_chain_settings("Hmc", *this);
    if (leapfrog_steps < 1 || leapfrog_steps > (Index{1} << 40))
      detail::fail("Hmc", "leapfrog_steps is ", leapfrog_steps, ", but must be at least 1 and at most 2^40");
  }
};

namespace detail {

/// One trajectory of every chain, of the same number of steps for all, accepted or not.
template <class P>
struct HmcMove {
  Trajectories<P> trajectories;

  template <class Target>
  void operator()(Target& target, const Hmc& settings, const HmcState<P>& s, Moved<P>& moved) {
    const auto step = static_cast<std::uint64_t>(s.step);
    Random random(stream_seed(settings.seed, step, 1));
    const auto steps = 1 + static_cast<Index>(random.uniform() * static_cast<double>(2 * settings.leapfrog_steps - 1));
    trajectories.run(Hmc::name, target, s, settings.seed, step, steps);
    const Trajectories<P>& t = trajectories;
    moved.gradients = steps * s.particles.cols();
    for (Index c = 0; c < s.particles.cols(); ++c) {
      const double chance = t.acceptance(c);
      const bool accepted = random.uniform() < chance;
      if (std::isnan(chance)) ++moved.divergences;
      moved.acceptance(c) = std::isnan(chance) ? 0 : chance;
      moved.particles.col(c) = accepted ? t.position.col(c) : s.particles.col(c);
      moved.gradient.col(c) = accepted ? t.slope.col(c) : s.gradient.col(c);
      moved.log_density(c) = accepted ? t.log_density(c) : s.log_density(c);
    }
  }
};

}  // namespace detail

/// Hamiltonian Monte Carlo on several chains at once (hmc/chains.hpp). Has init and step like a Sampler, so run() and its
/// observers work, and checkpoints; hmc() does everything in one call.
template <class Target>
class HmcSampler : public detail::ChainSampler<Target, Hmc, detail::HmcMove> {
 public:
  using detail::ChainSampler<Target, Hmc, detail::HmcMove>::ChainSampler;
};
template <class Target>
HmcSampler(Target, Hmc) -> HmcSampler<Target>;

/// Runs HMC from the columns of `initial`, one chain each, and keeps the draws after warm-up. Observers are passed
/// as in run(); if one stops the run, the draws so far are returned.
///
///   target   target(w, g) and target.log_density(w, values): a Bnn's target(), or with_log_density(…)
template <class T, class Derived, class... Observers>
HmcResult<typename Derived::Scalar> hmc(T&& target, const Eigen::MatrixBase<Derived>& initial, const Hmc& settings = {},
                                        Observers&&... observers) {
  return detail::run_chains(HmcSampler<std::unwrap_ref_decay_t<T>>(std::forward<T>(target), settings), initial,
                            std::forward<Observers>(observers)...);
}

}  // namespace repel
