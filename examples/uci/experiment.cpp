#include "experiment.hpp"

#include "../common/network_samplers.hpp"

#include <repel/bnn.hpp>
#include <repel/hmc.hpp>
#include <repel/metrics.hpp>
#include <repel/repel.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace uci {

namespace {

using repel::Index;

/// The columns of a matrix that an index names.
template <class M>
repel::Matrix<typename M::Scalar> columns(const M& matrix, const std::vector<Index>& index) {
  repel::Matrix<typename M::Scalar> out(matrix.rows(), static_cast<Index>(index.size()));
  for (std::size_t i = 0; i < index.size(); ++i) out.col(static_cast<Index>(i)) = matrix.col(index[i]);
  return out;
}

/// Normal weights such that functions drawn from the prior have about the size `scale` at standardised inputs: a hidden
/// unit before its activation has variance 1, and ReLU leaves half of that.
repel::LayerNormalPrior prior_of(Index inputs, Index hidden, double scale) {
  return {{1 / std::sqrt(static_cast<double>(inputs + 1)), scale * std::sqrt(2 / static_cast<double>(hidden + 2))}};
}

template <class Scalar>
auto posterior_of(const Settings& s, const Dataset& set, std::size_t split, long batch) {
  const repel::Matrix<Scalar> x = columns(set.inputs, set.splits[split].train).template cast<Scalar>(),
                              y = columns(set.targets, set.splits[split].train).template cast<Scalar>();
  return repel::Bnn(repel::Mlp({x.rows(), set.hidden, 1}, repel::Activation::relu), repel::LearnedNoiseLikelihood{},
                    prior_of(x.rows(), set.hidden, s.prior_scale), x, y,
                    repel::Minibatch{.size = batch < x.cols() ? batch : 0, .seed = repel::stream_seed(s.seed, split)},
                    repel::Scaling::standard(x, y));
}

template <class Posterior, class Scalar>
void judge(const Posterior& posterior, const Dataset& set, std::size_t split, const repel::Matrix<Scalar>& particles,
           Outcome& out) {
  const repel::Matrix<Scalar> x = columns(set.inputs, set.splits[split].test).template cast<Scalar>(),
                              y = columns(set.targets, set.splits[split].test).template cast<Scalar>();
  out.rmse = repel::metrics::rmse(posterior.predict(particles, x).mean, y);
  out.log_likelihood = posterior.log_predictive(particles, x, y).mean();
}

Outcome by_nuts(const Settings& s, const Dataset& set, std::size_t split) {
  Outcome out;
  const auto posterior = posterior_of<double>(s, set, split, 0);
  const auto result =
      repel::nuts(posterior.target(), posterior.prior_draws(s.chains, repel::stream_seed(s.seed, split, 1)),
                  repel::Nuts{.warmup = s.warmup, .samples = s.draws, .max_depth = s.depth, .seed = s.seed},
                  repel::ProgressBar(set.name + " " + std::to_string(split) + " NUTS"), repel::StopOnInterrupt{});
  out.message = result.report.message;
  if (!result.report.finished()) return out;
  judge(posterior, set, split, result.draws, out);
  const Eigen::MatrixXd test = columns(set.inputs, set.splits[split].test);
  out.r_hat = repel::diagnose(posterior.outputs(result.draws, test), result.chains).r_hat.maxCoeff();
  out.complete = true;
  return out;
}

Outcome by_particles(const Settings& s, const Dataset& set, std::size_t split, const std::string& method) {
  Outcome out;
  const auto posterior = posterior_of<float>(s, set, split, s.batch);
  const example::NetworkPosterior both{[=] { return repel::AnyTarget<float>(posterior.target()); },
                                       [=] { return repel::AnyModel<float>(posterior.functions()); },
                                       {},
                                       repel::layer_blocks(posterior)};
  const Index points = posterior.inputs().cols(), batches = std::max<Index>(1, points / s.batch);
  const Index steps = s.steps > 0 ? s.steps : std::max<Index>(2000, 40 * batches);
  auto sampler = example::network_sampler(method, both, repel::Adam{.learning_rate = s.learning_rate}, {},
                                          repel::schedule::Cosine{steps});
  const Eigen::MatrixXf start = posterior.prior_draws(s.members, repel::stream_seed(s.seed, split, 1));
  example::Networks state{start, 0, repel::Adam{}.init(start)};
  const repel::Report report =
      repel::run(sampler, state, steps, repel::ProgressBar(set.name + " " + std::to_string(split) + " " + method),
                 repel::StopOnInterrupt{});
  out.message = report.message;
  if (!report.finished()) return out;
  judge(posterior, set, split, state.particles, out);
  if (!example::in_function_space(method)) out.temperature = report.temperature;
  out.complete = true;
  return out;
}

}  // namespace

const std::vector<std::string>& methods() {
  static const std::vector<std::string> all{"DE",          "SVGD",   "kde-WGD",  "sge-WGD", "cal-kde-WGD",
                                            "cal-sge-WGD", "f-SVGD", "kde-fWGD", "NUTS"};
  return all;
}

Outcome run(const Settings& settings, const Dataset& set, std::size_t split, const std::string& method) {
  const auto begin = std::chrono::steady_clock::now();
  Outcome out = method == "NUTS" ? by_nuts(settings, set, split) : by_particles(settings, set, split, method);
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return out;
}

}  // namespace uci
