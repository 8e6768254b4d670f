// SPDX-License-Identifier: MIT
#pragma once

#include <repel/rule/rule.hpp>
#include <repel/score/sge.hpp>

namespace repel {

/// Wasserstein gradient descent on KL(ρ, p): Φ = ∇ log p − ∇ log ρ, with an estimate of ∇ log ρ (the paper's
/// equation 13).
template <class Estimator = Sge<>>
struct Wgd {
  static_assert(detail::assert_estimator<Estimator>());
  Estimator estimator{};

  static constexpr bool own_score_only = true;

  template <class Scalar>
  struct Workspace {
    Pairs<KernelOf<Estimator>, Scalar> pairs;
    WorkspaceOf<Estimator, Scalar> estimator;
  };

  void validate() const { detail::validate_estimator(estimator); }

  template <class Z, class S, class Workspace, class Phi>
  RuleInfo direction(const Z& z, const S& s, Workspace& w, Phi& phi) const {
    w.pairs.measure(detail::kernel_of(estimator), z);
    const SolveInfo solve = detail::score_of(estimator, w.pairs, z, w.estimator, phi);  // in place
    const double repulsion = detail::subtract_and_norm(s, phi, phi);
    return {w.pairs.bandwidth(), repulsion, solve};
  }

  template <class Z, class S, class Workspace, class Driving, class Repulsion>
  RuleInfo parts(const Z& z, const S& s, Workspace& w, Driving& driving, Repulsion& repulsion) const {
    w.pairs.measure(detail::kernel_of(estimator), z);
    const SolveInfo solve = detail::score_of(estimator, w.pairs, z, w.estimator, repulsion);
    repulsion *= -1;
    driving = s;
    return {w.pairs.bandwidth(), detail::mean_norm(repulsion), solve};
  }
};
Wgd()->Wgd<>;
template <class Estimator>
Wgd(Estimator) -> Wgd<Estimator>;

}  // namespace repel
