// SPDX-License-Identifier: MIT
#pragma once

#include <repel/linalg/softmax.hpp>
#include <repel/metrics/check.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace repel::metrics {

namespace detail {

/// The mean over the points of figure(distribution, label).
template <class P, class Y, class Figure>
double mean_over_points(const char* where, const Eigen::MatrixBase<P>& probabilities,
                        const Eigen::MatrixBase<Y>& labels, const Figure& figure) {
  const auto& p = probabilities.derived().eval();
  const auto& y = labels.derived().eval();
  require_probabilities(where, "probabilities", p);
  require_labels(where, y, p.cols(), p.rows());
  double sum = 0;
  for (Index i = 0; i < p.cols(); ++i) sum += figure(p.col(i), static_cast<Index>(y(i)));
  return sum / static_cast<double>(p.cols());
}

}  // namespace detail

/// The fraction of points whose likeliest class is the label.
template <class P, class Y>
double accuracy(const Eigen::MatrixBase<P>& probabilities, const Eigen::MatrixBase<Y>& labels) {
  return detail::mean_over_points("metrics::accuracy", probabilities, labels,
                                  [](const auto& p, Index label) { return detail::likeliest(p) == label ? 1.0 : 0.0; });
}

/// The negative log-likelihood per point, −mean log p(y). Infinite if a label has probability 0, unlike
/// nll_of_logits().
template <class P, class Y>
double nll(const Eigen::MatrixBase<P>& probabilities, const Eigen::MatrixBase<Y>& labels) {
  return detail::mean_over_points("metrics::nll", probabilities, labels,
                                  [](const auto& p, Index label) { return -std::log(static_cast<double>(p(label))); });
}

namespace detail {

template <class F, class Y>
Eigen::VectorXd log_scores(const char* where, const Eigen::MatrixBase<F>& logits, Index classes,
                           const Eigen::MatrixBase<Y>& labels) {
  const auto& f = logits.derived().eval();
  const auto& y = labels.derived().eval();
  require_member_shape(where, "logits", f, classes);
  require_finite(where, "logits", f);
  const Index points = f.rows() / classes;
  require_labels(where, y, points, classes);
  using repel::detail::log_sum_exp;
  Eigen::VectorXd log_p(f.cols()), scores(points);  // log_p: of the label, for each member
  for (Index i = 0; i < points; ++i) {
    for (Index m = 0; m < f.cols(); ++m) {
      const Eigen::VectorXd z = f.col(m).segment(i * classes, classes).template cast<double>();
      log_p(m) = z(static_cast<Index>(y(i))) - log_sum_exp(z);
    }
    scores(i) = log_sum_exp(log_p) - std::log(static_cast<double>(f.cols()));
  }
  return scores;
}

}  // namespace detail

/// The log-likelihood of each point's label by an ensemble, from the members' outputs before the softmax,
/// (classes·points)×members: log of the mean over the members of p(y). Finite however sure the members are, even if a
/// probability in float would be 0.
template <class F, class Y>
Eigen::VectorXd log_scores_of_logits(const Eigen::MatrixBase<F>& logits, Index classes,
                                     const Eigen::MatrixBase<Y>& labels) {
  return detail::log_scores("metrics::log_scores_of_logits", logits, classes, labels);
}

/// The negative log-likelihood per point of an ensemble: −mean of log_scores_of_logits().
template <class F, class Y>
double nll_of_logits(const Eigen::MatrixBase<F>& logits, Index classes, const Eigen::MatrixBase<Y>& labels) {
  return -detail::log_scores("metrics::nll_of_logits", logits, classes, labels).mean();
}

/// −log mean p(y): not a likelihood, always at most nll(), and forgiving of labels held impossible. The paper's table
/// seems to show this one.
template <class P, class Y>
double nll_of_mean_probability(const Eigen::MatrixBase<P>& probabilities, const Eigen::MatrixBase<Y>& labels) {
  return -std::log(detail::mean_over_points("metrics::nll_of_mean_probability", probabilities, labels,
                                            [](const auto& p, Index label) { return static_cast<double>(p(label)); }));
}

/// The Brier score, the mean of Σ_c (p_c − 1[y = c])²: 0 is perfect, 2 is certain and wrong.
template <class P, class Y>
double brier(const Eigen::MatrixBase<P>& probabilities, const Eigen::MatrixBase<Y>& labels) {
  return detail::mean_over_points("metrics::brier", probabilities, labels, [](const auto& p, Index label) {
    double sum = 0;
    for (Index c = 0; c < p.size(); ++c) {
      const double miss = static_cast<double>(p(c)) - (c == label ? 1 : 0);
      sum += miss * miss;
    }
    return sum;
  });
}

/// How points are put into bins by their confidence, the probability of the likeliest class.
enum class Binning {
  equal_width,  ///< (0, 1/B], (1/B, 2/B] …
  equal_count,  ///< about as many points in each; points of equal confidence stay together
};

/// One bin of a reliability diagram.
struct ReliabilityBin {
  double confidence = 0;  ///< the mean over its points
  double accuracy = 0;    ///< of these predictions
  Index count = 0;        ///< predictions in the bin
};

/// Points of the reliability curve (bins without points are left out), and how far it is from the diagonal.
struct Reliability {
  std::vector<ReliabilityBin> bins;  ///< from low to high confidence
  double ece = 0;                    ///< expected calibration error: Σ count/N |accuracy − confidence|
};

/// Confidence against accuracy, bin by bin.
template <class P, class Y>
Reliability reliability(const Eigen::MatrixBase<P>& probabilities, const Eigen::MatrixBase<Y>& labels, Index bins = 30,
                        Binning binning = Binning::equal_width) {
  constexpr const char* where = "metrics::reliability";
  const auto& p = probabilities.derived().eval();
  const auto& y = labels.derived().eval();
  detail::require_probabilities(where, "probabilities", p);
  detail::require_labels(where, y, p.cols(), p.rows());
  if (bins < 1) detail::fail(where, "bins is ", bins, ", but must be at least 1");

  const auto n = static_cast<std::size_t>(p.cols());
  std::vector<double> confidence(n);
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < n; ++i)
    confidence[i] = static_cast<double>(p(detail::likeliest(p.col(static_cast<Index>(i))), static_cast<Index>(i)));
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return confidence[a] < confidence[b]; });

  Reliability result;
  const auto count = static_cast<double>(bins);
  double last_bin = -1;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = order[k];
    double bin = binning == Binning::equal_width ? std::clamp(std::ceil(confidence[i] * count) - 1, 0.0, count - 1)
                                                 : std::floor(static_cast<double>(k) * count / static_cast<double>(n));
    if (binning == Binning::equal_count && k > 0 && confidence[i] == confidence[order[k - 1]]) bin = last_bin;
    if (bin != last_bin) result.bins.emplace_back();
    last_bin = bin;
    ReliabilityBin& in = result.bins.back();
    in.confidence += confidence[i];
    in.accuracy += detail::likeliest(p.col(static_cast<Index>(i))) == y(static_cast<Index>(i)) ? 1 : 0;
    ++in.count;
  }
  for (ReliabilityBin& bin : result.bins) {
    bin.confidence /= static_cast<double>(bin.count);
    bin.accuracy /= static_cast<double>(bin.count);
    result.ece += static_cast<double>(bin.count) / static_cast<double>(n) * std::abs(bin.accuracy - bin.confidence);
  }
  return result;
}

}  // namespace repel::metrics
