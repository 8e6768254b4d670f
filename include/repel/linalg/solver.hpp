// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/function_ref.hpp>
#include <repel/core/types.hpp>

#include <concepts>

// How SGE and SSGE solve with K + ηI: the last member of each. Omit it to have one chosen by size.

namespace repel {

/// Dense up to 4096 particles, iterative beyond.
struct AutoSolver {};

/// Holds K and factorises it, n² memory and n³ work.
struct DenseSolver {};

/// Never holds K: preconditioned conjugate gradients for SGE and for SSGE with all eigenpairs, subspace iteration for
/// SSGE with some of them. A step that misses the tolerance says so in its info, and continues with what it has.
struct IterativeSolver {
  double tolerance = 1e-6;     ///< of the residual relative to the right-hand side; at least some 1e-5 in float
  Index max_iterations = 200;  ///< products with K
  Index rank = 256;            ///< landmarks of the preconditioner, evenly spread particles

  void validate() const {
    detail::require_positive("IterativeSolver", "tolerance", tolerance);
    if (max_iterations < 1)
      detail::fail("IterativeSolver", "max_iterations is ", max_iterations, ", but must be at least 1");
    if (rank < 1) detail::fail("IterativeSolver", "rank is ", rank, ", but must be at least 1");
  }
};

/// What an iterative solver did; zeros for a dense one.
struct SolveInfo {
  Index iterations = 0;  ///< products with K
  double residual = 0;   ///< reached, relative to the right-hand side
};

namespace detail {

/// A symmetric n×n matrix that need not be formed.
template <class Scalar>
struct SymmetricOperator {
  Index size;
  Scalar trace;
  FunctionRef<void(const Matrix<Scalar>& v, Matrix<Scalar>& out)> multiply;                 ///< out = v A
  FunctionRef<void(Index m, FunctionRef<Index(Index)> pick, Matrix<Scalar>& out)> columns;  ///< m of them, n×m
};

/// Evenly spread columns of it.
inline auto evenly_spread(Index size, Index m) {
  return [size, m](Index k) { return k * size / m; };
}

/// Whether a solver is dense for n particles, given the largest n for which that is the better choice.
template <class Solver>
bool is_dense(const Solver&, Index n, Index most = 4096) {
  if constexpr (std::same_as<Solver, DenseSolver>) return true;
  if constexpr (std::same_as<Solver, IterativeSolver>) return false;
  return n <= most;
}

template <class Solver>
IterativeSolver iterative_settings(const Solver& solver) {
  if constexpr (std::same_as<Solver, IterativeSolver>)
    return solver;
  else
    return {};
}

}  // namespace detail

}  // namespace repel
