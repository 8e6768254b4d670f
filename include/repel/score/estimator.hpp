#pragma once

#include <repel/core/check.hpp>
#include <repel/kernel/gram.hpp>

// Score estimators: from particles to ∇ log ρ, the gradient of the log density they were drawn from.
//
// An estimator is a value with a kernel and a member `score` that reads the Gram of the particles. Your own:
//
//   template <class Kernel>
//   struct MyEstimator {
//     Kernel kernel{};
//     template <class Gram, class Out>
//     void score(Gram& gram, auto& /*workspace*/, Out& out) const {   // out: d×n, +∇ log ρ at the particles
//       gram.attraction(out);
//       out /= gram.values().sum();
//     }
//   };
//   template <class Kernel>
//   MyEstimator(Kernel) -> MyEstimator<Kernel>;                       // for clang before 17
//
// A score that solves by iteration may return a SolveInfo (score/solver.hpp), which the step's info then shows.
//
// Buffers that should outlive a step go into a nested `template <class Scalar> struct Workspace`, which score then
// gets as its second argument. An estimator that is defined away from the particles also has
//   void score_at(gram, workspace, queries, out).

namespace repel {

namespace detail {

template <class Policy, class Scalar>
struct FindWorkspace {
  using type = Empty;
};
template <class Policy, class Scalar>
requires requires { typename Policy::template Workspace<Scalar>; }
struct FindWorkspace<Policy, Scalar> {
  using type = typename Policy::template Workspace<Scalar>;
};

}  // namespace detail

/// The buffers of a policy for particles of type Scalar; Empty for one that has none.
template <class Policy, class Scalar>
using WorkspaceOf = typename detail::FindWorkspace<Policy, Scalar>::type;

template <class E>
using KernelOf = std::remove_cvref_t<decltype(std::declval<E>().kernel)>;

template <class E>
concept ScoreEstimator = requires(const E& estimator) {
  requires Kernel<KernelOf<E>>;
}
&&requires(const E& estimator, Gram<KernelOf<E>, double>& gram, WorkspaceOf<E, double>& workspace,
           Eigen::MatrixXd& out) {
  estimator.score(gram, workspace, out);
};

template <class E>
concept OutOfSampleEstimator = ScoreEstimator<E> &&
    requires(const E& estimator, Gram<KernelOf<E>, double>& gram, WorkspaceOf<E, double>& workspace,
             const Eigen::MatrixXd& queries, Eigen::MatrixXd& out) {
  estimator.score_at(gram, workspace, queries, out);
};

namespace detail {

template <class E>
consteval bool assert_estimator() {
  static_assert(ScoreEstimator<E>,
                "repel: a score estimator is expected here, such as Kde{Rbf{}}, Sge{Rbf{}} or Ssge{Rbf{}}; a bare "
                "kernel goes into Svgd{Rbf{}}");
  return true;
}

template <class E>
void validate_estimator(const E& estimator) {
  validate(estimator);
  validate_kernel(estimator.kernel);
}

}  // namespace detail

/// +∇ log ρ at the particles (the columns of x), d×n.
template <class E, class Derived>
Matrix<typename Derived::Scalar> estimate_score(const E& estimator, const Eigen::MatrixBase<Derived>& x) {
  using Scalar = typename Derived::Scalar;
  static_assert(detail::assert_estimator<E>());
  detail::validate_estimator(estimator);
  const auto& points = x.derived().eval();
  detail::require_points("estimate_score", "X", points);
  Gram<KernelOf<E>, Scalar> gram;
  WorkspaceOf<E, Scalar> workspace;
  gram.update(estimator.kernel, points);
  Matrix<Scalar> out(points.rows(), points.cols());
  estimator.score(gram, workspace, out);
  detail::require_finite_result("estimate_score", out, gram.bandwidth());
  return out;
}

/// +∇ log ρ at other points (the columns of queries), d×m, with the bandwidth of x.
template <class E, class Derived, class Queries>
Matrix<typename Derived::Scalar> estimate_score(const E& estimator, const Eigen::MatrixBase<Derived>& x,
                                                const Eigen::MatrixBase<Queries>& queries) {
  using Scalar = typename Derived::Scalar;
  static_assert(detail::assert_estimator<E>());
  static_assert(
      OutOfSampleEstimator<E>,
      "repel::estimate_score: this estimator is defined at the particles only; away from them use Kde or Ssge");
  static_assert(std::same_as<Scalar, typename Queries::Scalar>,
                "repel::estimate_score: X and queries must have the same scalar type");
  detail::validate_estimator(estimator);
  const auto& points = x.derived().eval();
  const auto& at = queries.derived().eval();
  detail::require_points("estimate_score", "X", points);
  detail::require_points("estimate_score", "queries", at);
  if (at.rows() != points.rows())
    detail::fail("estimate_score", "queries has ", at.rows(), " rows, but must have ", points.rows(), " like X");
  Gram<KernelOf<E>, Scalar> gram;
  WorkspaceOf<E, Scalar> workspace;
  gram.update(estimator.kernel, points);
  Matrix<Scalar> out(at.rows(), at.cols());
  estimator.score_at(gram, workspace, at, out);
  for (Index j = 0; j < out.cols(); ++j)
    if (!out.col(j).allFinite())
      detail::fail("estimate_score", "the score at queries.col(", j,
                   ") is not finite, but must be: the point is so far from "
                   "every particle that the kernel (h = ",
                   gram.bandwidth(), ") vanishes there, or leaves the range of ", 8 * sizeof(Scalar), "-bit numbers");
  return out;
}

}  // namespace repel
