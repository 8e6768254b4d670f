// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/diagnostics/check.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/pairwise/pairs.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

// The maximum mean discrepancy (Gretton et al. 2012) between particles and a reference sample, say of Hamiltonian Monte
// Carlo: MMD² = E k(x, x′) + E k(y, y′) − 2 E k(x, y), 0 if and only if both come from one distribution (for Rbf, Imq,
// Laplace and the Matérns). It needs no score, and sees wrong weights of modes, which KSD does not.
//
// What it does not see: anything that the reference gets wrong as well; details much finer or much wider than √h;
// deviations small against 1/√n. The test asks whether the two could be *draws* of one distribution, all of them
// independent. Repelling particles are not draws: spread more evenly, they make the statistic too small and p_value too
// large. A reference of dependent draws makes p_value too small: thin it first.

namespace repel::diagnostics {

/// The default kernel: Rbf with the plain median of the distances of both samples together.
using MmdDefault = Rbf<PlainMedianBandwidth>;

/// Both estimates of MMD², without a test.
struct MmdStatistic {
  double u;          ///< without the terms k(x_i, x_i): unbiased, so it may be negative
  double v;          ///< with them: the MMD² of the two samples as they are, never negative
  double bandwidth;  ///< the kernel's h
};

/// What mmd_test() finds.
struct MmdResult {
  double u, v;       ///< as in MmdStatistic
  double p_value;    ///< small if the samples are unlikely to be draws of one distribution
  double bandwidth;  ///< the kernel's h
};

/// Settings of mmd_test.
struct MmdTest {
  Index permutations = 1000;  ///< the smallest p-value is 1 / (permutations + 1)
  std::uint64_t seed = 0;

  void validate() const { detail::require_count("diagnostics::MmdTest", "permutations", permutations, 1); }
};

namespace detail {

/// A kernel on both samples together, with the bandwidth that its rule chooses for them.
template <class K>
class PooledSamples {
  static_assert(repel::detail::assert_kernel<K>());

 public:
  template <class X, class Y>
  PooledSamples(const char* where, const Eigen::MatrixBase<X>& particles, const Eigen::MatrixBase<Y>& reference,
                const K& kernel) {
    const Eigen::MatrixXd x = checked_sample(where, "particles", particles, 2);
    const Eigen::MatrixXd y = checked_sample(where, "reference", reference, 2);
    if (x.rows() != y.rows())
      fail(where, "reference has ", y.rows(), " rows, but must have ", x.rows(), " like particles");
    repel::detail::validate_kernel(kernel);
    Eigen::MatrixXd both(x.rows(), x.cols() + y.cols());
    both << x, y;
    first_ = x.cols();
    pairs_.measure(kernel, both);
    diagonal_ = pairs_.diagonal();
  }

  Index count() const { return pairs_.count(); }
  Index first() const { return first_; }  ///< the size of the first sample
  double bandwidth() const { return pairs_.bandwidth(); }

  /// MMD² of every way to take the first sample that a row of `taken` (0 or 1 for each point) describes.
  std::vector<MmdStatistic> statistics(const Eigen::MatrixXd& taken) {
    Eigen::VectorXd sums;  // Σ_i k_ij
    Eigen::MatrixXd within(taken.rows(), count());
    pairs_.accumulate(pair::sums(sums), pair::product(taken, within));
    const double all = sums.sum(), trace = diagonal_.sum();
    const auto n = static_cast<double>(first_), m = static_cast<double>(count()) - n;
    std::vector<MmdStatistic> out;
    for (Index b = 0; b < taken.rows(); ++b) {
      const double xx = within.row(b).dot(taken.row(b)), xy = taken.row(b).dot(sums) - xx, yy = all - xx - 2 * xy;
      const double own = taken.row(b).dot(diagonal_), others = trace - own;
      out.push_back({(xx - own) / (n * (n - 1)) + (yy - others) / (m * (m - 1)) - 2 * xy / (n * m),
                     xx / (n * n) + yy / (m * m) - 2 * xy / (n * m), bandwidth()});
    }
    return out;
  }

 private:
  Index first_ = 0;
  Pairs<K, double> pairs_;
  Eigen::VectorXd diagonal_;
};

}  // namespace detail

/// The maximum mean discrepancy between particles (d×n) and a reference sample (d×m), n and m at least 2. Sums are
/// formed as Pairs forms them: no n×n matrix in low dimension, none for many particles.
template <class X, class Y, class K = MmdDefault>
MmdStatistic mmd(const Eigen::MatrixBase<X>& particles, const Eigen::MatrixBase<Y>& reference, const K& kernel = {}) {
  detail::PooledSamples<K> samples("diagnostics::mmd", particles, reference, kernel);
  Eigen::MatrixXd taken = Eigen::MatrixXd::Zero(1, samples.count());
  taken.leftCols(samples.first()).setOnes();
  return samples.statistics(taken)[0];
}

/// The same with a test of the hypothesis that both are independent draws of one distribution: how often samples of
/// these sizes, divided anew at random, are as far apart (by u). The level is exact for any n, m and kernel, as the
/// bandwidth comes from both samples together. Holds 2 (permutations + 1) × (n + m) numbers.
template <class X, class Y, class K = MmdDefault>
MmdResult mmd_test(const Eigen::MatrixBase<X>& particles, const Eigen::MatrixBase<Y>& reference,
                   const MmdTest& settings = {}, const K& kernel = {}) {
  settings.validate();
  detail::PooledSamples<K> samples("diagnostics::mmd_test", particles, reference, kernel);
  const Index count = samples.count(), permutations = settings.permutations;
  Eigen::MatrixXd taken = Eigen::MatrixXd::Zero(permutations + 1, count);
  taken.row(0).head(samples.first()).setOnes();  // as they are
  repel::detail::parallel_for(permutations, 10 * static_cast<double>(count) + 1000, [&](Index b) {
    Random random(stream_seed(settings.seed, static_cast<std::uint64_t>(b)));
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), Index{0});
    for (Index i = 0; i < samples.first(); ++i) {  // the beginning of a Fisher–Yates shuffle
      const auto j = i + static_cast<Index>(random.uniform() * static_cast<double>(count - i));
      std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
      taken(b + 1, order[static_cast<std::size_t>(i)]) = 1;
    }
  });
  const std::vector<MmdStatistic> all = samples.statistics(taken);
  // The same division of the same points may differ in its last bits: a tie all the same.
  const double reach = all[0].u - 1e-12 * (1 + std::abs(all[0].u));
  const auto reached = std::count_if(all.begin() + 1, all.end(), [&](const MmdStatistic& s) { return s.u >= reach; });
  return {all[0].u, all[0].v, static_cast<double>(reached + 1) / static_cast<double>(permutations + 1),
          all[0].bandwidth};
}

}  // namespace repel::diagnostics
