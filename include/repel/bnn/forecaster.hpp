// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/ensemble.hpp>
#include <repel/bnn/likelihood.hpp>
#include <repel/bnn/prediction.hpp>
#include <repel/bnn/scaling.hpp>
#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/softmax.hpp>

#include <cmath>
#include <concepts>
#include <utility>

namespace repel::detail {

/// Predictions of an ensemble at points in the data's own units, with buffers that are kept from call to call: what
/// Bnn::predict() and Predictor share.
template <class N, class L, Real Scalar>
class Forecaster {
  using M = Matrix<Scalar>;

 public:
  using Prediction = typename L::template Prediction<Scalar>;
  using Targets = typename L::template Targets<Scalar>;

  Forecaster(N network, L likelihood, Scaling scaling)
      : likelihood_(std::move(likelihood)),
        scaling_(std::move(scaling)),
        own_(likelihood_parameters(likelihood_, network.outputs())),
        ensemble_(std::move(network), own_) {}

  const N& network() const { return ensemble_.network(); }
  const L& likelihood() const { return likelihood_; }
  const Scaling& scaling() const { return scaling_; }

  /// The network's outputs for every particle, (outputs p)×n.
  const M& outputs(const char* where, const M& particles, const M& points) {
    require_points(where, "points", points);
    const M* inputs = &points;
    if (scaling_.scales_inputs()) {
      if (points.rows() != network().inputs())
        fail(where, "points has ", points.rows(), " rows, but must have ", network().inputs(),
             ", the inputs of the network");
      scaled_ = points;
      scaling_.scale_inputs(scaled_);
      inputs = &scaled_;
    }
    ensemble_.evaluate(particles, *inputs, f_);
    if (features_of(network()) > 0) f_.conservativeResize(network().outputs() * points.cols(), Eigen::NoChange);
    return f_;
  }

  /// Valid until the next call.
  const Prediction& predict(const char* where, const M& particles, const M& points) {
    outputs(where, particles, points);
    require_usable_outputs(where);
    summarise(likelihood_, f_, network().outputs(), particles.bottomRows(own_), prediction_);
    scaling_.undo(prediction_);
    return prediction_;
  }

  /// log 1/n Σ_particles p(y | x, particle) for every point: the log density of the mixture that the ensemble is.
  template <class Y>
  Vector<double> log_predictive(const char* where, const M& particles, const M& points, const Y& targets) {
    Targets y = targets;
    if (y.cols() != points.cols())
      fail(where, "targets has ", y.cols(), " columns, but must have ", points.cols(), " like points");
    likelihood_.check(y, network().outputs());
    if constexpr (scales_targets<L>()) scaling_.scale_targets(y);
    outputs(where, particles, points);
    require_usable_outputs(where);
    const Index k = network().outputs(), n = particles.cols();
    Vector<double> values(points.cols()), members(n);
    for (Index i = 0; i < points.cols(); ++i) {
      for (Index j = 0; j < n; ++j)
        members(j) =
            likelihood_log_density(likelihood_, f_.col(j).segment(i * k, k), y.col(i), particles.col(j).tail(own_));
      values(i) = log_sum_exp(members) - std::log(static_cast<double>(n)) + scaling_.log_jacobian();
    }
    return values;
  }

 private:
  /// Logits may be infinite, which is as good as certain; NaN means nothing, and neither does the mean of infinities.
  void require_usable_outputs(const char* where) const {
    constexpr bool logits = std::same_as<Prediction, CategoricalPrediction<Scalar>>;
    if (logits ? !f_.hasNaN() : f_.allFinite()) return;
    for (Index j = 0; j < f_.cols(); ++j)
      for (Index i = 0; i < f_.rows(); ++i)
        if (logits ? std::isnan(f_(i, j)) : !std::isfinite(f_(i, j)))
          fail(where, "the output of particle ", j, " at point ", i / network().outputs(), " is ", f_(i, j),
               ", but must be ", logits ? "a number" : "finite", ": its parameters or the point are so large that ",
               8 * sizeof(Scalar), "-bit numbers overflow in the network");
  }

  L likelihood_;
  Scaling scaling_;
  Index own_;
  Ensemble<N, Scalar> ensemble_;
  M scaled_, f_;
  Prediction prediction_;
};

}  // namespace repel::detail
