#pragma once

#include <repel/kernel/rbf.hpp>
#include <repel/score/conjugate_gradient.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/ridge_solver.hpp>
#include <repel/score/solver.hpp>

namespace repel {

/// The Stein gradient estimator of Li & Turner (2018): ∇ log ρ = −G (K + ηI)⁻¹  (paper, Eq. "sge_wgd"). The smoothed-
/// function flow GFSF of Liu et al. (2019) is the same estimator.
template <class Kernel = Rbf<>, class Solver = AutoSolver>
struct Sge {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};
  double ridge = 0.01;  ///< η ≥ 0
  Solver solver{};

  template <class Scalar>
  struct Workspace {
    detail::RidgeSolver<Scalar> dense;
    detail::ConjugateGradient<Scalar> iterative;
    Matrix<Scalar> weights;
  };

  void validate() const {
    detail::require_non_negative("Sge", "ridge", ridge);
    detail::validate(solver);
  }

  template <class Gram, class Workspace, class Out>
  SolveInfo score(Gram& gram, Workspace& w, Out& out) const {
    if (!detail::is_dense(solver, gram.count())) {
      gram.gradient_sum(out);
      out = -out;
      w.iterative.prepare(gram, ridge, detail::iterative_settings(solver));
      return w.iterative.solve(gram, out);
    }
    w.dense.factorise("Sge", gram.values(), ridge);
    if (gram.gradient_weights(w.weights)) {  // G = X M, so G A⁻¹ = X (M A⁻¹): one product with the long X
      w.dense.solve_from_the_right(w.weights);
      gram.combine(w.weights, -1, out);
    } else {
      gram.gradient_sum(out);
      w.dense.solve_from_the_right(out);
      out = -out;
    }
    return {};
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
