// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/hmc/diagnostics.hpp>
#include <repel/run.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace repel {

/// The largest R̂ of chains that are trusted (Vehtari et al. 2021).
inline constexpr double kLargestRHat = 1.01;
/// The smallest effective sample size of chains that are trusted; they must also have no divergences.
inline constexpr double kSmallestSamples = 400;

/// What hmc() and nuts() return.
template <class Scalar>
struct HmcResult {
  Matrix<Scalar> draws;          ///< d×(chains · draws per chain), chain after chain
  Index chains = 0;              ///< as started
  Index draws_per_chain = 0;     ///< kept after warm-up
  Eigen::VectorXd step_size;     ///< found in warm-up, per chain
  Eigen::VectorXd acceptance;    ///< mean over the iterations after warm-up, per chain
  Index divergences = 0;         ///< divergent transitions after warm-up; non-zero means distrust the result
  Index warmup_divergences = 0;  ///< the same during warm-up, where they are harmless
  Index gradients = 0;           ///< gradients of one chain that were evaluated, over all chains, warm-up included
  double depth = 0;  ///< NUTS: the mean depth of the trees after warm-up; a tree takes 2^depth − 1 leapfrog steps
  Index at_max_depth = 0;   ///< NUTS: how many of them were cut off at max_depth; if many, raise it
  Diagnostics diagnostics;  ///< split R̂ and effective sample size of every coordinate; NaN for fewer than 4 draws
  Report report;            ///< of the run; its message ends with a verdict on the draws
  bool trusted = false;     ///< nothing speaks against the draws: see kLargestRHat and kSmallestSamples

  /// The draws of one chain.
  auto chain(Index c) const { return draws.middleCols(c * draws_per_chain, draws_per_chain); }
};

namespace detail {

/// Whether to trust the draws, and why, as an addition to the report's message.
template <class Scalar>
void judge(HmcResult<Scalar>& result) {
  if (result.draws_per_chain < 4) {
    result.report.message += "; there are too few draws to judge";
    return;
  }
  Index worst = 0, fewest = 0;
  const double r_hat = result.diagnostics.r_hat.template maxCoeff<Eigen::PropagateNaN>(&worst),
               samples = result.diagnostics.effective_samples.template minCoeff<Eigen::PropagateNaN>(&fewest);
  std::string against;
  const auto object = [&](const std::string& what) { against.append(against.empty() ? "" : ", ").append(what); };
  if (!result.report.finished()) object("the run was stopped early");
  if (result.chains < 2) object("one chain alone does not show what it has missed (run at least two)");
  if (!(r_hat <= kLargestRHat))
    object(concat("R-hat of coordinate ", worst, " is ", r_hat, " (should be at most ", kLargestRHat, ")"));
  if (!(samples >= kSmallestSamples))
    object(concat("the effective sample size of coordinate ", fewest, " is ", samples, " (should be at least ",
                  kSmallestSamples, ")"));
  if (result.divergences > 0)
    object(
        concat(result.divergences, " divergent transition", result.divergences == 1 ? "" : "s", " (should be none)"));
  result.trusted = against.empty();
  result.report.message += against.empty()
                               ? concat("; the chains agree: largest R-hat ", r_hat,
                                        ", smallest effective sample size ", samples, ", no divergent transitions")
                               : concat("; not to be trusted: ", against, "; docs/chains.md says what to do");
}

/// Runs a sampler of chains from the columns of `initial`, with its settings, and keeps the draws after warm-up.
template <class Sampler, class Derived, class... Observers>
HmcResult<typename Derived::Scalar> run_chains(Sampler sampler, const Eigen::MatrixBase<Derived>& initial,
                                               Observers&&... observers) {
  using Scalar = typename Derived::Scalar;
  const auto& settings = sampler.settings();
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
  const auto after = static_cast<double>(std::max<Index>(1, state.step - settings.warmup));
  out.acceptance = state.acceptance_sum / after;
  out.divergences = state.divergences;
  out.warmup_divergences = state.warmup_divergences;
  out.gradients = state.gradients;
  out.depth = static_cast<double>(state.depth_sum) / (after * static_cast<double>(chains));
  out.at_max_depth = state.at_max_depth;
  if (kept >= 4)
    out.diagnostics = diagnose(out.draws, chains);
  else  // too few to tell
    out.diagnostics.r_hat = out.diagnostics.effective_samples =
        Eigen::VectorXd::Constant(out.draws.rows(), std::numeric_limits<double>::quiet_NaN());
  judge(out);
  return out;
}

}  // namespace detail

}  // namespace repel
