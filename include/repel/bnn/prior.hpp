// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/network.hpp>
#include <repel/core/check.hpp>
#include <repel/core/normal_density.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <vector>

// Priors over weights: independent normals with mean 0. A prior is a value with
//   double sd(Index layer, Index particle) const      the standard deviation of the parameters of that layer
//   check(layers)                                     optional: throws if the prior does not fit that many layers

namespace repel {

/// A prior over weights: the standard deviation of a layer's parameters in a particle.
template <class P>
concept WeightPrior = requires(const P& prior, Index i) {
  { prior.sd(i, i) } -> std::convertible_to<double>;
};

/// N(0, sd² I), the same for all.
struct NormalPrior {
  double standard_deviation = 1;  ///< of every parameter

  void validate() const { detail::require_positive("NormalPrior", "standard_deviation", standard_deviation); }
  double sd(Index /*layer*/, Index /*particle*/) const { return standard_deviation; }
};

/// A standard deviation per layer.
struct LayerNormalPrior {
  std::vector<double> standard_deviations;  ///< an entry per layer

  void validate() const {
    for (const double sd : standard_deviations)
      detail::require_positive("LayerNormalPrior", "a standard deviation", sd);
  }
  void check(Index layers) const {
    if (static_cast<Index>(standard_deviations.size()) != layers)
      detail::fail("LayerNormalPrior", "standard_deviations has ", standard_deviations.size(),
                   " entries, but must have one per layer: ", layers);
  }
  double sd(Index layer, Index /*particle*/) const { return standard_deviations[static_cast<std::size_t>(layer)]; }
};

/// A standard deviation per particle: members of a hyper-deep ensemble. If there are fewer entries than particles
/// they repeat cyclically: particle j has entry j modulo their number. Under hmc() each chain then has its own
/// posterior; the implicit prior of function space is the mixture.
struct ParticleNormalPrior {
  std::vector<double> standard_deviations;  ///< an entry per particle

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

/// g += ∇ log p(w) of one particle.
template <class Prior, class W, class G>
void add_prior_score(const std::vector<ParameterBlock>& blocks, const Prior& prior, Index particle, const W& w, G&& g) {
  using Scalar = typename W::Scalar;
  for (const ParameterBlock& block : blocks) {
    const double sd = prior.sd(block.layer, particle);
    g.segment(block.first, block.count) -= w.segment(block.first, block.count) * static_cast<Scalar>(1 / (sd * sd));
  }
}

template <class Prior, class W>
double prior_log_density(const std::vector<ParameterBlock>& blocks, const Prior& prior, Index particle, const W& w) {
  double sum = 0;
  for (const ParameterBlock& block : blocks)
    sum += log_normal_density(w.segment(block.first, block.count).template cast<double>().squaredNorm(),
                              prior.sd(block.layer, particle), static_cast<double>(block.count));
  return sum;
}

/// Columns of w ← draws from the prior, the same for any number of threads.
template <class Prior, class Scalar>
void draw_prior(const std::vector<ParameterBlock>& blocks, const Prior& prior, std::uint64_t seed, Matrix<Scalar>& w) {
  parallel_for(w.cols(), 20 * static_cast<double>(w.rows()), [&](Index j) {
    fill_normal<Scalar>(stream_seed(seed, static_cast<std::uint64_t>(j)), w.col(j));
    for (const ParameterBlock& block : blocks)
      if (const double sd = prior.sd(block.layer, j); sd != 1)
        w.col(j).segment(block.first, block.count) *= static_cast<Scalar>(sd);
  });
}

}  // namespace detail

/// Weights drawn from the prior, parameters×count.
template <class Scalar = double, class N, WeightPrior Prior>
Matrix<Scalar> prior_draws(const N& network, const Prior& prior, Index count, std::uint64_t seed) {
  if (count < 1) detail::fail("prior_draws", "count is ", count, ", but must be at least 1");
  detail::validate(prior);
  if constexpr (requires { prior.check(Index{1}); }) prior.check(layers_of(network));
  Matrix<Scalar> w(network.parameters(), count);
  detail::draw_prior(network.blocks(), prior, seed, w);
  return w;
}

/// He's normal initialisation, for layers followed by ReLU: weights from N(0, 2/inputs of the layer), biases 0.
/// parameters×count, the same for any number of threads.
template <class Scalar = double, class N>
Matrix<Scalar> he_draws(const N& network, Index count, std::uint64_t seed) {
  if (count < 1) detail::fail("he_draws", "count is ", count, ", but must be at least 1");
  Matrix<Scalar> w(network.parameters(), count);
  const std::vector<ParameterBlock> blocks = network.blocks();
  detail::parallel_for(count, 20 * static_cast<double>(w.rows()), [&](Index j) {
    fill_normal<Scalar>(stream_seed(seed, static_cast<std::uint64_t>(j)), w.col(j));
    for (const ParameterBlock& block : blocks)
      w.col(j).segment(block.first, block.count) *=
          block.bias ? Scalar(0) : static_cast<Scalar>(std::sqrt(2 / static_cast<double>(block.fan_in)));
  });
  return w;
}

/// Weights as PyTorch initialises a linear layer (Kaiming's uniform rule with a = √5): weights and biases uniform
/// within ±1/√inputs of the layer. parameters×count.
template <class Scalar = double, class N>
Matrix<Scalar> pytorch_draws(const N& network, Index count, std::uint64_t seed) {
  if (count < 1) detail::fail("pytorch_draws", "count is ", count, ", but must be at least 1");
  Matrix<Scalar> w(network.parameters(), count);
  for (Index j = 0; j < count; ++j) {
    Random random(stream_seed(seed, static_cast<std::uint64_t>(j)));
    for (const ParameterBlock& block : network.blocks()) {
      const double bound = 1 / std::sqrt(static_cast<double>(block.fan_in));
      for (Index i = block.first; i < block.first + block.count; ++i)
        w(i, j) = static_cast<Scalar>(bound * (2 * random.uniform() - 1));
    }
  }
  return w;
}

}  // namespace repel
