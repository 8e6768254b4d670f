#pragma once

#include <repel/core/product.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/ridge_solver.hpp>

namespace repel {

/// The Stein gradient estimator of Li & Turner (2018): ∇ log ρ = −G (K + ηI)⁻¹  (paper, Eq. "sge_wgd"). The smoothed-
/// function flow GFSF of Liu et al. (2019) is the same estimator.
template <class Kernel = Rbf<>>
struct Sge {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};
  double ridge = 0.01;  ///< η ≥ 0

  template <class Scalar>
  struct Workspace {
    detail::RidgeSolver<Scalar> solver;
    Matrix<Scalar> gradients;  // G
  };

  void validate() const { detail::require_non_negative("Sge", "ridge", ridge); }

  template <class Gram, class Workspace, class Out>
  void score(Gram& gram, Workspace& w, Out& out) const {
    w.solver.factorise("Sge", gram.values(), ridge);
    if (out.rows() > out.cols()) {
      w.gradients.resize(out.rows(), out.cols());
      gram.gradient_sum(w.gradients);
      detail::product<typename Out::Scalar>(w.gradients, w.solver.inverse(-1), out);
    } else {
      gram.gradient_sum(out);
      w.solver.solve_from_the_right(out);
      out = -out;
    }
  }
};
Sge()->Sge<>;
template <class Kernel>
Sge(Kernel) -> Sge<Kernel>;
template <class Kernel>
Sge(Kernel, double) -> Sge<Kernel>;

}  // namespace repel
