#pragma once

#include <repel/core/types.hpp>
#include <repel/hmc/diagnostics.hpp>
#include <repel/hmc/sampler.hpp>
#include <repel/run.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace repel {

/// What hmc() returns.
template <class Scalar>
struct HmcResult {
  Matrix<Scalar> draws;  ///< d×(chains · draws per chain), chain after chain
  Index chains = 0;
  Index draws_per_chain = 0;
  Eigen::VectorXd step_size;   ///< found in warm-up, per chain
  Eigen::VectorXd acceptance;  ///< mean over the iterations after warm-up, per chain
  Index divergences = 0;       ///< divergent transitions after warm-up; non-zero means distrust the result
  Index warmup_divergences = 0;
  Diagnostics diagnostics;  ///< split R̂ and effective sample size of every coordinate; NaN for fewer than 4 draws
  Report report;            ///< of the run

  /// The draws of one chain.
  auto chain(Index c) const { return draws.middleCols(c * draws_per_chain, draws_per_chain); }
};

/// Runs HMC from the columns of `initial`, one chain each, and keeps the draws after warm-up. Observers are passed
/// as in run(); if one stops the run, the draws so far are returned.
///
///   target   target(w, g) and target.log_density(w, values): a Bnn's target(), or with_log_density(…)
template <class T, class Derived, class... Observers>
HmcResult<typename Derived::Scalar> hmc(T&& target, const Eigen::MatrixBase<Derived>& initial, const Hmc& settings = {},
                                        Observers&&... observers) {
  using Scalar = typename Derived::Scalar;
  HmcSampler<std::unwrap_ref_decay_t<T>> sampler(std::forward<T>(target), settings);
  auto state = sampler.init(initial);
  const Index chains = state.particles.cols(), room = settings.samples / settings.thin;
  HmcResult<Scalar> out;
  Matrix<Scalar> draws(state.particles.rows(), chains * room);
  Index kept = 0;
  const auto keep = [&](const auto& s, const StepInfo&) {
    const Index after = s.step - settings.warmup;
    if (after < 1 || after % settings.thin != 0 || kept == room) return;
    for (Index c = 0; c < chains; ++c) draws.col(c * room + kept) = s.particles.col(c);
    ++kept;
  };
  out.report = run(sampler, state, settings.warmup + settings.samples, keep, std::forward<Observers>(observers)...);
  if (kept < room) {  // stopped early: close the gaps between the chains
    for (Index c = 1; c < chains; ++c)
      for (Index k = 0; k < kept; ++k) draws.col(c * kept + k) = draws.col(c * room + k);
    draws.conservativeResize(Eigen::NoChange, chains * kept);
  }
  out.draws = std::move(draws);
  out.chains = chains;
  out.draws_per_chain = kept;
  out.step_size = state.step_size;
  const Index after = std::max<Index>(0, state.step - settings.warmup);
  out.acceptance = state.acceptance_sum / static_cast<double>(std::max<Index>(1, after));
  out.divergences = state.divergences;
  out.warmup_divergences = state.warmup_divergences;
  if (kept >= 4)
    out.diagnostics = diagnose(out.draws, chains);
  else  // too few to tell
    out.diagnostics.r_hat = out.diagnostics.effective_samples =
        Eigen::VectorXd::Constant(out.draws.rows(), std::numeric_limits<double>::quiet_NaN());
  return out;
}

}  // namespace repel
