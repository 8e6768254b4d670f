// SPDX-License-Identifier: MIT
#pragma once

#include <repel/benchmark/roofline.hpp>

#include <algorithm>

// The arithmetic and memory traffic that a step of a rule cannot do without. The median bandwidth is not part of it, nor are
// the iterations of iterative solvers: both could be avoided, by another bandwidth rule or a better solver.

namespace repel::bench {

/// The kinds of sums over pairs of particles.
enum class RuleKind { plain, kde, svgd, blob, sge, ssge };

/// What kind of sums a rule or an estimator makes. Rules and estimators of your own count as the cheapest method with a
/// kernel: a value and a gradient per pair.
template <class Policy>
inline constexpr RuleKind kRuleKind = RuleKind::kde;
template <>
inline constexpr RuleKind kRuleKind<PlainEnsemble> = RuleKind::plain;
template <class Kernel>
inline constexpr RuleKind kRuleKind<Svgd<Kernel>> = RuleKind::svgd;
template <class Kernel>
inline constexpr RuleKind kRuleKind<Blob<Kernel>> = RuleKind::blob;
template <class Kernel, class Solver>
inline constexpr RuleKind kRuleKind<Sge<Kernel, Solver>> = RuleKind::sge;
template <class Kernel, class Eigenpairs, class Solver>
inline constexpr RuleKind kRuleKind<Ssge<Kernel, Eigenpairs, Solver>> = RuleKind::ssge;
template <class Estimator>
inline constexpr RuleKind kRuleKind<Wgd<Estimator>> = kRuleKind<Estimator>;
template <class Estimator>
inline constexpr RuleKind kRuleKind<Calibrated<Estimator>> = kRuleKind<Estimator>;
template <class Rule>
inline constexpr RuleKind kRuleKind<Langevin<Rule>> = kRuleKind<Rule>;

/// A step in weight space with Adam, apart from the target.
template <class Scalar>
Work step_work(RuleKind kind, Index count, Index dim) {
  const auto n = static_cast<double>(count), d = static_cast<double>(dim), pairs = n * n / 2;
  Work work;
  work.bytes = 12 * n * d * sizeof(Scalar);  // the target, the rule, and Adam with its two averages
  if (work.bytes < 8e6) work.bytes = 0;      // it stays in the caches
  if (kind == RuleKind::plain) return work;
  const bool few = dim <= 16;
  work.exps = pairs;
  work.flops =
      3 * d * pairs + (few ? 4 * d * pairs : 2 * n * n * d);  // distances and gradient sums, on both sides of a pair
  if (kind == RuleKind::svgd && few) work.flops += 4 * d * pairs;      // else one product does both
  if (kind == RuleKind::blob && few) work.exps *= 2, work.flops *= 2;  // K is not kept
  if (kind == RuleKind::sge) work.flops += n * n * n / 3 + 2 * n * n * std::min(n, d);
  if (kind == RuleKind::ssge) work.flops += n * n * n / 3 + 4 * n * n * std::min(n, d);
  return work;
}

}  // namespace repel::bench
