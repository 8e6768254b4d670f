// SPDX-License-Identifier: MIT
#pragma once

#include <repel/metrics/check.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

// Telling two kinds of points apart by one score per point: positives should score higher. Ties are never broken, so
// no metric depends on the order of the points.

namespace repel::metrics {

/// The result of calling everything at or above `threshold` positive.
struct RocPoint {
  double threshold;  ///< scores from here on are called positive
  double fpr;        ///< the fraction of negatives that are called positive
  double tpr;        ///< the fraction of positives that are
};

namespace detail {

/// Cumulated counts at each distinct value, from the highest down.
struct Cut {
  double threshold;
  double negatives, positives;
};

template <class N, class P>
std::vector<Cut> cuts(const char* where, const Eigen::MatrixBase<N>& negatives, const Eigen::MatrixBase<P>& positives) {
  const auto sorted = [where](const char* name, const auto& given) {
    const auto& values = given.derived().eval();
    require_numbers(where, name, values);
    std::vector<double> out(static_cast<std::size_t>(values.size()));
    for (Index i = 0; i < values.size(); ++i)
      out[static_cast<std::size_t>(i)] = static_cast<double>(values.reshaped()(i));
    std::sort(out.begin(), out.end(), std::greater<>());
    return out;
  };
  const std::vector<double> n = sorted("negatives", negatives), p = sorted("positives", positives);
  std::vector<Cut> result;
  for (std::size_t i = 0, j = 0; i < n.size() || j < p.size();) {
    const double at = i == n.size() ? p[j] : j == p.size() ? n[i] : std::max(n[i], p[j]);
    while (i < n.size() && n[i] == at) ++i;
    while (j < p.size() && p[j] == at) ++j;
    result.push_back({at, static_cast<double>(i), static_cast<double>(j)});
  }
  return result;
}

}  // namespace detail

/// The receiver operating characteristic, from (0, 0) to (1, 1): a point at each distinct value.
template <class N, class P>
std::vector<RocPoint> roc_curve(const Eigen::MatrixBase<N>& negatives, const Eigen::MatrixBase<P>& positives) {
  const auto n = static_cast<double>(negatives.size()), p = static_cast<double>(positives.size());
  std::vector<RocPoint> result{{std::numeric_limits<double>::infinity(), 0, 0}};
  for (const detail::Cut& cut : detail::cuts("metrics::roc_curve", negatives, positives))
    result.push_back({cut.threshold, cut.negatives / n, cut.positives / p});
  return result;
}

/// The area under the ROC curve: the probability that a positive has a higher value than a negative, ties counting one
/// half. Exact: it is a ratio of whole numbers.
template <class N, class P>
double auroc(const Eigen::MatrixBase<N>& negatives, const Eigen::MatrixBase<P>& positives) {
  double twice = 0, below = 0, won = 0;  // pairs won, counted twice
  for (const detail::Cut& cut : detail::cuts("metrics::auroc", negatives, positives)) {
    twice += (cut.negatives - below) * (won + cut.positives);
    below = cut.negatives;
    won = cut.positives;
  }
  return twice / (2 * static_cast<double>(negatives.size()) * static_cast<double>(positives.size()));
}

/// What every point adds to auroc(), the mean of either vector. From these come its standard error and, with the points
/// of two methods subtracted, that of a difference (DeLong, DeLong & Clarke-Pearson 1988): √(var(negatives) / count of
/// negatives + var(positives) / count of positives).
struct AurocShares {
  Eigen::VectorXd negatives;  ///< for each negative the fraction of positives above it, ties counting one half
  Eigen::VectorXd positives;  ///< for each positive the fraction of negatives below it
};

/// The points' shares in auroc(), in the order of the points.
template <class N, class P>
AurocShares auroc_shares(const Eigen::MatrixBase<N>& negatives, const Eigen::MatrixBase<P>& positives) {
  const auto& below = negatives.derived().eval();
  const auto& above = positives.derived().eval();
  const auto cuts = detail::cuts("metrics::auroc_shares", below, above);
  const auto n = static_cast<double>(below.size()), p = static_cast<double>(above.size());
  // The cut at a value, which is one of them, and the one before it: ties lie between the two.
  const auto counts = [&](double value) {
    const auto at = std::lower_bound(cuts.begin(), cuts.end(), value,
                                     [](const detail::Cut& cut, double v) { return cut.threshold > v; });
    return std::pair{at == cuts.begin() ? detail::Cut{value, 0, 0} : at[-1], *at};
  };
  AurocShares shares{Eigen::VectorXd(below.size()), Eigen::VectorXd(above.size())};
  for (Index i = 0; i < below.size(); ++i) {
    const auto [before, here] = counts(static_cast<double>(below.reshaped()(i)));
    shares.negatives(i) = (before.positives + here.positives) / (2 * p);
  }
  for (Index j = 0; j < above.size(); ++j) {
    const auto [before, here] = counts(static_cast<double>(above.reshaped()(j)));
    shares.positives(j) = 1 - (before.negatives + here.negatives) / (2 * n);
  }
  return shares;
}

/// The area under the precision-recall curve as average precision, Σ (R_k − R_{k−1}) P_k.
template <class N, class P>
double aupr(const Eigen::MatrixBase<N>& negatives, const Eigen::MatrixBase<P>& positives) {
  double sum = 0, before = 0;
  for (const detail::Cut& cut : detail::cuts("metrics::aupr", negatives, positives)) {
    sum += (cut.positives - before) * cut.positives / (cut.positives + cut.negatives);
    before = cut.positives;
  }
  return sum / static_cast<double>(positives.size());
}

/// The false positive rate at the highest threshold that finds at least this fraction of the positives.
template <class N, class P>
double fpr_at_tpr(const Eigen::MatrixBase<N>& negatives, const Eigen::MatrixBase<P>& positives, double tpr) {
  if (!(tpr > 0 && tpr <= 1)) detail::fail("metrics::fpr_at_tpr", "tpr is ", tpr, ", but must be above 0, at most 1");
  const auto n = static_cast<double>(negatives.size()), p = static_cast<double>(positives.size());
  for (const detail::Cut& cut : detail::cuts("metrics::fpr_at_tpr", negatives, positives))
    if (cut.positives / p >= tpr) return cut.negatives / n;
  return 1;
}

/// How well an uncertainty tells out-of-distribution points from those of the test set.
struct OodDetection {
  double auroc = 0;       ///< 0.5 is chance
  double aupr_in = 0;     ///< with the test points as positives
  double aupr_out = 0;    ///< with the others as positives
  double fpr80 = 0;       ///< the fraction of the others accepted as test points when 80 % of the test points are
  double fpr95 = 0;       ///< when 95 % are
  double mean_ratio = 0;  ///< mean uncertainty outside over that on the test set, the paper's H_o/H_t and MD_o/MD_t; 1
                          ///< if both are 0
};

/// How well uncertainty separates points from elsewhere from test points.
template <class T, class O>
OodDetection ood_detection(const Eigen::MatrixBase<T>& test_uncertainty, const Eigen::MatrixBase<O>& ood_uncertainty) {
  const Eigen::VectorXd test = test_uncertainty.derived().template cast<double>().reshaped(),
                        ood = ood_uncertainty.derived().template cast<double>().reshaped();
  detail::require_numbers("metrics::ood_detection", "test_uncertainty", test);
  detail::require_numbers("metrics::ood_detection", "ood_uncertainty", ood);
  const double of_test = test.mean(), of_ood = ood.mean();
  return {auroc(test, ood),
          aupr(-ood, -test),
          aupr(test, ood),
          fpr_at_tpr(-ood, -test, 0.80),
          fpr_at_tpr(-ood, -test, 0.95),
          of_test == 0 && of_ood == 0 ? 1 : of_ood / of_test};
}

}  // namespace repel::metrics
