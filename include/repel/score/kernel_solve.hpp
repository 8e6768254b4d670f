// SPDX-License-Identifier: MIT
#pragma once

#include <repel/linalg/conjugate_gradient.hpp>
#include <repel/linalg/ridge_solver.hpp>
#include <repel/linalg/solver.hpp>
#include <repel/pairwise/pairs.hpp>

namespace repel::detail {

/// K as a symmetric operator, handed to use(operator): K is multiplied through the pairs and need not be formed.
template <class Scalar, class Pairs, class Use>
auto with_operator(Pairs& pairs, const Use& use) {
  const auto multiply = [&](const Matrix<Scalar>& v, Matrix<Scalar>& out) { pairs.accumulate(pair::product(v, out)); };
  const auto columns = [&](Index m, FunctionRef<Index(Index)> pick, Matrix<Scalar>& out) {
    pairs.values_of_some(m, pick, out);
  };
  return use(SymmetricOperator<Scalar>{pairs.count(), pairs.trace(), multiply, columns});
}

/// Solves with K + ηI, densely or by iteration, as the solver policy says. Only what a policy can need is compiled.
template <class Scalar, class Solver>
class KernelSolve {
 public:
  /// To be called when the particles have changed. `name` is the estimator's, for error messages.
  template <class Pairs>
  void prepare(const char* name, Pairs& pairs, double ridge, const Solver& solver) {
    dense_now_ = is_dense(solver, pairs.count());
    if (dense_now_) {
      if constexpr (!std::same_as<Solver, IterativeSolver>) dense_.factorise(name, pairs.values(), ridge);
    } else if constexpr (!std::same_as<Solver, DenseSolver>) {
      with_operator<Scalar>(pairs, [&](const SymmetricOperator<Scalar>& kernel) {
        iterative_.prepare(kernel, ridge, iterative_settings(solver));
      });
    }
  }

  /// b ← b (K + ηI)⁻¹
  template <class Pairs>
  SolveInfo solve(Pairs& pairs, Matrix<Scalar>& b) {
    if (dense_now_) {
      if constexpr (!std::same_as<Solver, IterativeSolver>) dense_.solve_from_the_right(b);
    } else if constexpr (!std::same_as<Solver, DenseSolver>) {
      return with_operator<Scalar>(
          pairs, [&](const SymmetricOperator<Scalar>& kernel) { return iterative_.solve(kernel, b); });
    }
    return {};
  }

 private:
  bool dense_now_ = true;
  RidgeSolver<Scalar> dense_;
  ConjugateGradient<Scalar> iterative_;
};

}  // namespace repel::detail
