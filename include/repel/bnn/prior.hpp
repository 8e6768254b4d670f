#pragma once

#include <repel/bnn/mlp.hpp>
#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <vector>

// Priors over weights: independent normals with mean 0. A prior is a value with
//   double sd(Index layer, Index particle) const      the standard deviation of the parameters of that layer
//   check(network)                                    optional: throws where the prior does not fit the network

namespace repel {

template <class P>
concept WeightPrior = requires(const P& prior, Index i) {
  { prior.sd(i, i) } -> std::convertible_to<double>;
};

/// N(0, sd² I), the same for all.
struct NormalPrior {
  double standard_deviation = 1;

  void validate() const { detail::require_positive("NormalPrior", "standard_deviation", standard_deviation); }
  double sd(Index /*layer*/, Index /*particle*/) const { return standard_deviation; }
};

/// A standard deviation per layer.
struct LayerNormalPrior {
  std::vector<double> standard_deviations;

  void validate() const {
    for (const double sd : standard_deviations)
      detail::require_positive("LayerNormalPrior", "a standard deviation", sd);
  }
  void check(const Mlp& network) const {
    if (standard_deviations.size() != network.layers().size())
      detail::fail("LayerNormalPrior", "standard_deviations has ", standard_deviations.size(),
                   " entries, but must have one per layer: ", network.layers().size());
  }
  double sd(Index layer, Index /*particle*/) const { return standard_deviations[static_cast<std::size_t>(layer)]; }
};

/// A standard deviation per particle: members of a hyper-deep ensemble. With fewer entries than particles they are
/// dealt out in turn: particle j has entry j modulo their number. Under hmc()
/// every chain has its own posterior then; the implicit prior of function space is the mixture.
struct ParticleNormalPrior {
  std::vector<double> standard_deviations;

  void validate() const {
    if (standard_deviations.empty())
      detail::fail("ParticleNormalPrior", "standard_deviations is empty, but needs at least 1 entry");
    for (const double sd : standard_deviations)
      detail::require_positive("ParticleNormalPrior", "a standard deviation", sd);
  }
  double sd(Index /*layer*/, Index particle) const {
    return standard_deviations[static_cast<std::size_t>(particle) % standard_deviations.size()];
  }
};

namespace detail {

/// Calls f(first, count, sd) for the parameters of every layer.
template <class Prior, class F>
void for_each_layer(const Mlp& network, const Prior& prior, Index particle, const F& f) {
  for (std::size_t l = 0; l < network.layers().size(); ++l) {
    const Mlp::Layer& layer = network.layers()[l];
    f(layer.weights, (layer.in + 1) * layer.out, prior.sd(static_cast<Index>(l), particle));
  }
}

/// g += ∇ log p(w) of one particle.
template <class Prior, class W, class G>
void add_prior_score(const Mlp& network, const Prior& prior, Index particle, const W& w, G&& g) {
  using Scalar = typename W::Scalar;
  for_each_layer(network, prior, particle, [&](Index first, Index count, double sd) {
    g.segment(first, count) -= w.segment(first, count) * static_cast<Scalar>(1 / (sd * sd));
  });
}

template <class Prior, class W>
double prior_log_density(const Mlp& network, const Prior& prior, Index particle, const W& w) {
  double sum = 0;
  for_each_layer(network, prior, particle, [&](Index first, Index count, double sd) {
    sum -= 0.5 * w.segment(first, count).template cast<double>().squaredNorm() / (sd * sd) +
           static_cast<double>(count) * (std::log(sd) + 0.5 * std::log(2 * std::numbers::pi));
  });
  return sum;
}

/// Columns of w ← draws from the prior, the same for any number of threads.
template <class Prior, class Scalar>
void draw_prior(const Mlp& network, const Prior& prior, std::uint64_t seed, Matrix<Scalar>& w) {
  parallel_for(w.cols(), 20 * static_cast<double>(w.rows()), [&](Index j) {
    fill_normal<Scalar>(stream_seed(seed, static_cast<std::uint64_t>(j)), w.col(j));
    for_each_layer(network, prior, j, [&](Index first, Index count, double sd) {
      if (sd != 1) w.col(j).segment(first, count) *= static_cast<Scalar>(sd);
    });
  });
}

}  // namespace detail

/// Weights drawn from the prior, parameters×count.
template <class Scalar = double, WeightPrior Prior>
Matrix<Scalar> prior_draws(const Mlp& network, const Prior& prior, Index count, std::uint64_t seed) {
  if (count < 1) detail::fail("prior_draws", "count is ", count, ", but must be at least 1");
  detail::validate(prior);
  if constexpr (requires { prior.check(network); }) prior.check(network);
  Matrix<Scalar> w(network.parameters(), count);
  detail::draw_prior(network, prior, seed, w);
  return w;
}

/// Weights as PyTorch initialises a linear layer (Kaiming's uniform rule with a = √5): weights and biases uniform
/// within ±1/√inputs of the layer. parameters×count.
template <class Scalar = double>
Matrix<Scalar> pytorch_draws(const Mlp& network, Index count, std::uint64_t seed) {
  if (count < 1) detail::fail("pytorch_draws", "count is ", count, ", but must be at least 1");
  Matrix<Scalar> w(network.parameters(), count);
  for (Index j = 0; j < count; ++j) {
    Random random(stream_seed(seed, static_cast<std::uint64_t>(j)));
    for (const Mlp::Layer& layer : network.layers()) {
      const double bound = 1 / std::sqrt(static_cast<double>(layer.in));
      for (Index i = layer.weights; i < layer.biases + layer.out; ++i)
        w(i, j) = static_cast<Scalar>(bound * (2 * random.uniform() - 1));
    }
  }
  return w;
}

}  // namespace repel
