// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/diagnostics/check.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

// Are ranks uniform on 0 … L? Judged in two ways, each against a simulated null distribution, so that it holds for few
// ranks and for bins of unequal size: χ² over the bins of a histogram sees any shape, the largest deviation of the
// distribution function sees smooth ones, a tilt above all, with fewer ranks.

namespace repel::diagnostics {

/// Settings of rank_uniformity.
struct RankTest {
  Index bins = 20;                 ///< of the histograms: 2 to L + 1
  Index null_simulations = 10000;  ///< the smallest p-value of one statistic is 1 / (null_simulations + 1)
  std::uint64_t seed = 0;

  void validate() const {
    detail::require_count("diagnostics::RankTest", "bins", bins, 2);
    detail::require_count("diagnostics::RankTest", "null_simulations", null_simulations, 1);
  }
};

/// What rank_uniformity() finds.
struct RankUniformity {
  Eigen::MatrixXi histogram;      ///< bins×d: how many ranks of a parameter fell into a bin
  Eigen::VectorXd expected;       ///< per bin, for uniform ranks
  Eigen::VectorXd chi_squared;    ///< Σ (count − expected)² / expected, of every parameter
  Eigen::VectorXd chi_squared_p;  ///< how often uniform ranks give as much
  Eigen::VectorXd deviation;      ///< max_r |(fraction of ranks ≤ r) − (r + 1)/(L + 1)|, of every parameter
  Eigen::VectorXd deviation_p;    ///< how often uniform ranks give as much
  double p_value;                 ///< of all parameters and both statistics together: 2 d times the smallest, at most 1
  std::string verdict;            ///< a sentence
};

namespace detail {

struct RankStatistics {
  double chi_squared, deviation;
};

/// The bin of a rank among `draws` + 1 possible ones.
inline Index bin_of(Index rank, Index draws, Index bins) { return rank * bins / (draws + 1); }

/// Of `total` ranks, given how many there are of each.
inline RankStatistics rank_statistics(const std::vector<int>& counts, const Eigen::VectorXd& expected, double total) {
  const auto draws = static_cast<Index>(counts.size()) - 1;
  RankStatistics out{0, 0};
  double below = 0, in_bin = 0;
  for (Index r = 0; r <= draws; ++r) {
    const double here = counts[static_cast<std::size_t>(r)];
    below += here;
    in_bin += here;
    const double uniform = static_cast<double>(r + 1) / static_cast<double>(draws + 1);
    out.deviation = std::max(out.deviation, std::abs(below / total - uniform));
    const Index bin = bin_of(r, draws, expected.size());
    if (r == draws || bin_of(r + 1, draws, expected.size()) != bin) {
      out.chi_squared += (in_bin - expected(bin)) * (in_bin - expected(bin)) / expected(bin);
      in_bin = 0;
    }
  }
  return out;
}

/// How the ranks of a parameter miss uniformity: by their mean or by their spread, whichever is the more standard
/// errors away.
inline const char* shape_of(const Eigen::MatrixXi& ranks, Index parameter, Index draws) {
  const Eigen::ArrayXd r = ranks.row(parameter).cast<double>().transpose().array() - 0.5 * static_cast<double>(draws);
  const auto n = static_cast<double>(r.size()), l = static_cast<double>(draws);
  const double variance = l * (l + 2) / 12;
  const double fourth = l * (l + 2) * (3 * l * l + 6 * l - 4) / 240;  // of uniform ranks about their mean
  const double tilt = r.mean() / std::sqrt(variance / n);
  const double spread = (r.square().mean() - variance) / std::sqrt(std::max(fourth - variance * variance, 1e-9) / n);
  if (std::max(std::abs(tilt), std::abs(spread)) < 2) return "of an uneven histogram";
  if (std::abs(tilt) > std::abs(spread))
    return tilt > 0 ? "they are too large, so that posteriors are too low"
                    : "they are too small, so that posteriors are too high";
  return spread > 0 ? "they are too often extreme, so that posteriors are too narrow (or draws are dependent)"
                    : "they are too often in the middle, so that posteriors are too wide";
}

}  // namespace detail

/// Tests ranks (d×simulations, each of 0 … draws; a row per parameter) for uniformity. Simulations must be independent.
/// The parameters of one simulation need not be, hence the product by 2 d in p_value, which is cautious.
inline RankUniformity rank_uniformity(const Eigen::MatrixXi& ranks, Index draws, const RankTest& settings = {}) {
  constexpr const char* where = "diagnostics::rank_uniformity";
  settings.validate();
  detail::require_count(where, "draws", draws, 1);
  if (settings.bins > draws + 1)
    detail::fail(where, "bins is ", settings.bins, ", but must be at most ", draws + 1,
                 ", the number of possible ranks");
  const Index d = ranks.rows(), simulations = ranks.cols(), bins = settings.bins;
  if (d < 1) detail::fail(where, "ranks has 0 rows, but needs at least 1 (one per parameter)");
  if (simulations < 2) detail::fail(where, "ranks has ", simulations, " columns, but needs at least 2 simulations");
  const auto total = static_cast<double>(simulations);

  RankUniformity out{Eigen::MatrixXi::Zero(bins, d),
                     Eigen::VectorXd::Zero(bins),
                     Eigen::VectorXd(d),
                     Eigen::VectorXd(d),
                     Eigen::VectorXd(d),
                     Eigen::VectorXd(d),
                     1,
                     {}};
  for (Index r = 0; r <= draws; ++r)
    out.expected(detail::bin_of(r, draws, bins)) += total / static_cast<double>(draws + 1);

  const auto cells = static_cast<std::size_t>(draws + 1);
  Eigen::MatrixXd null(settings.null_simulations, 2);
  repel::detail::parallel_for(settings.null_simulations, 10 * (total + static_cast<double>(cells)) + 1000,
                              [&](Index b) {
                                Random random(stream_seed(settings.seed, static_cast<std::uint64_t>(b)));
                                std::vector<int> counts(cells, 0);
                                for (Index i = 0; i < simulations; ++i)
                                  ++counts[static_cast<std::size_t>(random.uniform() * static_cast<double>(cells))];
                                const detail::RankStatistics s = detail::rank_statistics(counts, out.expected, total);
                                null.row(b) << s.chi_squared, s.deviation;
                              });
  const auto p_value = [&](Index statistic, double value) {  // equal up to rounding counts as reached
    const auto reached = (null.col(statistic).array() >= value * (1 - 1e-9)).count();
    return static_cast<double>(reached + 1) / static_cast<double>(settings.null_simulations + 1);
  };

  Index worst = 0;
  double smallest = 2;
  for (Index k = 0; k < d; ++k) {
    std::vector<int> counts(cells, 0);
    for (Index i = 0; i < simulations; ++i) {
      if (ranks(k, i) < 0 || ranks(k, i) > draws)
        detail::fail(where, "ranks(", k, ", ", i, ") is ", ranks(k, i), ", but must be 0 to ", draws);
      ++counts[static_cast<std::size_t>(ranks(k, i))];
      ++out.histogram(detail::bin_of(ranks(k, i), draws, bins), k);
    }
    const detail::RankStatistics s = detail::rank_statistics(counts, out.expected, total);
    out.chi_squared(k) = s.chi_squared;
    out.deviation(k) = s.deviation;
    out.chi_squared_p(k) = p_value(0, s.chi_squared);
    out.deviation_p(k) = p_value(1, s.deviation);
    const double p = std::min(out.chi_squared_p(k), out.deviation_p(k));
    if (p < smallest) smallest = p, worst = k;
  }
  out.p_value = std::min(1.0, 2 * static_cast<double>(d) * smallest);
  out.verdict = out.p_value > 0.05 ? repel::detail::concat("no sign of miscalibration in ", simulations,
                                                           " simulations (p = ", out.p_value, ")")
                                   : repel::detail::concat("miscalibrated (p = ", out.p_value,
                                                           "): ranks are not uniform, worst those of parameter ", worst,
                                                           ", because ", detail::shape_of(ranks, worst, draws));
  return out;
}

}  // namespace repel::diagnostics
