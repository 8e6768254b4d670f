// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/linalg/exact_sqrt.hpp>
#include <repel/rule/rule.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace repel {

/// Any rule with a part β of Langevin dynamics: dx = (Φ + β ∇ log p) dt + √(2β) dW. Both flows leave the posterior as it
/// is, so their sum does; noise keeps particles apart where a kernel cannot, in many dimensions, and lets them find what
/// the rule's own fixed point misses. With SVGD inside it is stochastic particle-optimisation sampling, SPOS (Zhang et
/// al. 2020). β = 0 is the rule itself; PlainEnsemble inside gives Langevin dynamics at the temperature β / (1 + β).
///
///   weight_space(target, Langevin{Svgd{}, 0.1, /*seed=*/1}, Sgd{.learning_rate = 0.1})
///
/// A step adds noise of variance 2 β ε, where ε is what the optimiser multiplies a direction by: its learning rate, for
/// Adam, RmsProp and AdaGrad that of each coordinate (as in pSGLD, Li et al. 2016, whose correction for a changing
/// step size is left out here as there). So Sgd is right as ε goes to 0, which a schedule can see to; the others are
/// right if their step sizes have settled. All draws are functions of seed, step and particle: the same bits for any
/// number of threads, and a run goes on from any state. For weight space.
template <class InnerRule>
struct Langevin {
  static_assert(detail::assert_rule<InnerRule>());
  InnerRule inner{};  ///< the rule
  double beta = 0.1;  ///< how much noise; 0 is the rule alone
  std::uint64_t seed = 0;

  static constexpr bool adds_noise = true;  ///< the sampler adds it after the rule
  static constexpr bool own_score_only = detail::uses_own_score_only<InnerRule>();

  template <class Scalar>
  struct Workspace {
    WorkspaceOf<InnerRule, Scalar> inner;
  };

  void validate() const {
    detail::validate(inner);
    detail::require_non_negative("Langevin", "beta", beta);
  }

  template <class Z, class S, class Workspace, class Phi>
  RuleInfo direction(const Z& z, const S& s, Workspace& w, Phi& phi) const {
    RuleInfo info = inner.direction(z, s, w.inner, phi);
    if (beta == 0) return info;
    const auto part = static_cast<typename Phi::Scalar>(beta);
    detail::parallel_tiles(s.cols(), 4, static_cast<double>(s.rows()), [&](Index first, Index width) {
      phi.middleCols(first, width) += part * s.middleCols(first, width);
    });
    info.noise = beta;
    return info;
  }
};
template <class InnerRule>
Langevin(InnerRule) -> Langevin<InnerRule>;
template <class InnerRule>
Langevin(InnerRule, double) -> Langevin<InnerRule>;
template <class InnerRule>
Langevin(InnerRule, double, std::uint64_t) -> Langevin<InnerRule>;

namespace detail {

/// Adds noise of variance 2 β ε to particles that an optimiser has just moved. Column 0 is particle `offset`.
template <class Optim, class Memory, class P>
void add_noise(const Optim& optimiser, const Memory& memory, Index step, double beta, std::uint64_t seed, P& particles,
               Index offset = 0) {
  using Scalar = typename P::Scalar;
  static_assert(
      requires(Scalar * out) { optimiser.step_sizes(memory, step, Index{0}, Index{0}, 1.0, out); },
      "repel::Langevin: noise needs to know the optimiser's step sizes, by a member step_sizes(memory, step, first, "
      "count, factor, out); see optim/sgd.hpp");
  static_assert(!P::IsRowMajor, "repel::Langevin: particles must be stored by columns");
  constexpr Index run = 512;
  parallel_for(particles.cols(), 40 * static_cast<double>(particles.rows()), [&](Index j) {
    alignas(64) Scalar size[run], draw[run];
    const std::uint64_t stream =
        stream_seed(seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(offset + j));
    for (Index first = 0; first < particles.rows(); first += run) {
      const Index count = std::min(run, particles.rows() - first);
      optimiser.step_sizes(memory, step, first + j * particles.rows(), count, 1.0, size);
      Eigen::Map<Vector<Scalar>> normal(draw, count);
      fill_normal<Scalar>(stream_seed(stream, static_cast<std::uint64_t>(first)), normal);
      array_at(particles.data() + first + j * particles.outerStride(), count) +=
          exact_sqrt(static_cast<Scalar>(2 * beta) * array_at(size, count)) * array_at(draw, count);
    }
  });
}

}  // namespace detail

}  // namespace repel
