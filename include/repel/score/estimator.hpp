// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/linalg/solver.hpp>
#include <repel/pairwise/pairs.hpp>

// Score estimators: from particles to ∇ log ρ, the score of the density they were drawn from. (A score, here and
// everywhere in repel, is the gradient of a log density.)
//
// An estimator is a value with a kernel and a member `score` that asks the pairs of the particles (pairwise/pairs.hpp).
// Your own:
//
//   template <class Kernel>
//   struct MyEstimator {
//     Kernel kernel{};
//     void score(auto& pairs, auto& /*workspace*/, auto& out) const {   // out: d×n, +∇ log ρ at the particles
//       pairs.accumulate(repel::pair::gradient(out));
//       out /= pairs.values().sum();
//     }
//   };
//   template <class Kernel>
//   MyEstimator(Kernel) -> MyEstimator<Kernel>;                       // for clang before 17
//
// If it solves by iteration it may return a SolveInfo (linalg/solver.hpp), which the step's info then shows. Buffers
// that should outlive a step go into a nested `template <class Scalar> struct Workspace`, the second argument of score.
// An estimator that is defined away from the particles also has score_at(pairs, workspace, queries, out). One that needs
// the particles themselves takes them after the pairs: score(pairs, points, workspace, out), score_at(pairs, points,
// workspace, queries, out). A wrapper of another estimator has a member `estimator` in place of a kernel.

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

namespace detail {

/// An estimator's kernel: its own, or that of the estimator it wraps.
template <class E>
const auto& kernel_of(const E& estimator) {
  if constexpr (requires { estimator.kernel; })
    return estimator.kernel;
  else
    return kernel_of(estimator.estimator);
}

template <class E>
concept HasKernel = requires(const E& estimator) {
  estimator.kernel;
}
|| requires(const E& estimator) { estimator.estimator.kernel; }
|| requires(const E& estimator) { estimator.estimator.estimator; };

}  // namespace detail

/// The kernel inside an estimator, however deep.
template <detail::HasKernel E>
using KernelOf = std::remove_cvref_t<decltype(detail::kernel_of(std::declval<const E&>()))>;

namespace detail {

template <class E, class Pairs, class Points, class Workspace, class Out>
concept Scores = requires(const E& estimator, Pairs& pairs, const Points& points, Workspace& workspace, Out& out) {
  estimator.score(pairs, workspace, out);
}
|| requires(const E& estimator, Pairs& pairs, const Points& points, Workspace& workspace, Out& out) {
  estimator.score(pairs, points, workspace, out);
};

template <class E, class Pairs, class Points, class Workspace, class Out>
concept ScoresAt = requires(const E& estimator, Pairs& pairs, const Points& points, Workspace& workspace, Out& out) {
  estimator.score_at(pairs, workspace, points, out);
}
|| requires(const E& estimator, Pairs& pairs, const Points& points, Workspace& workspace, Out& out) {
  estimator.score_at(pairs, points, workspace, points, out);
};

}  // namespace detail

/// An estimate of ∇ log ρ at the particles.
template <class E>
concept ScoreEstimator = detail::HasKernel<E> && Kernel<KernelOf<E>> && detail::Scores < E,
        Pairs < KernelOf<E>,
double >, Eigen::MatrixXd, WorkspaceOf<E, double>, Eigen::MatrixXd > ;

/// An estimate that is also defined away from the particles.
template <class E>
concept OutOfSampleEstimator = ScoreEstimator<E> && detail::ScoresAt < E,
        Pairs < KernelOf<E>,
double >, Eigen::MatrixXd, WorkspaceOf<E, double>, Eigen::MatrixXd > ;

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
  validate_kernel(kernel_of(estimator));
}

/// The estimator's score at the points whose pairs these are, and what its solver did if it says so.
template <class E, class Pairs, class Points, class Workspace, class Out>
SolveInfo score_of(const E& estimator, Pairs& pairs, const Points& points, Workspace& workspace, Out& out) {
  const auto score = [&]() -> decltype(auto) {
    if constexpr (requires { estimator.score(pairs, points, workspace, out); })
      return estimator.score(pairs, points, workspace, out);
    else
      return estimator.score(pairs, workspace, out);
  };
  if constexpr (std::convertible_to<decltype(score()), SolveInfo>) {
    return score();
  } else {
    score();
    return {};
  }
}

/// The same at other points.
template <class E, class Pairs, class Points, class Workspace, class Queries, class Out>
void score_of_at(const E& estimator, Pairs& pairs, const Points& points, Workspace& workspace, const Queries& queries,
                 Out& out) {
  if constexpr (requires { estimator.score_at(pairs, points, workspace, queries, out); })
    estimator.score_at(pairs, points, workspace, queries, out);
  else
    estimator.score_at(pairs, workspace, queries, out);
}

}  // namespace detail

/// +∇ log ρ at the particles (the columns of x), d×n.
template <class E, class Derived>
Matrix<typename Derived::Scalar> estimate_score(const E& estimator, const Eigen::MatrixBase<Derived>& x) {
  using Scalar = typename Derived::Scalar;
  static_assert(detail::assert_estimator<E>());
  detail::validate_estimator(estimator);
  Pairs<KernelOf<E>, Scalar> pairs;
  WorkspaceOf<E, Scalar> workspace;
  const Matrix<Scalar> points = detail::checked_points("estimate_score", "X", x);
  pairs.measure(detail::kernel_of(estimator), points);
  Matrix<Scalar> out(x.rows(), x.cols());
  detail::score_of(estimator, pairs, points, workspace, out);
  detail::require_finite_result("estimate_score", out, pairs.bandwidth());
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
  const Matrix<Scalar> at = detail::checked_points("estimate_score", "queries", queries);
  if (at.rows() != x.rows())
    detail::fail("estimate_score", "queries has ", at.rows(), " rows, but must have ", x.rows(), " like X");
  Pairs<KernelOf<E>, Scalar> pairs;
  WorkspaceOf<E, Scalar> workspace;
  const Matrix<Scalar> points = detail::checked_points("estimate_score", "X", x);
  pairs.measure(detail::kernel_of(estimator), points);
  Matrix<Scalar> out(at.rows(), at.cols());
  detail::score_of_at(estimator, pairs, points, workspace, at, out);
  for (Index j = 0; j < out.cols(); ++j)
    if (!out.col(j).allFinite())
      detail::fail("estimate_score", "the score at queries.col(", j,
                   ") is not finite, but must be: the point is so far from "
                   "every particle that the kernel (h = ",
                   pairs.bandwidth(), ") vanishes there, or leaves the range of ", 8 * sizeof(Scalar), "-bit numbers");
  return out;
}

}  // namespace repel
