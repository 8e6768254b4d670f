#pragma once

#include <repel/core/check.hpp>
#include <repel/core/normal_density.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/softmax.hpp>

#include <algorithm>
#include <cmath>

// Likelihoods: how likely the observed targets are, given the network's outputs.
//
// A likelihood is a value with
//   template <class Scalar> using Targets     the type of the observations, one column per point
//   static constexpr bool has_probabilities   whether the softmax of the outputs means anything
//   check(y, outputs)                         throws if the observations do not fit a network with that many outputs
//   score(f, y)                               f ← ∇_f Σ log p(y | f), in place; f is outputs×p
//   score_of_probabilities(p, y)              if has_probabilities: the same as a function of the probabilities
//   log_density(f, y)                         Σ log p(y | f) over the points
//   summarise(F, outputs)                     the ensemble's prediction, from the members' outputs: (outputs p)×n

namespace repel {

/// The Bayesian model average for regression: mean and standard deviation over the members, outputs×p each.
template <class Scalar>
struct GaussianPrediction {
  Matrix<Scalar> mean;
  Matrix<Scalar> sd;             ///< of the function: how much the members disagree (divided by n − 1)
  Matrix<Scalar> sd_with_noise;  ///< of an observation: √(sd² + noise²)
};

/// The Bayesian model average for classification.
template <class Scalar>
struct CategoricalPrediction {
  Matrix<Scalar> probabilities;  ///< the mean over the members, classes×p
  Matrix<Scalar> members;        ///< every member's probabilities, (classes p)×n
};

/// y = f + N(0, noise²) for every output.
struct GaussianLikelihood {
  static constexpr bool has_probabilities = false;
  double noise = 1;  ///< the standard deviation, known

  template <class Scalar>
  using Targets = Matrix<Scalar>;

  void validate() const { detail::require_positive("GaussianLikelihood", "noise", noise); }

  template <class Scalar>
  void check(const Matrix<Scalar>& y, Index outputs) const {
    if (y.rows() != outputs)
      detail::fail("Bnn", "targets has ", y.rows(), " rows, but must have ", outputs, ", the outputs of the network");
    detail::require_usable("Bnn", "targets", y);
  }

  template <class F, class Y>
  void score(F& f, const Y& y) const {
    f = (y - f) * static_cast<typename F::Scalar>(1 / (noise * noise));
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    const double residuals = (f.template cast<double>() - y.template cast<double>()).squaredNorm();
    return detail::log_normal_density(residuals, noise, static_cast<double>(f.size()));
  }

  template <class Scalar>
  GaussianPrediction<Scalar> summarise(const Matrix<Scalar>& f, Index outputs) const {
    GaussianPrediction<Scalar> out;
    const auto n = static_cast<Scalar>(f.cols());
    const Vector<Scalar> mean = f.rowwise().mean();
    const Vector<Scalar> sd = ((f.colwise() - mean).rowwise().squaredNorm() / std::max(Scalar(1), n - 1)).cwiseSqrt();
    out.mean = mean.reshaped(outputs, f.rows() / outputs);
    out.sd = sd.reshaped(outputs, f.rows() / outputs);
    out.sd_with_noise = (out.sd.array().square() + static_cast<Scalar>(noise * noise)).sqrt();
    return out;
  }
};

/// Class probabilities by the softmax of the outputs (logits). Labels are 0 … classes − 1.
struct CategoricalLikelihood {
  static constexpr bool has_probabilities = true;

  template <class Scalar>
  using Targets = Eigen::RowVectorXi;

  template <class Labels>
  void check(const Labels& y, Index outputs) const {
    if (outputs < 2) detail::fail("Bnn", "the network has ", outputs, " output, but needs one per class, at least 2");
    for (Index i = 0; i < y.size(); ++i)
      if (y(i) < 0 || y(i) >= outputs)
        detail::fail("Bnn", "targets(", i, ") is ", y(i), ", but a label must be 0 to ", outputs - 1,
                     " for a network with ", outputs, " outputs");
  }

  template <class F, class Y>
  void score(F& f, const Y& y) const {
    detail::softmax(f);
    f = -f;
    for (Index i = 0; i < f.cols(); ++i) f(y(i), i) += 1;
  }

  /// The same when the probabilities p are the function: p ← ∇_p Σ log(p_y + 10⁻¹²), finite even if p_y is 0.
  template <class P, class Y>
  void score_of_probabilities(P& p, const Y& y) const {
    using Scalar = typename P::Scalar;
    for (Index i = 0; i < p.cols(); ++i) {
      const Scalar slope = 1 / (p(y(i), i) + Scalar(1e-12));
      p.col(i).setZero();
      p(y(i), i) = slope;
    }
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    double sum = 0;
    for (Index i = 0; i < f.cols(); ++i) sum += static_cast<double>(f(y(i), i)) - detail::log_sum_exp(f.col(i));
    return sum;
  }

  template <class Scalar>
  CategoricalPrediction<Scalar> summarise(const Matrix<Scalar>& f, Index outputs) const {
    CategoricalPrediction<Scalar> out;
    out.members = f;
    detail::softmax_columns(out.members, outputs);
    out.probabilities = out.members.rowwise().mean().reshaped(outputs, f.rows() / outputs);
    return out;
  }
};

}  // namespace repel
