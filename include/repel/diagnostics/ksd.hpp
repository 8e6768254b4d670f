// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/diagnostics/stein_kernel.hpp>
#include <repel/linalg/product.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

// The kernelised Stein discrepancy (Liu, Lee & Jordan 2016; Chwialkowski, Strathmann & Gretton 2016): how far particles
// are from a target of which only the score ∇ log p is known. KSD² = E u(x, x′) over independent x, x′ (for u see
// stein_kernel.hpp), 0 if and only if the particles' distribution is p.
//
// What it does not see: the weights of well separated modes, and modes without any particle, since scores are local;
// deviations small against 1/√n in high dimension; errors along coordinates much smaller than the others, as distances
// are Euclidean (standardise first). The discrepancy itself has no scale: compare it between sets of particles of one
// target with one fixed bandwidth, or use the test. The test asks whether the particles could be *draws* from p.
// Particles of SVGD and its kin are not: they repel each other, so u is negative and p_value near 1 where they are
// better spread than draws. For them a small p-value still means trouble; a large one is no proof of health.

namespace repel::diagnostics {

/// Both estimates of KSD², without a test.
struct KsdStatistic {
  double u;          ///< Σ_{i≠j} u_ij / (n(n − 1)): unbiased for independent draws, so it may be negative
  double v;          ///< Σ_ij u_ij / n²: the KSD² of the particles as they are, never negative
  double bandwidth;  ///< the kernel's h
};

/// What ksd_test() finds.
struct KsdResult {
  double u, v;       ///< as in KsdStatistic
  double p_value;    ///< small if the particles are unlikely to be draws from p
  double bandwidth;  ///< the kernel's h
};

/// Settings of ksd_test.
struct KsdTest {
  Index replicates = 1000;  ///< of the bootstrap; the smallest p-value is 1 / (replicates + 1)
  /// 0.5 for independent draws. For a Markov chain's, in the order of the chain, smaller: a weight keeps its sign for
  /// about 1 / change_probability draws, which should exceed the time after which draws are uncorrelated.
  double change_probability = 0.5;
  std::uint64_t seed = 0;

  void validate() const {
    detail::require_count("diagnostics::KsdTest", "replicates", replicates, 1);
    if (!(change_probability > 0 && change_probability <= 0.5))
      detail::fail("diagnostics::KsdTest", "change_probability is ", change_probability,
                   ", but must be larger than 0 and at most 0.5");
  }
};

namespace detail {

/// w_bᵀ (U − diag U) w_b for every column w_b of `weights` (n×b), in one pass over the lower triangle of U by strips of
/// 64 columns: memory for a strip per thread, 64 n numbers, and 64 b.
template <class K>
Eigen::VectorXd stein_forms(const SteinMatrix<K>& stein, const Eigen::MatrixXd& weights) {
  constexpr Index width = SteinMatrix<K>::kRun;
  const Index n = stein.count(), forms = weights.cols(), strips = (n + width - 1) / width;
  const Index slots = repel::detail::thread_slots();
  Eigen::MatrixXd partial(forms, strips);
  std::vector<Eigen::MatrixXd> strip(static_cast<std::size_t>(slots)), product(strip.size());
  const double work = (stein.work() + static_cast<double>(forms)) * static_cast<double>(n * std::min(n, width));
  repel::detail::parallel_for(strips, work, slots, [&](Index piece, Index slot) {
    const Index first = piece * width, columns = std::min(width, n - first), rows = n - first;
    Eigen::MatrixXd &u = strip[static_cast<std::size_t>(slot)], &uw = product[static_cast<std::size_t>(slot)];
    u.resize(rows, columns);
    uw.resize(columns, forms);
    for (Index j = 0; j < columns; ++j) {
      stein.column(first + j, first, rows, &u(0, j));
      u(j, j) = 0;
      repel::detail::array_at(u.data() + j * rows + columns, rows - columns) *= 2;  // for the upper triangle
    }
    using repel::detail::Stored;
    repel::detail::multiply<Stored::transposed, Stored::plain, double>(
        columns, forms, rows, repel::detail::block_at(u, 0, 0), repel::detail::block_at(weights, first, 0),
        repel::detail::block_at(uw, 0, 0));
    for (Index b = 0; b < forms; ++b) partial(b, piece) = uw.col(b).dot(weights.col(b).segment(first, columns));
  });
  Eigen::VectorXd sums = Eigen::VectorXd::Zero(forms);
  for (Index piece = 0; piece < strips; ++piece) sums += partial.col(piece);  // in order: the same bits
  return sums;
}

inline KsdStatistic ksd_of(double off_diagonal, double diagonal, Index count, double h) {
  const auto n = static_cast<double>(count);
  return {off_diagonal / (n * (n - 1)), (off_diagonal + diagonal) / (n * n), h};
}

}  // namespace detail

/// The kernelised Stein discrepancy of particles (d×n, one per column, n ≥ 2) with the scores ∇ log p(x_i) (d×n).
template <class X, class S, class K = SteinDefault>
KsdStatistic ksd(const Eigen::MatrixBase<X>& particles, const Eigen::MatrixBase<S>& scores, const K& kernel = {}) {
  const detail::SteinMatrix<K> stein("diagnostics::ksd", "particles", particles, scores, kernel);
  const Index n = stein.count();
  const double sum = detail::stein_forms(stein, Eigen::MatrixXd::Ones(n, 1))(0);
  return detail::ksd_of(sum, stein.diagonal().sum(), n, stein.bandwidth());
}

/// The same with a test of the hypothesis that the particles are draws from p, by the wild bootstrap (Chwialkowski et
/// al. 2016): how often Σ_{i≠j} w_i w_j u_ij reaches Σ_{i≠j} u_ij for random signs w. Under the hypothesis u is
/// degenerate (its mean over either argument is 0), and signs keep it so. As w_i² = 1, tests by U and by V are the same
/// test. Holds n × (replicates + 1) signs; U is never stored. Acceptance and power: docs/diagnostics.md.
template <class X, class S, class K = SteinDefault>
KsdResult ksd_test(const Eigen::MatrixBase<X>& particles, const Eigen::MatrixBase<S>& scores,
                   const KsdTest& settings = {}, const K& kernel = {}) {
  settings.validate();
  const detail::SteinMatrix<K> stein("diagnostics::ksd_test", "particles", particles, scores, kernel);
  const Index n = stein.count(), replicates = settings.replicates;
  Eigen::MatrixXd signs = Eigen::MatrixXd::Ones(n, replicates + 1);  // the first column: the particles as they are
  repel::detail::parallel_for(replicates, 10 * static_cast<double>(n) + 1000, [&](Index b) {
    Random random(stream_seed(settings.seed, static_cast<std::uint64_t>(b)));
    double sign = 1;
    for (Index i = 0; i < n; ++i) {
      if (random.uniform() < settings.change_probability) sign = -sign;
      signs(i, b + 1) = sign;
    }
  });
  const Eigen::VectorXd sums = detail::stein_forms(stein, signs);
  const auto reached = (sums.tail(replicates).array() >= sums(0)).count();
  const KsdStatistic value = detail::ksd_of(sums(0), stein.diagonal().sum(), n, stein.bandwidth());
  return {value.u, value.v, static_cast<double>(reached + 1) / static_cast<double>(replicates + 1), value.bandwidth};
}

}  // namespace repel::diagnostics
