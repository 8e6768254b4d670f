// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/random.hpp>
#include <repel/core/types.hpp>

#include <concepts>
#include <utility>

// Likelihoods: how likely the observed targets are, given the network's outputs. The ones that come with repel are in
// regression_likelihoods.hpp and classification_likelihoods.hpp; own_likelihood.hpp makes one from a log density alone.
//
// A likelihood is a value with
//   template <class Scalar> using Targets     the type of the observations, one column per point
//   template <class Scalar> using Prediction  what the ensemble says about a point
//   static constexpr bool has_probabilities   whether the softmax of the outputs means anything
//   check(y, outputs)                         throws if the observations do not fit a network with that many outputs
//   score(f, y)                               f ← ∇_f Σ log p(y | f), in place; f is outputs×p
//   score_of_probabilities(p, y)              if has_probabilities: the same as a function of the probabilities
//   log_density(f, y)                         Σ log p(y | f) over the points
//   summarise(F, outputs, prediction)         the ensemble's prediction, from the members' outputs: (outputs p)×n
//
// and, where targets are numbers on a scale that does not matter, so that they may be standardised (scaling.hpp),
//   static constexpr bool scales_targets = true
//
// A likelihood may have parameters θ of its own, such as a noise level that is learned. They are the last rows of a
// particle, after the network's, and it then has
//   parameters(outputs)                       how many there are
//   draw(random, θ)                           θ ← a draw from their prior
//   prior_log_density(θ), add_prior_score(θ, g)    their prior: log p(θ), and g += ∇ log p(θ)
// and the members above with θ among their arguments:
//   score(f, y, θ, g)                         also g ← ∇_θ Σ log p(y | f, θ)
//   log_density(f, y, θ)
//   summarise(F, outputs, Θ, prediction)      Θ has a column per member

namespace repel {

/// A likelihood with parameters of its own, the last rows of a particle.
template <class L>
concept LikelihoodWithParameters = requires(const L& likelihood) {
  { likelihood.parameters(Index{1}) } -> std::convertible_to<Index>;
};

/// How many parameters of its own a likelihood has for a network with that many outputs.
template <class L>
Index likelihood_parameters(const L& likelihood, Index outputs) {
  if constexpr (LikelihoodWithParameters<L>)
    return likelihood.parameters(outputs);
  else
    return 0;
}

namespace detail {

template <class L>
constexpr bool scales_targets() {
  if constexpr (requires { L::scales_targets; })
    return L::scales_targets;
  else
    return false;
}

/// f ← ∇_f, and g ← ∇_θ for a likelihood that has parameters.
template <class L, class F, class Y, class Theta, class G>
void likelihood_score(const L& likelihood, F& f, const Y& y, const Theta& theta, G&& g) {
  if constexpr (LikelihoodWithParameters<L>)
    likelihood.score(f, y, theta, g);
  else
    likelihood.score(f, y);
}

template <class L, class F, class Y, class Theta>
double likelihood_log_density(const L& likelihood, const F& f, const Y& y, const Theta& theta) {
  if constexpr (LikelihoodWithParameters<L>)
    return likelihood.log_density(f, y, theta);
  else
    return likelihood.log_density(f, y);
}

template <class L, class F, class Theta, class Prediction>
void summarise(const L& likelihood, const F& f, Index outputs, const Theta& thetas, Prediction& out) {
  if constexpr (LikelihoodWithParameters<L>)
    likelihood.summarise(f, outputs, thetas, out);
  else
    likelihood.summarise(f, outputs, out);
}

template <class L, class Theta>
double likelihood_prior(const L& likelihood, const Theta& theta) {
  if constexpr (LikelihoodWithParameters<L>)
    return likelihood.prior_log_density(theta);
  else
    return 0;
}

template <class L, class Theta, class G>
void add_likelihood_prior_score(const L& likelihood, const Theta& theta, G&& g) {
  if constexpr (LikelihoodWithParameters<L>) likelihood.add_prior_score(theta, g);
}

/// The last rows of w ← draws from the prior of the likelihood's parameters, if it has any.
template <class L, class Scalar>
void draw_likelihood(const L& likelihood, Index outputs, std::uint64_t seed, Matrix<Scalar>& w) {
  if constexpr (LikelihoodWithParameters<L>) {
    const Index count = likelihood.parameters(outputs);
    for (Index j = 0; j < w.cols(); ++j) {
      Random random(stream_seed(seed, static_cast<std::uint64_t>(j), 1));
      auto theta = w.col(j).tail(count);
      likelihood.draw(random, theta);
    }
  }
}

}  // namespace detail

}  // namespace repel
