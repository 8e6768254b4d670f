// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/norm.hpp>
#include <repel/score/estimator.hpp>

// Update rules: from the positions z where the particles interact and the driving force s = ∇ log p there to the ascent
// direction Φ.
//
// A rule is a value with
//   RuleInfo direction(z, s, workspace, phi) const      all d×n; phi is written, never z or s
// and, if it needs buffers, a nested `template <class Scalar> struct Workspace`. If it, or its estimator, kernel or
// bandwidth rule, has a member begin_step(Index step), the sampler calls it before the step (core/begin_step.hpp).
//
// In function space the kernel may see a view of the outputs, such as class probabilities, while s belongs to the
// outputs themselves. A rule that supports this gives the two parts of Φ separately:
//   RuleInfo parts(z, s, workspace, driving, repulsion) const      driving like s, repulsion like z
// The space maps the repulsion back through the view and adds the two; the rule knows nothing of views.

namespace repel {

/// What a rule saw while it formed a direction.
struct RuleInfo {
  double bandwidth = 0;  ///< the kernel's h; 0 for a rule without a kernel
  double repulsion = 0;  ///< mean over particles of the norm of the repulsive part of Φ
  SolveInfo solve{};     ///< what an iterative solver did
  double noise = 0;      ///< β: noise of variance 2 β ε is to be added to a move of step size ε (rule/langevin.hpp)
};

/// What turns positions and driving force into a direction.
template <class R>
concept Rule = requires(const R& rule, const Eigen::MatrixXd& z, WorkspaceOf<R, double>& workspace,
                        Eigen::MatrixXd& phi) {
  { rule.direction(z, z, workspace, phi) } -> std::convertible_to<RuleInfo>;
};

/// A rule that gives driving force and repulsion separately.
template <class R>
concept SplitRule = Rule<R> &&
    requires(const R& rule, const Eigen::MatrixXd& z, WorkspaceOf<R, double>& workspace, Eigen::MatrixXd& phi) {
  { rule.parts(z, z, workspace, phi, phi) } -> std::convertible_to<RuleInfo>;
};

namespace detail {

/// Whether Φ_j depends on no driving force but s_j. A rule of which that is true says so by `static constexpr bool
/// own_score_only = true;`, and processes that share particles need not exchange s.
template <class R>
consteval bool uses_own_score_only() {
  if constexpr (requires { R::own_score_only; })
    return R::own_score_only;
  else
    return false;
}

template <class R>
consteval bool assert_rule() {
  static_assert(Rule<R>,
                "repel: an update rule is expected here, such as Wgd{Sge{Rbf{}}}, Svgd{Rbf{}} or PlainEnsemble{}; an "
                "estimator goes inside Wgd{...}, a kernel inside Svgd{...}");
  return true;
}

}  // namespace detail

/// The ascent direction of a rule at particles x, given ∇ log p at them; d×n.
template <class R, class Derived, class Gradient>
Matrix<typename Derived::Scalar> direction(const R& rule, const Eigen::MatrixBase<Derived>& x,
                                           const Eigen::MatrixBase<Gradient>& grad_log_p) {
  using Scalar = typename Derived::Scalar;
  static_assert(detail::assert_rule<R>());
  static_assert(std::same_as<Scalar, typename Gradient::Scalar>,
                "repel::direction: X and grad_log_p must have the same scalar type");
  detail::validate(rule);
  const Matrix<Scalar> points = detail::checked_points("direction", "X", x);
  const Matrix<Scalar> gradient = grad_log_p;
  detail::require_same_shape("direction", "grad_log_p", gradient, "X", points);
  detail::require_usable("direction", "grad_log_p", gradient);
  WorkspaceOf<R, Scalar> workspace;
  Matrix<Scalar> phi(points.rows(), points.cols());
  const RuleInfo info = rule.direction(points, gradient, workspace, phi);
  detail::require_finite_result("direction", phi, info.bandwidth);
  return phi;
}

}  // namespace repel
