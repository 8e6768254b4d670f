// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/diagnostics/stein_kernel.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

// Better use of draws that are there already: fewer of them, or weighted ones, closer to the target in the kernelised
// Stein discrepancy. Both correct for draws from the wrong distribution (a biased sampler, burn-in), as far as the
// draws cover the target: where there are none, nothing can be chosen. They inherit the blind spots of KSD (ksd.hpp):
// draws from two separate modes are not given the modes' right weights. A draw where the score vanishes looks good even
// where p is small, such as between two modes (Bénard et al. 2023). Standardise coordinates of very different scale.

namespace repel::diagnostics {

/// Stein thinning (Riabiz et al. 2022): the indices of m draws, in the order in which they were chosen, each the one
/// that makes the KSD of those chosen so far the smallest. A draw may be chosen again; the first of several equally
/// good ones is taken. Time n m d, memory n d.
template <class X, class S, class K = SteinDefault>
std::vector<Index> stein_thinning(const Eigen::MatrixBase<X>& draws, const Eigen::MatrixBase<S>& scores, Index m,
                                  const K& kernel = {}) {
  constexpr const char* where = "diagnostics::stein_thinning";
  detail::require_count(where, "m", m, 1);
  const detail::SteinMatrix<K> stein(where, "draws", draws, scores, kernel);
  const Index n = stein.count();
  constexpr Index width = detail::SteinMatrix<K>::kRun;
  // With u(x_i, x_i)/2 + Σ_chosen u(x_i, x_chosen), which is half of what draw i would add to the sum over all pairs.
  Eigen::VectorXd added = stein.diagonal() / 2;
  std::vector<Index> chosen;
  for (Index step = 0; step < m; ++step) {
    Index best = 0;
    added.minCoeff(&best);
    chosen.push_back(best);
    repel::detail::parallel_tiles(n, width, stein.work(), [&](Index first, Index rows) {
      double u[width];
      stein.column(best, first, rows, u);
      for (Index i = 0; i < rows; ++i) added(first + i) += u[i];
    });
  }
  return chosen;
}

/// Settings of stein_weights.
struct SteinWeightSettings {
  /// Stops once KSD² is proved to be above its minimum by at most this fraction of the KSD² of equal weights.
  double tolerance = 1e-3;
  Index iterations = 20000;  ///< at most; each costs 4 n multiply-adds

  void validate() const {
    repel::detail::require_positive("diagnostics::SteinWeightSettings", "tolerance", tolerance);
    detail::require_count("diagnostics::SteinWeightSettings", "iterations", iterations, 1);
  }
};

/// What stein_weights() finds.
struct SteinWeights {
  Eigen::VectorXd weights;  ///< of the draws: at least 0, with sum 1
  double ksd;               ///< wᵀUw, the KSD² (V) of the weighted draws
  double equal_ksd;         ///< that of equal weights
  double gap;               ///< ksd is at most this much above its minimum
  Index iterations;         ///< taken
  bool converged;           ///< gap ≤ tolerance · equal_ksd
};

/// Stein importance weights (Liu & Lee 2017): w that minimise wᵀUw with w ≥ 0 and Σw = 1, so that Σ w_i f(x_i)
/// estimates E f under the target although the draws come from elsewhere.
///
/// By pairwise Frank–Wolfe steps with exact line search (Lacoste-Julien & Jaggi 2015): weight moves from the draw where
/// the gradient is largest, among those that have any, to the draw where it is smallest. It converges linearly, as U is
/// positive definite for different draws, and the duality gap 2 (wᵀUw − min_i (Uw)_i) bounds what is left. In few
/// dimensions U is nearly singular: the minimum is then tiny, many weights are about equally good, and only the
/// discrepancy is found, not the weights. Weights that should be 0 become exactly 0. Holds the n×n matrix U.
template <class X, class S, class K = SteinDefault>
SteinWeights stein_weights(const Eigen::MatrixBase<X>& draws, const Eigen::MatrixBase<S>& scores,
                           const SteinWeightSettings& settings = {}, const K& kernel = {}) {
  settings.validate();
  const detail::SteinMatrix<K> stein("diagnostics::stein_weights", "draws", draws, scores, kernel);
  const Eigen::MatrixXd u = detail::full_matrix(stein);
  const Index n = stein.count();
  SteinWeights out{Eigen::VectorXd::Constant(n, 1 / static_cast<double>(n)), 0, 0, 0, 0, false};
  Eigen::VectorXd& w = out.weights;
  Eigen::VectorXd uw = u.rowwise().mean();  // half of the gradient
  out.equal_ksd = uw.mean();
  for (;; ++out.iterations) {
    if (out.iterations % 1000 == 999) uw = u * w;  // sheds the rounding of the steps
    Index to = 0, from = -1;
    out.ksd = w.dot(uw);
    out.gap = 2 * (out.ksd - uw.minCoeff(&to));
    out.converged = out.gap <= settings.tolerance * out.equal_ksd;
    if (out.converged || out.iterations == settings.iterations) break;
    for (Index i = 0; i < n; ++i)
      if (w(i) > 0 && (from < 0 || uw(i) > uw(from))) from = i;
    const double curvature = u(to, to) - 2 * u(to, from) + u(from, from), descent = uw(from) - uw(to);
    if (!(descent > 0)) break;  // the gradient is flat, up to rounding
    const double step = curvature > 0 ? std::min(w(from), descent / curvature) : w(from);
    w(from) = step == w(from) ? 0 : w(from) - step;
    w(to) += step;
    uw += step * (u.col(to) - u.col(from));
  }
  w /= w.sum();
  return out;
}

}  // namespace repel::diagnostics
