// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/random.hpp>
#include <repel/diagnostics/check.hpp>
#include <repel/diagnostics/rank_uniformity.hpp>

#include <cmath>
#include <cstdint>
#include <string>

// Simulation-based calibration (Talts et al. 2018): if parameters are drawn from the prior, data from the model, and L
// draws from the posterior given these data, then the rank of the true parameter among them is uniform on 0 … L. That
// holds for any model and needs no truth beyond the model itself; where it fails, the posterior sampler is wrong (or
// the three functions do not describe the same model).
//
//   const auto report = repel::diagnostics::sbc(
//       [](repel::Random& random) { return Eigen::VectorXd{{random.normal()}}; },                     // prior
//       [](const auto& w, repel::Random& random) { return w(0) + 0.5 * random.normal(); },            // model
//       [](double y, std::uint64_t seed) { … return draws; });                                        // d×L
//   std::cout << report.verdict();
//
// What it does not see: whether the model suits your data; failures at data that the prior seldom produces; errors that
// leave every parameter's marginal right (test functions of the parameters as well: append them to the prior's draw and
// to the posterior's); a sampler that ignores the data and returns the prior, which is calibrated, too.
//
// Ranks assume independent draws. Those of a Markov chain must be thinned to about independence, or the extreme ranks
// become too frequent (a ∪-shaped histogram, as from a posterior that is too narrow). Particles that repel each other
// may be used as they are: more even than draws, they leave the ranks of a right posterior about uniform.

namespace repel::diagnostics {

/// Settings of sbc. Bins should divide L + 1, or have different sizes, which the test accounts for.
struct Sbc {
  Index simulations = 200;  ///< data sets, and runs of the sampler
  RankTest ranks{};         ///< how ranks are tested
  std::uint64_t seed = 0;

  void validate() const {
    detail::require_count("diagnostics::Sbc", "simulations", simulations, 2);
    ranks.validate();
  }
};

/// What sbc() finds.
struct SbcReport {
  Eigen::MatrixXi ranks;      ///< d×simulations: how many posterior draws are below the parameter, 0 … draws
  Index draws;                ///< L, the posterior draws of every simulation
  RankUniformity uniformity;  ///< the tests of the ranks

  /// The smallest p-value over all parameters, corrected for their number.
  double p_value() const { return uniformity.p_value; }
  /// The finding, in a sentence.
  const std::string& verdict() const { return uniformity.verdict; }
};

/// Runs simulations of the user's model, one after another, and ranks the true parameters:
///   draw_prior(Random&)             returns the parameters, an Eigen vector of d
///   simulate(parameters, Random&)   returns data of any type
///   posterior_draws(data, seed)     returns a d×L matrix of draws, with the same L ≥ 1 every time
/// Each simulation has a random stream and a seed of its own, so that a single one can be repeated. Ties, for discrete
/// parameters, are broken at random.
template <class Prior, class Simulate, class Posterior>
SbcReport sbc(Prior&& draw_prior, Simulate&& simulate, Posterior&& posterior_draws, const Sbc& settings = {}) {
  constexpr const char* where = "diagnostics::sbc";
  settings.validate();
  SbcReport report{{}, 0, {}};
  for (Index t = 0; t < settings.simulations; ++t) {
    const auto number = static_cast<std::uint64_t>(t);
    Random random(stream_seed(settings.seed, number, 0));
    const auto parameters = draw_prior(random).eval();  // a vector, even if an expression was returned
    const auto data = simulate(parameters, random);
    const auto draws = posterior_draws(data, stream_seed(settings.seed, number, 1)).eval();
    if (t == 0) {
      if (parameters.size() < 1) detail::fail(where, "draw_prior returned no parameters, but must return at least 1");
      if (draws.cols() < 1) detail::fail(where, "posterior_draws returned 0 columns, but must return at least 1 draw");
      report.draws = draws.cols();
      report.ranks.setZero(parameters.size(), settings.simulations);
      if (settings.ranks.bins > report.draws + 1)  // before many costly simulations
        detail::fail(where, "bins is ", settings.ranks.bins, ", but must be at most ", report.draws + 1,
                     ", the number of possible ranks");
    }
    if (parameters.size() != report.ranks.rows())
      detail::fail(where, "draw_prior returned ", parameters.size(), " parameters in simulation ", t,
                   ", but must return ", report.ranks.rows(), " as before");
    if (draws.rows() != report.ranks.rows() || draws.cols() != report.draws)
      detail::fail(where, "posterior_draws returned ", draws.rows(), "x", draws.cols(), " in simulation ", t,
                   ", but must return ", report.ranks.rows(), "x", report.draws);
    Random ties(stream_seed(settings.seed, number, 2));
    for (Index k = 0; k < draws.rows(); ++k) {
      if (!std::isfinite(static_cast<double>(parameters(k))))
        detail::fail(where, "parameter ", k, " of simulation ", t, " is ", parameters(k), ", but must be finite");
      int below = 0, equal = 0;
      for (Index i = 0; i < draws.cols(); ++i) {
        if (std::isnan(static_cast<double>(draws(k, i))))
          detail::fail(where, "draw (", k, ", ", i, ") of simulation ", t, " is nan, but must be a number");
        below += draws(k, i) < parameters(k) ? 1 : 0;
        equal += draws(k, i) == parameters(k) ? 1 : 0;
      }
      report.ranks(k, t) = below + static_cast<int>(ties.uniform() * (equal + 1));
    }
  }
  RankTest ranks = settings.ranks;
  ranks.seed = stream_seed(settings.seed, ranks.seed, 3);
  report.uniformity = rank_uniformity(report.ranks, report.draws, ranks);
  return report;
}

}  // namespace repel::diagnostics
