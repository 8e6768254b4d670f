#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <Eigen/Cholesky>

#include <limits>

namespace repel::detail {

/// Solves with the symmetric positive definite matrix K + ηI, by Cholesky. `ridge_name` is what the user calls η.
template <class Scalar>
class RidgeSolver {
 public:
  void factorise(const char* where, const Matrix<Scalar>& kernel_matrix, double ridge,
                 const char* ridge_name = "ridge") {
    factor_ = kernel_matrix;
    factor_.diagonal().array() += require_in_range<Scalar>(where, ridge_name, ridge);
    const Scalar rounding = 8 * std::numeric_limits<Scalar>::epsilon() * factor_.diagonal().maxCoeff();
    const Eigen::LLT<Eigen::Ref<Matrix<Scalar>>> cholesky(factor_);  // in place: L in the lower triangle
    // The diagonal of L holds the square roots of the pivots; a pivot of rounding size means a singular matrix.
    if (cholesky.info() != Eigen::Success || !(factor_.diagonal().array().square().minCoeff() > rounding))
      fail(where, ridge_name, " is ", ridge, ", but must be larger for these points: K + ", ridge_name,
           " I is singular");
  }

  /// out ← out · (K + ηI)⁻¹ = out · L⁻ᵀ L⁻¹
  template <class Out>
  void solve_from_the_right(Out& out) const {
    const auto lower = factor_.template triangularView<Eigen::Lower>();
    lower.transpose().template solveInPlace<Eigen::OnTheRight>(out);
    lower.template solveInPlace<Eigen::OnTheRight>(out);
  }

 private:
  Matrix<Scalar> factor_;
};

}  // namespace repel::detail
