// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/prediction.hpp>
#include <repel/core/check.hpp>
#include <repel/core/description.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/softmax.hpp>

#include <cmath>

// Likelihoods of labels: one of several classes, or yes and no.

namespace repel {

/// Class probabilities by the softmax of the outputs (logits). Labels are 0 … classes − 1.
struct CategoricalLikelihood {
  static constexpr bool has_probabilities = true;

  /// In probability space the likelihood is log(p + log_floor), which bounds its gradient near p = 0.
  double log_floor = 1e-12;

  template <class Scalar>
  using Targets = Eigen::RowVectorXi;
  template <class Scalar>
  using Prediction = CategoricalPrediction<Scalar>;

  void validate() const { detail::require_non_negative("CategoricalLikelihood", "log_floor", log_floor); }

  Description describe() const { return Description("categorical"); }
  static CategoricalLikelihood from(const Description& description) {
    detail::require_kind("CategoricalLikelihood", description, "categorical");
    return {};
  }

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

  /// The same when the probabilities p are the function: p ← ∇_p Σ log(p_y + log_floor).
  template <class P, class Y>
  void score_of_probabilities(P& p, const Y& y) const {
    using Scalar = typename P::Scalar;
    for (Index i = 0; i < p.cols(); ++i) {
      const Scalar slope = 1 / (p(y(i), i) + static_cast<Scalar>(log_floor));
      p.col(i).setZero();
      p(y(i), i) = slope;
    }
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    double sum = 0;
    for (Index i = 0; i < f.cols(); ++i) sum += detail::log_softmax_at(f.col(i), y(i));
    return sum;
  }

  template <class Scalar>
  void summarise(const Matrix<Scalar>& f, Index outputs, CategoricalPrediction<Scalar>& out) const {
    out.members = f;
    detail::softmax_columns(out.members, outputs);
    out.probabilities.resize(outputs, f.rows() / outputs);
    out.probabilities.reshaped() = out.members.rowwise().mean();
  }
};

/// Yes or no for every output: p(y = 1) = 1 / (1 + e^−f), y is 0 or 1. A prediction's probabilities are those of 1.
struct BernoulliLikelihood {
  static constexpr bool has_probabilities = false;

  template <class Scalar>
  using Targets = Matrix<Scalar>;
  template <class Scalar>
  using Prediction = CategoricalPrediction<Scalar>;

  Description describe() const { return Description("bernoulli"); }
  static BernoulliLikelihood from(const Description& description) {
    detail::require_kind("BernoulliLikelihood", description, "bernoulli");
    return {};
  }

  template <class Y>
  void check(const Y& y, Index outputs) const {
    if (y.rows() != outputs)
      detail::fail("Bnn", "targets has ", y.rows(), " rows, but must have ", outputs, ", the outputs of the network");
    for (Index i = 0; i < y.cols(); ++i)
      for (Index k = 0; k < y.rows(); ++k)
        if (y(k, i) != 0 && y(k, i) != 1)
          detail::fail("Bnn", "targets(", k, ", ", i, ") is ", y(k, i), ", but must be 0 or 1");
  }

  template <class F, class Y>
  void score(F& f, const Y& y) const {
    f = y.array() - f.array().logistic();
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    double sum = 0;
    for (Index i = 0; i < f.cols(); ++i)
      for (Index k = 0; k < f.rows(); ++k) {
        const double logit = static_cast<double>(f(k, i)) * (y(k, i) > 0 ? -1 : 1);  // of what did not happen
        sum -= std::max(logit, 0.0) + std::log1p(std::exp(-std::abs(logit)));
      }
    return sum;
  }

  template <class Scalar>
  void summarise(const Matrix<Scalar>& f, Index outputs, CategoricalPrediction<Scalar>& out) const {
    out.members = f.array().logistic();
    out.probabilities.resize(outputs, f.rows() / outputs);
    out.probabilities.reshaped() = out.members.rowwise().mean();
  }
};

}  // namespace repel
