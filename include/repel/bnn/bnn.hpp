// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/batch.hpp>
#include <repel/bnn/ensemble.hpp>
#include <repel/bnn/forecaster.hpp>
#include <repel/bnn/functions.hpp>
#include <repel/bnn/likelihood.hpp>
#include <repel/bnn/network.hpp>
#include <repel/bnn/points.hpp>
#include <repel/bnn/prior.hpp>
#include <repel/bnn/scaling.hpp>
#include <repel/bnn/target.hpp>
#include <repel/core/check.hpp>
#include <repel/core/minibatch.hpp>
#include <repel/core/types.hpp>
#include <repel/space/function_prior.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace repel {

/// A Bayesian neural network: network (bnn/network.hpp), likelihood, prior and data. An immutable value, cheap to copy
/// (the data are shared), that provides what the samplers need.
template <class N, class L, WeightPrior Prior, Real S>
class Bnn {
 public:
  using Network = N;     ///< the network's type
  using Likelihood = L;  ///< the likelihood's type
  using Scalar = S;      ///< float or double, as the data
  static constexpr bool has_probabilities = L::has_probabilities;
  using Targets = typename L::template Targets<Scalar>;

  /// inputs: a point per column. targets: a column per point as well; labels, and targets of a single output, may also
  /// be a plain vector. minibatch: how many points each step sees. scaling: standardises the data (bnn/scaling.hpp).
  template <class X, class Y>
  Bnn(N network, L likelihood, Prior prior, const Eigen::MatrixBase<X>& inputs, const Eigen::MatrixBase<Y>& targets,
      Minibatch minibatch = {}, Scaling scaling = {})
      : network_(std::move(network)),
        likelihood_(std::move(likelihood)),
        prior_(std::move(prior)),
        minibatch_(minibatch),
        scaling_(std::move(scaling)) {
    static_assert(
        repel::Network<N, S>,
        "repel::Bnn: the first argument must be a network, with inputs(), outputs(), parameters(), blocks(), a "
        "nested Tape<Scalar>, forward(w, x, tape, f) and backward(w, x, tape, v, g); see repel/bnn/network.hpp");
    using Target = typename Targets::Scalar;
    static_assert(std::is_integral_v<typename Y::Scalar> || !std::is_integral_v<Target>,
                  "repel::Bnn: this likelihood takes labels, integers from 0 on, but the targets are real numbers: "
                  "convert them by y.cast<int>()");
    auto data = std::make_shared<Data>();
    data->inputs = inputs;
    if constexpr (Y::ColsAtCompileTime == 1) {
      data->targets = targets.transpose().template cast<Target>();
    } else {
      if (Targets::RowsAtCompileTime == 1 && targets.rows() != 1)
        detail::fail("Bnn", "targets has ", targets.rows(), " rows, but must have 1: a label per point");
      data->targets = targets.template cast<Target>();
    }
    detail::require_points("Bnn", "inputs", data->inputs);
    if (data->inputs.rows() != network_.inputs())
      detail::fail("Bnn", "inputs has ", data->inputs.rows(), " rows, but must have ", network_.inputs(),
                   ", the inputs of the network");
    if (data->targets.cols() != data->inputs.cols())
      detail::fail("Bnn", "targets has ", data->targets.cols(), " columns, but must have ", data->inputs.cols(),
                   " like inputs, one per point");
    (void)BatchIndices(minibatch_, data->inputs.cols());  // refuses what does not fit
    detail::validate(likelihood_);
    likelihood_.check(data->targets, network_.outputs());
    scale(*data);
    detail::validate(prior_);
    if constexpr (requires { prior_.check(Index{1}); }) prior_.check(layers_of(network_));
    data->blocks = network_.blocks();
    data_ = std::move(data);
  }

  /// The network.
  const N& network() const { return network_; }
  /// The network's parameters, in blocks of a layer's weights or biases.
  const std::vector<ParameterBlock>& blocks() const { return data_->blocks; }
  /// The likelihood.
  const L& likelihood() const { return likelihood_; }
  /// The prior over weights.
  const Prior& prior() const { return prior_; }
  const Matrix<Scalar>& inputs() const { return data_->inputs; }  ///< scaled, as the targets are
  /// The training targets, standardised if there is a Scaling.
  const Targets& targets() const { return data_->targets; }
  /// Size and seed of the minibatches.
  const Minibatch& minibatch() const { return minibatch_; }
  /// How inputs and targets are standardised.
  const Scaling& scaling() const { return scaling_; }
  const Augmentation<Scalar>& augmentation() const { return augment_; }  ///< empty: none

  /// The same posterior, whose steps see points that were changed (bnn/batch.hpp): for classifiers of pictures
  ///
  ///   posterior.augmented([](std::uint64_t seed, auto&& picture) { if (seed & 1) flip(picture); })
  ///
  /// Points are as the network sees them, scaled. Predictions are of points as they are given.
  Bnn augmented(Augmentation<Scalar> augment) const {
    Bnn out = *this;
    out.augment_ = std::move(augment);
    return out;
  }

  /// The length of a particle: the network's parameters, then the likelihood's if it has any.
  Index dim() const { return network_.parameters() + likelihood_parameters(); }
  /// The number of the likelihood's own parameters, the last rows of a particle.
  Index likelihood_parameters() const { return repel::likelihood_parameters(likelihood_, network_.outputs()); }

  /// For weight_space(): ∇_w log p(w | D).
  BnnTarget<Bnn> target() const { return BnnTarget<Bnn>(*this); }

  /// For function_space(): the outputs at the batch and their posterior. `prior` is over functions
  /// (space/function_prior.hpp), `points` says where else functions are compared (bnn/points.hpp). The defaults are the
  /// paper's.
  template <class FunctionPrior = ImplicitPrior<>, class Points = BatchPoints>
  BnnFunctions<Bnn, FunctionPrior, Points> functions(FunctionPrior prior = {}, Points points = {}) const {
    return functions_of(std::move(prior), std::move(points), FunctionsAre::outputs);
  }

  /// The same in probability space: a classifier's functions are its class probabilities, and likelihood, prior and
  /// kernel act on them.
  template <class FunctionPrior = ImplicitPrior<>, class Points = BatchPoints>
  BnnFunctions<Bnn, FunctionPrior, Points> probability_functions(FunctionPrior prior = {}, Points points = {}) const {
    static_assert(
        has_probabilities,
        "repel::Bnn::probability_functions: the likelihood has no class probabilities: it needs a classifier");
    return functions_of(std::move(prior), std::move(points), FunctionsAre::probabilities);
  }

  /// Initial particles, drawn from the prior.
  Matrix<Scalar> prior_draws(Index count, std::uint64_t seed) const {
    return complete(repel::prior_draws<Scalar>(network_, prior_, count, seed), seed);
  }

  /// Initial particles from weights of the network, such as pytorch_draws(): with rows for the likelihood's parameters,
  /// drawn from their prior, where there are any.
  Matrix<Scalar> complete(const Matrix<Scalar>& weights, std::uint64_t seed) const {
    if (weights.rows() != network_.parameters())
      detail::fail("Bnn::complete", "weights has ", weights.rows(), " rows, but must have ", network_.parameters(),
                   ", the parameters of the network");
    if (likelihood_parameters() == 0) return weights;
    Matrix<Scalar> particles(dim(), weights.cols());
    particles.topRows(weights.rows()) = weights;
    detail::draw_likelihood(likelihood_, network_.outputs(), seed, particles);
    return particles;
  }

  /// The outputs of every particle at other points: (outputs p)×n, a column per particle.
  Matrix<Scalar> outputs(const Matrix<Scalar>& particles, const Matrix<Scalar>& points) const {
    detail::require_points("Bnn", "particles", particles);
    return forecaster().outputs("Bnn", particles, points);
  }

  /// The Bayesian model average at other points: RegressionPrediction or CategoricalPrediction.
  typename L::template Prediction<Scalar> predict(const Matrix<Scalar>& particles, const Matrix<Scalar>& points) const {
    detail::require_points("Bnn", "particles", particles);
    return forecaster().predict("Bnn", particles, points);
  }

  /// log 1/n Σ_particles p(y | x, particle) for every point: the log density of the mixture that the ensemble is, in the
  /// data's own units. Its mean over a test set is the test log-likelihood.
  template <class Y>
  Vector<double> log_predictive(const Matrix<Scalar>& particles, const Matrix<Scalar>& points,
                                const Eigen::MatrixBase<Y>& targets) const {
    detail::require_points("Bnn", "particles", particles);
    return forecaster().log_predictive("Bnn", particles, points, targets.template cast<typename Targets::Scalar>());
  }

 private:
  struct Data {
    Matrix<Scalar> inputs;
    Targets targets;
    std::vector<ParameterBlock> blocks;
  };

  detail::Forecaster<N, L, Scalar> forecaster() const { return {network_, likelihood_, scaling_}; }

  void scale(Data& data) const {
    scaling_.check(data.inputs.rows(), data.targets.rows());
    scaling_.scale_inputs(data.inputs);
    if constexpr (detail::scales_targets<L>()) {
      scaling_.scale_targets(data.targets);
    } else if (scaling_.scales_targets()) {
      detail::fail("Bnn",
                   "scaling has a target_mean, but must not: this likelihood's targets are no numbers on a "
                   "scale; use Scaling::standard_inputs(x)");
    }
  }

  template <class FunctionPrior, class Points>
  BnnFunctions<Bnn, FunctionPrior, Points> functions_of(FunctionPrior prior, Points points, FunctionsAre are) const {
    static_assert(
        !requires { prior.count(Index{1}); } && requires { points.count(Index{1}); },
        "repel::Bnn::functions: the arguments are a prior over functions, then the points where functions are "
        "compared: functions(ImplicitPrior{}, UniformPoints{...}); what the kernel sees is function_space()'s view");
    return BnnFunctions<Bnn, FunctionPrior, Points>(*this, std::move(prior), std::move(points), are);
  }

  N network_;
  L likelihood_;
  Prior prior_;
  Minibatch minibatch_;
  Scaling scaling_;
  Augmentation<Scalar> augment_;
  std::shared_ptr<const Data> data_;
};
template <class N, class Likelihood, class Prior, class X, class Y>
Bnn(N, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&)
    -> Bnn<N, Likelihood, Prior, typename X::Scalar>;
template <class N, class Likelihood, class Prior, class X, class Y>
Bnn(N, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&, Minibatch)
    -> Bnn<N, Likelihood, Prior, typename X::Scalar>;
template <class N, class Likelihood, class Prior, class X, class Y>
Bnn(N, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&, Minibatch, Scaling)
    -> Bnn<N, Likelihood, Prior, typename X::Scalar>;

/// How many parameters each layer has, and the likelihood last if it has any: for Calibration::blocks.
template <class N, class L, class Prior, class S>
std::vector<Index> layer_blocks(const Bnn<N, L, Prior, S>& posterior) {
  std::vector<Index> sizes = layer_blocks(posterior.network());
  if (posterior.likelihood_parameters() > 0) sizes.push_back(posterior.likelihood_parameters());
  return sizes;
}

}  // namespace repel
