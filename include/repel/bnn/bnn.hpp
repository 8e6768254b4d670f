#pragma once

#include <repel/bnn/ensemble.hpp>
#include <repel/bnn/functions.hpp>
#include <repel/bnn/minibatch.hpp>
#include <repel/bnn/network.hpp>
#include <repel/bnn/points.hpp>
#include <repel/bnn/prior.hpp>
#include <repel/bnn/target.hpp>
#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/space/function_prior.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace repel {

/// A Bayesian neural network: network (bnn/network.hpp), likelihood, prior and data. An immutable value, cheap to copy
/// (the data are shared), that provides what the samplers need.
template <class N, class Likelihood, WeightPrior Prior, Real S>
class Bnn {
 public:
  using Network = N;
  using Scalar = S;
  static constexpr bool has_probabilities = Likelihood::has_probabilities;
  using Targets = typename Likelihood::template Targets<Scalar>;

  /// inputs: a point per column. targets: a column per point as well; labels, and targets of a single output, may also
  /// be a plain vector. minibatch: how many points each step sees.
  template <class X, class Y>
  Bnn(N network, Likelihood likelihood, Prior prior, const Eigen::MatrixBase<X>& inputs,
      const Eigen::MatrixBase<Y>& targets, Minibatch minibatch = {})
      : network_(std::move(network)),
        likelihood_(std::move(likelihood)),
        prior_(std::move(prior)),
        schedule_(minibatch, inputs.cols()),
        seed_(minibatch.seed) {
    static_assert(
        repel::Network<N, S>,
        "repel::Bnn: the first argument must be a network, with inputs(), outputs(), parameters(), blocks(), a "
        "nested Tape<Scalar>, forward(w, x, tape, f) and backward(w, x, tape, v, g); see repel/bnn/network.hpp");
    auto data = std::make_shared<Data>();
    data->inputs = inputs;
    if constexpr (Y::ColsAtCompileTime == 1) {
      data->targets = targets.transpose();
    } else {
      if (Targets::RowsAtCompileTime == 1 && targets.rows() != 1)
        detail::fail("Bnn", "targets has ", targets.rows(), " rows, but must have 1: a label per point");
      data->targets = targets;
    }
    detail::require_points("Bnn", "inputs", data->inputs);
    if (data->inputs.rows() != network_.inputs())
      detail::fail("Bnn", "inputs has ", data->inputs.rows(), " rows, but must have ", network_.inputs(),
                   ", the inputs of the network");
    if (data->targets.cols() != data->inputs.cols())
      detail::fail("Bnn", "targets has ", data->targets.cols(), " columns, but must have ", data->inputs.cols(),
                   " like inputs, one per point");
    detail::validate(likelihood_);
    likelihood_.check(data->targets, network_.outputs());
    detail::validate(prior_);
    if constexpr (requires { prior_.check(Index{1}); }) prior_.check(layers_of(network_));
    data->blocks = network_.blocks();
    data_ = std::move(data);
  }

  const N& network() const { return network_; }
  const std::vector<ParameterBlock>& blocks() const { return data_->blocks; }
  const Likelihood& likelihood() const { return likelihood_; }
  const Prior& prior() const { return prior_; }
  const Matrix<Scalar>& inputs() const { return data_->inputs; }
  const Targets& targets() const { return data_->targets; }
  const detail::BatchSchedule& schedule() const { return schedule_; }
  std::uint64_t seed() const { return seed_; }

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
    return repel::prior_draws<Scalar>(network_, prior_, count, seed);
  }

  /// The outputs of every particle at other points: (outputs p)×n, a column per particle.
  Matrix<Scalar> outputs(const Matrix<Scalar>& particles, const Matrix<Scalar>& points) const {
    detail::require_points("Bnn", "particles", particles);
    detail::require_points("Bnn", "points", points);
    Matrix<Scalar> f;
    Ensemble<N, Scalar>(network_).evaluate(particles, points, f);
    if (features_of(network_) > 0) f.conservativeResize(network_.outputs() * points.cols(), Eigen::NoChange);
    return f;
  }

  /// The Bayesian model average at other points: GaussianPrediction or CategoricalPrediction.
  auto predict(const Matrix<Scalar>& particles, const Matrix<Scalar>& points) const {
    return likelihood_.summarise(outputs(particles, points), network_.outputs());
  }

 private:
  struct Data {
    Matrix<Scalar> inputs;
    Targets targets;
    std::vector<ParameterBlock> blocks;
  };

  template <class FunctionPrior, class Points>
  BnnFunctions<Bnn, FunctionPrior, Points> functions_of(FunctionPrior prior, Points points, FunctionsAre are) const {
    static_assert(
        !requires { prior.count(Index{1}); } && requires { points.count(Index{1}); },
        "repel::Bnn::functions: the arguments are a prior over functions, then the points where functions are "
        "compared: functions(ImplicitPrior{}, UniformPoints{...}); what the kernel sees is function_space()'s view");
    return BnnFunctions<Bnn, FunctionPrior, Points>(*this, std::move(prior), std::move(points), are);
  }

  N network_;
  Likelihood likelihood_;
  Prior prior_;
  detail::BatchSchedule schedule_;
  std::uint64_t seed_;
  std::shared_ptr<const Data> data_;
};
template <class N, class Likelihood, class Prior, class X, class Y>
Bnn(N, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&)
    -> Bnn<N, Likelihood, Prior, typename X::Scalar>;
template <class N, class Likelihood, class Prior, class X, class Y>
Bnn(N, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&, Minibatch)
    -> Bnn<N, Likelihood, Prior, typename X::Scalar>;

}  // namespace repel
