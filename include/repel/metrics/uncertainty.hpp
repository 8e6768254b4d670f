// SPDX-License-Identifier: MIT
#pragma once

#include <repel/metrics/check.hpp>

#include <algorithm>
#include <cmath>

namespace repel::metrics {

namespace detail {

/// −Σ p log p, with 0 log 0 = 0.
template <class Column>
double entropy_of(const Column& p) {
  double sum = 0;
  for (Index c = 0; c < p.size(); ++c)
    if (const auto value = static_cast<double>(p(c)); value > 0) sum -= value * std::log(value);
  return std::max(0.0, sum);
}

}  // namespace detail

/// The entropy of each point's distribution in nats: 0 to log(classes). Divide by log(classes) for 0 to 1.
template <class P>
Eigen::VectorXd entropy(const Eigen::MatrixBase<P>& probabilities) {
  const auto& p = probabilities.derived().eval();
  detail::require_probabilities("metrics::entropy", "probabilities", p);
  Eigen::VectorXd result(p.cols());
  for (Index i = 0; i < p.cols(); ++i) result(i) = detail::entropy_of(p.col(i));
  return result;
}

/// Where the entropy of a mean prediction comes from, for each point, in nats.
struct EntropySplit {
  Eigen::VectorXd total;      ///< of the mean prediction
  Eigen::VectorXd aleatoric;  ///< the mean of the members' own entropies: noise that they agree on
  Eigen::VectorXd epistemic;  ///< the rest: the mutual information of prediction and member, their disagreement
};

/// The split for `members`: a column per member, the class probabilities of the points below each other.
template <class M>
EntropySplit split_entropy(const Eigen::MatrixBase<M>& members, Index classes) {
  const auto& p = members.derived().eval();
  detail::require_members("metrics::split_entropy", p, classes);
  const Index points = p.rows() / classes;
  const auto n = static_cast<double>(p.cols());
  EntropySplit out{Eigen::VectorXd(points), Eigen::VectorXd::Zero(points), Eigen::VectorXd(points)};
  for (Index i = 0; i < points; ++i) {
    const Eigen::MatrixXd here = p.middleRows(i * classes, classes).template cast<double>();
    out.total(i) = detail::entropy_of((here.rowwise().sum() / n).eval());
    for (Index m = 0; m < p.cols(); ++m) out.aleatoric(i) += detail::entropy_of(here.col(m)) / n;
    out.epistemic(i) = std::max(0.0, out.total(i) - out.aleatoric(i));
  }
  return out;
}

/// How the spread of the members' probabilities is brought down to one number per point.
enum class Spread {
  mean_sd,             ///< the mean over the classes of the standard deviation, as the authors' code has it
  root_mean_variance,  ///< the root of the mean variance, as the paper's appendix has it (equation 22)
};

/// Model disagreement: how much the members' probabilities differ, for each point. Variances are divided by n − 1; a
/// single member agrees with itself.
template <class M>
Eigen::VectorXd disagreement(const Eigen::MatrixBase<M>& members, Index classes, Spread spread = Spread::mean_sd) {
  const auto& p = members.derived().eval();
  detail::require_members("metrics::disagreement", p, classes);
  const double degrees = std::max(1.0, static_cast<double>(p.cols() - 1));
  Eigen::VectorXd result(p.rows() / classes);
  for (Index i = 0; i < result.size(); ++i) {
    const Eigen::MatrixXd here = p.middleRows(i * classes, classes).template cast<double>();
    const Eigen::ArrayXd variance = (here.colwise() - here.rowwise().mean()).rowwise().squaredNorm() / degrees;
    result(i) = spread == Spread::mean_sd ? variance.sqrt().mean() : std::sqrt(variance.mean());
  }
  return result;
}

}  // namespace repel::metrics
