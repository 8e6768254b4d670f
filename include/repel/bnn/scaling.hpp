// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/prediction.hpp>
#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <cmath>

namespace repel {

/// Inputs and targets in units of their own standard deviations, as part of a model: a Bnn with a scaling trains on
/// scaled data, and its predictions are in the data's own units again.
///
///   const repel::Bnn posterior(network, likelihood, prior, x, y, repel::Minibatch{}, repel::Scaling::standard(x, y));
///
/// The likelihood sees scaled targets: its noise, if given, is in standard deviations of the targets. outputs() of a
/// model are the network's own, in scaled units.
struct Scaling {
  Vector<double> input_mean{}, input_sd{};    ///< an entry per input; empty: inputs as they are
  Vector<double> target_mean{}, target_sd{};  ///< an entry per target; empty: targets as they are

  /// Mean 0 and standard deviation 1 for each input and each target, a point per column.
  template <class X, class Y>
  static Scaling standard(const Eigen::MatrixBase<X>& inputs, const Eigen::MatrixBase<Y>& targets) {
    Scaling out = standard_inputs(inputs);
    if constexpr (Y::ColsAtCompileTime == 1)
      measure("targets", targets.transpose(), out.target_mean, out.target_sd);
    else
      measure("targets", targets, out.target_mean, out.target_sd);
    return out;
  }
  /// For inputs alone, as for classification.
  template <class X>
  static Scaling standard_inputs(const Eigen::MatrixBase<X>& inputs) {
    Scaling out;
    measure("inputs", inputs, out.input_mean, out.input_sd);
    return out;
  }

  /// Whether inputs are standardised.
  bool scales_inputs() const { return input_mean.size() > 0; }
  bool scales_targets() const { return target_mean.size() > 0; }

  void check(Index inputs, Index targets) const {
    check_part("input", input_mean, input_sd, inputs);
    check_part("target", target_mean, target_sd, targets);
  }

  /// Standardises inputs in place.
  template <class M>
  void scale_inputs(M& x) const {
    if (scales_inputs()) scale(input_mean, input_sd, x);
  }
  /// Standardises targets in place.
  template <class M>
  void scale_targets(M& y) const {
    if (scales_targets()) scale(target_mean, target_sd, y);
  }

  /// A prediction of scaled targets ← the same in their own units.
  template <class Scalar>
  void undo(RegressionPrediction<Scalar>& prediction) const {
    for (Index k = 0; k < target_mean.size(); ++k) {
      const auto mean = static_cast<Scalar>(target_mean(k)), sd = static_cast<Scalar>(target_sd(k));
      prediction.mean.row(k) = (prediction.mean.row(k).array() * sd + mean).matrix();
      prediction.sd.row(k) *= sd;
      prediction.sd_with_noise.row(k) *= sd;
    }
  }
  /// Class probabilities have no units.
  template <class Scalar>
  void undo(CategoricalPrediction<Scalar>&) const {}

  /// What is to be added to the log density of a scaled target for that of the target itself.
  double log_jacobian() const { return scales_targets() ? -target_sd.array().log().sum() : 0; }

 private:
  template <class M>
  static void measure(const char* name, const M& given, Vector<double>& mean, Vector<double>& sd) {
    const Matrix<double> values = given.template cast<double>();
    detail::require_points("Scaling", name, values);
    mean = values.rowwise().mean();
    sd = ((values.colwise() - mean).rowwise().squaredNorm() / static_cast<double>(values.cols())).cwiseSqrt();
    for (Index k = 0; k < sd.size(); ++k)
      if (!(sd(k) > 1e-12 * values.row(k).cwiseAbs().maxCoeff()))
        detail::fail("Scaling", "row ", k, " of ", name, " is ", values(k, 0), " at all ", values.cols(),
                     " points, but must vary: it cannot be standardised, and says nothing; leave it out");
  }

  static void check_part(const char* name, const Vector<double>& mean, const Vector<double>& sd, Index count) {
    if (mean.size() == 0 && sd.size() == 0) return;
    if (mean.size() != count || sd.size() != count)
      detail::fail("Scaling", name, "_mean and ", name, "_sd have ", mean.size(), " and ", sd.size(),
                   " entries, but must have ", count, ", one per ", name);
    detail::require_usable("Scaling", name, mean);
    for (Index k = 0; k < count; ++k)
      if (!(sd(k) > 0 && std::isfinite(sd(k))))
        detail::fail("Scaling", name, "_sd(", k, ") is ", sd(k), ", but must be finite and larger than 0");
  }

  template <class M>
  static void scale(const Vector<double>& mean, const Vector<double>& sd, M& values) {
    using Scalar = typename M::Scalar;
    for (Index k = 0; k < mean.size(); ++k)
      values.row(k) = ((values.row(k).array() - static_cast<Scalar>(mean(k))) / static_cast<Scalar>(sd(k))).matrix();
  }
};

}  // namespace repel
