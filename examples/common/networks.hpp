#pragma once

#include "network_samplers.hpp"
#include "options.hpp"
#include "view.hpp"

#include <repel/bnn.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <functional>
#include <limits>
#include <string>
#include <vector>

// What the two examples on Bayesian neural networks share: the paper's list of methods and calibrated ones, run on one
// posterior.

namespace example {

/// In the order of the paper's figures, then what is calibrated: in function space, in weight space. DE is the plain
/// deep ensemble; an f stands for function space.
inline const std::vector<std::string> kNetworkMethods{"HMC",
                                                      "DE",
                                                      "SVGD",
                                                      "f-SVGD",
                                                      "kde-WGD",
                                                      "sge-WGD",
                                                      "ssge-WGD",
                                                      "kde-fWGD",
                                                      "sge-fWGD",
                                                      "ssge-fWGD",
                                                      "cal-kde-fWGD",
                                                      "cal-sge-fWGD",
                                                      "cal-kde-WGD",
                                                      "cal-kde-WGD-coordinates",
                                                      "cal-kde-WGD-layers",
                                                      "cal-sge-WGD"};

/// The size of the HMC run. The paper's is as the tables in README.md have it: in double, from draws of the prior, with an
/// adapted mass matrix. The quick one is the cheapest whose chains agree: in float, from where Adam has taken the draws of
/// the prior, and with the identity as mass matrix, since a short warm-up cannot tell the scales of thousands of weights.
struct HmcSetting {
  long chains, warmup, draws, leapfrog;
};

/// Choices that the paper leaves open, or that its authors' code makes in another way.
struct NetworkOptions : Options {
  std::string prior = "implicit";
  double gp_length = 1;
  double gp_variance = 1;
  long prior_draws = 0;
  std::string view = "outputs";
  std::string points = "batch";
  long extra = 32;
  double box_low = 0, box_high = 0;  ///< of the extra points
  bool extra_only = false;
  double driving = 1;
  double learning_rate = 0;
  long batch = 64;
  long seeds = 1;
  std::vector<std::string> once;
  HmcSetting hmc{0, 0, 0, 0};

  /// Adds the options to the command line.
  void add_to(CLI::App& app);

  /// What was not given by hand.
  void settle(const HmcSetting& quick, const HmcSetting& full) {
    for (const auto field : {&HmcSetting::chains, &HmcSetting::warmup, &HmcSetting::draws, &HmcSetting::leapfrog})
      if (hmc.*field == 0) hmc.*field = (paper ? full : quick).*field;
  }
};

/// One of the library's function priors, chosen at run time.
struct ChosenPrior {
  std::string name;
  repel::ImplicitPrior<> implicit{};
  repel::GpPrior<> gp{{{1.0}}};

  template <class Scalar>
  struct Workspace {
    repel::ImplicitPrior<>::Workspace<Scalar> implicit;
    repel::GpPrior<>::Workspace<Scalar> gp;
  };
  void validate() const {
    implicit.validate();
    gp.validate();
  }
  template <class At, class F, class G, class Work>
  void add_score(At& at, const F& f, G& g, Work& work) const {
    if (name == "implicit") implicit.add_score(at, f, g, work.implicit);
    if (name == "gp") gp.add_score(at, f, g, work.gp);
  }
};

/// The same for the points.
struct ChosenPoints {
  std::string name;
  repel::UniformPoints uniform{};
  repel::NoisyPoints noise{};

  void check(repel::Index inputs) const {
    if (name == "uniform") uniform.check(inputs);
  }
  repel::Index count(repel::Index batch) const {
    return name == "uniform" ? uniform.count(batch) : name == "noise" ? noise.count(batch) : 0;
  }
  template <class Batch, class X>
  void fill(std::uint64_t seed, const Batch& batch, X&& x) const {
    if (name == "uniform") uniform.fill(seed, batch, x);
    if (name == "noise") noise.fill(seed, batch, x);
  }
};

/// Where a method ended: a column per network.
struct Ensemble {
  std::string method;
  Eigen::MatrixXd particles;
  repel::Index steps;
  double seconds;
  double temperature;                                       ///< T, in the space where the method works
  bool first;                                               ///< of the seeds: the one that is drawn
  double r_hat = std::numeric_limits<double>::quiet_NaN();  ///< HMC: the largest split R̂ of the outputs
};

/// What run_network_methods needs to know of a posterior.
struct Problem {
  NetworkPosterior posterior;                                      ///< for the particle methods
  repel::AnyTarget<double> whole;                                  ///< for HMC, on all data
  repel::AnyTarget<float> whole_in_float;                          ///< the same, for its quick setting
  repel::Matrix<float> start;                                      ///< the initial particles
  Eigen::MatrixXd chains;                                          ///< and chains
  std::function<Eigen::MatrixXd(const Eigen::MatrixXd&)> outputs;  ///< of weights, on a grid
};

/// The problem with initial particles of a seed; `posterior` has the same for its minibatches.
template <class Posterior32, class Posterior64>
Problem make_problem(const NetworkOptions& o, std::uint64_t seed, const Posterior32& posterior,
                     const Posterior64& whole, const Eigen::MatrixXd& grid) {
  using namespace repel;
  const auto inputs = static_cast<std::size_t>(whole.network().inputs());
  const ChosenPrior prior{
      o.prior, {Ssge{}, o.prior_draws}, {Rbf{FixedBandwidth{2 * o.gp_length * o.gp_length}}, o.gp_variance, 1e-2}};
  const ChosenPoints points{
      o.points, {std::vector<double>(inputs, o.box_low), std::vector<double>(inputs, o.box_high), o.extra}, {1.0}};
  const auto functions = [=] {
    if constexpr (Posterior32::has_probabilities)
      if (o.view == "probability-space") return AnyModel<float>(posterior.probability_functions(prior, points));
    return AnyModel<float>(posterior.functions(prior, points));
  };
  const Bnn in_float(posterior.network(), posterior.likelihood(), posterior.prior(), posterior.inputs(),
                     posterior.targets());
  return {{[=] { return AnyTarget<float>(posterior.target()); },
           functions,
           {.probabilities = o.view == "probabilities", .added_only = o.extra_only},
           layer_blocks(whole.network())},
          AnyTarget<double>(whole.target()),
          AnyTarget<float>(in_float.target()),
          posterior.prior_draws(o.particles, seed),
          whole.prior_draws(o.hmc.chains, seed),
          [=](const Eigen::MatrixXd& w) { return whole.outputs(w, grid); }};
}

/// Runs the chosen methods on one posterior; the particle methods in float, from several seeds if the options say so,
/// HMC once, on all data; it says so if its chains disagree. Ctrl-C ends the method in hand and skips the rest.
std::vector<Ensemble> run_network_methods(const NetworkOptions& options,
                                          const std::function<Problem(std::uint64_t)>& problem_of_seed);

}  // namespace example
