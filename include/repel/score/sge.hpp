// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/rbf.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/kernel_solve.hpp>

namespace repel {

/// The Stein gradient estimator of Li & Turner (2018): ∇ log ρ = −G (K + ηI)⁻¹ (the paper's equation 16). The
/// smoothed-function flow GFSF of Liu et al. (2019) is the same estimator.
template <class Kernel = Rbf<>, class Solver = AutoSolver>
struct Sge {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};
  double ridge = 0.01;  ///< η ≥ 0
  Solver solver{};      ///< of the linear system with K

  template <class Scalar>
  struct Workspace {
    detail::KernelSolve<Scalar, Solver> solve;
  };

  void validate() const {
    detail::require_non_negative("Sge", "ridge", ridge);
    detail::validate(solver);
  }

  template <class Pairs, class Workspace, class Out>
  SolveInfo score(Pairs& pairs, Workspace& w, Out& out) const {
    using Scalar = typename Out::Scalar;
    SolveInfo info;
    w.solve.prepare("Sge", pairs, ridge, solver);
    const auto map = [&](Matrix<Scalar>& g) -> const Matrix<Scalar>& {
      g *= Scalar(-1);
      info = w.solve.solve(pairs, g);
      return g;
    };
    pairs.source_gradient_through(map, out);
    return info;
  }
};
Sge()->Sge<>;
template <class Kernel>
Sge(Kernel) -> Sge<Kernel>;
template <class Kernel>
Sge(Kernel, double) -> Sge<Kernel>;
template <class Kernel, class Solver>
Sge(Kernel, double, Solver) -> Sge<Kernel, Solver>;

}  // namespace repel
