// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

// Have the chains converged, and how many independent draws are they worth? Both diagnostics split each chain into
// halves, so that a drifting chain disagrees with itself (Gelman et al., Bayesian Data Analysis, 3rd ed., 11.4–11.5;
// Vehtari et al. 2021, without rank normalisation).

namespace repel {

namespace detail {

/// The first and second halves of every chain as columns; the middle draw of an odd number is left out.
inline Eigen::MatrixXd halves(const char* where, const Eigen::MatrixXd& chains) {
  if (chains.cols() < 1) fail(where, "chains has 0 columns, but needs at least 1 (one per chain)");
  if (chains.rows() < 4) fail(where, "chains has ", chains.rows(), " rows, but needs at least 4 draws");
  const Index n = chains.rows() / 2;
  Eigen::MatrixXd out(n, 2 * chains.cols());
  out << chains.topRows(n), chains.bottomRows(n);
  return out;
}

/// Within-chain variance W and the pooled estimate var⁺ = (n − 1)/n W + B/n.
struct Variances {
  double within, pooled;
};

inline Variances variances(const Eigen::MatrixXd& chains) {
  const auto n = static_cast<double>(chains.rows()), m = static_cast<double>(chains.cols());
  const Eigen::RowVectorXd means = chains.colwise().mean();
  const double within = (chains.rowwise() - means).squaredNorm() / ((n - 1) * m);
  const double between = m > 1 ? (means.array() - means.mean()).square().sum() / (m - 1) : 0;
  return {within, (n - 1) / n * within + between};
}

}  // namespace detail

/// Split R̂ of one quantity: a row per draw, a column per chain. Near 1 if all halves of all chains agree; 1 for a
/// constant quantity; infinite if each half is constant but they differ.
inline double split_r_hat(const Eigen::MatrixXd& chains) {
  const detail::Variances v = detail::variances(detail::halves("split_r_hat", chains));
  if (v.within > 0) return std::sqrt(v.pooled / v.within);
  return v.pooled > 0 ? std::numeric_limits<double>::infinity() : v.pooled == 0 ? 1 : v.pooled;  // the last: NaN
}

/// The number of independent draws that would estimate the mean equally well, for one quantity: a row per draw, a
/// column per chain. Autocorrelations are summed by Geyer's initial monotone sequence. 0 for a constant quantity.
inline double effective_sample_size(const Eigen::MatrixXd& chains) {
  const Eigen::MatrixXd split = detail::halves("effective_sample_size", chains);
  const detail::Variances v = detail::variances(split);
  if (!(v.pooled > 0)) return v.pooled == 0 ? 0 : v.pooled;
  const Index n = split.rows();
  const double draws = static_cast<double>(split.size());
  const Eigen::MatrixXd centred = split.rowwise() - split.colwise().mean();
  const auto correlation = [&](Index lag) {
    const double covariance = centred.topRows(n - lag).cwiseProduct(centred.bottomRows(n - lag)).sum() / draws;
    return 1 - (v.within - covariance) / v.pooled;
  };
  // Sums of neighbouring correlations are positive and decrease in any reversible chain; only noise violates this.
  double time = -1, last = std::numeric_limits<double>::infinity();
  for (Index lag = 0; lag + 1 < n; lag += 2) {
    const double pair = (lag == 0 ? 1 : correlation(lag)) + correlation(lag + 1);
    if (!(pair > 0)) break;
    last = std::min(last, pair);
    time += 2 * last;
  }
  return draws / std::max(time, 1 / std::log10(draws));  // not more than draws · log10(draws), for antithetic chains
}

/// Both diagnostics for many quantities at once.
struct Diagnostics {
  Eigen::VectorXd r_hat;              ///< split R̂ of every row
  Eigen::VectorXd effective_samples;  ///< effective sample size of every row
};

/// Diagnostics for each row of `draws`, which holds chain after chain: quantities×(chains · draws per chain).
template <class Derived>
Diagnostics diagnose(const Eigen::MatrixBase<Derived>& draws, Index chains) {
  if (chains < 1 || draws.cols() % chains != 0)
    detail::fail("diagnose", "chains is ", chains, ", but must divide the number of draws, ", draws.cols());
  const Index per_chain = draws.cols() / chains;
  if (per_chain < 4) detail::fail("diagnose", "there are ", per_chain, " draws per chain, but it takes at least 4");
  Diagnostics out{Eigen::VectorXd(draws.rows()), Eigen::VectorXd(draws.rows())};
  detail::parallel_for(draws.rows(), 100 * static_cast<double>(draws.cols()), [&](Index i) {
    const Eigen::MatrixXd quantity = draws.row(i).template cast<double>().reshaped(per_chain, chains);
    out.r_hat(i) = split_r_hat(quantity);
    out.effective_samples(i) = effective_sample_size(quantity);
  });
  return out;
}

}  // namespace repel
