#pragma once

#include <repel/core/check.hpp>
#include <repel/core/norm.hpp>
#include <repel/core/types.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/solver.hpp>

// Update rules: from the particles z and the driving force s = ∇ log p at them to the ascent direction Φ.
//
// A rule is a value with
//   Forces direction(z, s, workspace, phi) const      all d×n; phi is written, never z or s
// and, where it needs buffers, a nested `template <class Scalar> struct Workspace`.
//
// In function space the kernel may look at something made from the outputs, such as class probabilities, while s and
// phi belong to the outputs themselves. A rule that allows it takes a fifth argument, `pull`: pull(repulsion) is the
// repulsive part, formed where the kernel looks, brought back to where s is. Where both are the same it is SamePlace.

namespace repel {

/// What a rule saw while it formed a direction.
struct Forces {
  double bandwidth = 0;  ///< the kernel's h; 0 for a rule without a kernel
  double driving = 0;    ///< mean over particles of ‖∇ log p‖
  double repulsion = 0;  ///< mean over particles of the norm of the repulsive part of Φ
  SolveInfo solve{};     ///< what an iterative solver did
};

/// The kernel looks at what the driving force acts on: there is nothing to bring back.
struct SamePlace {
  template <class Repulsion>
  const Repulsion& operator()(const Repulsion& repulsion) const {
    return repulsion;
  }
};

template <class R>
concept Rule = requires(const R& rule, const Eigen::MatrixXd& z, WorkspaceOf<R, double>& workspace,
                        Eigen::MatrixXd& phi) {
  { rule.direction(z, z, workspace, phi) } -> std::convertible_to<Forces>;
};

namespace detail {

template <class R>
consteval bool assert_rule() {
  static_assert(Rule<R>,
                "repel: an update rule is expected here, such as Wgd{Sge{Rbf{}}}, Svgd{Rbf{}} or Map{}; an estimator "
                "goes inside Wgd{...}, a kernel inside Svgd{...}");
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
  const auto& points = x.derived().eval();
  const auto& gradient = grad_log_p.derived().eval();
  detail::require_points("direction", "X", points);
  detail::require_same_shape("direction", "grad_log_p", gradient, "X", points);
  detail::require_usable("direction", "grad_log_p", gradient);
  WorkspaceOf<R, Scalar> workspace;
  Matrix<Scalar> phi(points.rows(), points.cols());
  const Forces forces = rule.direction(points, gradient, workspace, phi);
  detail::require_finite_result("direction", phi, forces.bandwidth);
  return phi;
}

}  // namespace repel
