#pragma once

#include <repel/bnn/functions.hpp>
#include <repel/bnn/minibatch.hpp>
#include <repel/bnn/mlp.hpp>
#include <repel/bnn/points.hpp>
#include <repel/bnn/prior.hpp>
#include <repel/bnn/target.hpp>
#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/space/function_prior.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace repel {

/// A Bayesian neural network: network, likelihood, prior and data. An immutable value, cheap to copy (the data are
/// shared), that gives what the samplers need.
template <Real S, class Likelihood, WeightPrior Prior>
class Bnn {
 public:
  using Scalar = S;
  using Targets = typename Likelihood::template Targets<Scalar>;

  /// inputs: a point per column. targets: a column per point as well; labels, and targets of a single output, may also
  /// be a plain vector. minibatch: how many points each step sees.
  template <class X, class Y>
  Bnn(Mlp network, Likelihood likelihood, Prior prior, const Eigen::MatrixBase<X>& inputs,
      const Eigen::MatrixBase<Y>& targets, Minibatch minibatch = {})
      : network_(std::move(network)),
        likelihood_(std::move(likelihood)),
        prior_(std::move(prior)),
        schedule_(minibatch, inputs.cols()),
        seed_(minibatch.seed) {
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
    if constexpr (requires { prior_.check(network_); }) prior_.check(network_);
    data_ = std::move(data);
  }

  const Mlp& network() const { return network_; }
  const Likelihood& likelihood() const { return likelihood_; }
  const Prior& prior() const { return prior_; }
  const Matrix<Scalar>& inputs() const { return data_->inputs; }
  const Targets& targets() const { return data_->targets; }
  const detail::BatchSchedule& schedule() const { return schedule_; }
  std::uint64_t seed() const { return seed_; }

  /// For weight_space(): ∇_w log p(w | D).
  BnnTarget<Bnn> target() const { return BnnTarget<Bnn>(*this); }

  /// For function_space(): the outputs at the batch and their posterior. `prior` is one over functions
  /// (space/function_prior.hpp), `points` says where else functions are compared and `look` what the kernel compares
  /// there (bnn/points.hpp). The defaults are the paper's.
  template <class FunctionPrior = ImplicitPrior<>, class Points = BatchPoints>
  BnnFunctions<Bnn, FunctionPrior, Points> functions(FunctionPrior prior = {}, Points points = {},
                                                     Look look = Look::outputs) const {
    static_assert(
        !requires { prior.beside_batch; } && requires { points.beside_batch; },
        "repel::Bnn::functions: the arguments are a prior over functions, then the points where functions are "
        "compared, then what the kernel looks at: functions(ImplicitPrior{}, UniformPoints{...}, Look::outputs)");
    return BnnFunctions<Bnn, FunctionPrior, Points>(*this, std::move(prior), std::move(points), look);
  }

  /// Initial particles, drawn from the prior.
  Matrix<Scalar> prior_draws(Index count, std::uint64_t seed) const {
    return repel::prior_draws<Scalar>(network_, prior_, count, seed);
  }

  /// The outputs of every particle at other points: (outputs p)×n, a column per particle.
  Matrix<Scalar> outputs(const Matrix<Scalar>& particles, const Matrix<Scalar>& points) const {
    detail::require_points("Bnn", "particles", particles);
    detail::require_points("Bnn", "points", points);
    typename Mlp::template Tape<Scalar> tape;
    Matrix<Scalar> f;
    network_.evaluate(particles, points, tape, f);
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
  };

  Mlp network_;
  Likelihood likelihood_;
  Prior prior_;
  detail::BatchSchedule schedule_;
  std::uint64_t seed_;
  std::shared_ptr<const Data> data_;
};
template <class Likelihood, class Prior, class X, class Y>
Bnn(Mlp, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&)
    -> Bnn<typename X::Scalar, Likelihood, Prior>;
template <class Likelihood, class Prior, class X, class Y>
Bnn(Mlp, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&, Minibatch)
    -> Bnn<typename X::Scalar, Likelihood, Prior>;

}  // namespace repel
