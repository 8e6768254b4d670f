#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <Eigen/Cholesky>

#include <limits>
#include <utility>

namespace repel::detail {

/// Solves with the symmetric positive definite matrix K + ηI, by Cholesky. The last two arguments of factorise are what
/// the user calls η and the points behind K.
template <class Scalar>
class RidgeSolver {
 public:
  void factorise(const char* where, const Matrix<Scalar>& kernel_matrix, double ridge, const char* ridge_name = "ridge",
                 const char* points = "particles") {
    factor_ = kernel_matrix;
    factor_.diagonal().array() += require_in_range<Scalar>(where, ridge_name, ridge);
    const Scalar rounding = 8 * std::numeric_limits<Scalar>::epsilon() * factor_.diagonal().maxCoeff();
    const Eigen::LLT<Eigen::Ref<Matrix<Scalar>>> cholesky(factor_);  // in place: L in the lower triangle
    // The diagonal of L holds the square roots of the pivots; a pivot of rounding size means a singular matrix.
    if (cholesky.info() != Eigen::Success || !(factor_.diagonal().array().square().minCoeff() > rounding))
      fail(where, ridge_name, " is ", ridge, ", but must be larger for these ", points, ": K + ", ridge_name,
           " I is singular");
  }

  /// out ← out · (K + ηI)⁻¹ = out · L⁻ᵀ L⁻¹
  template <class Out>
  void solve_from_the_right(Out& out) const {
    const auto lower = factor_.template triangularView<Eigen::Lower>();
    lower.transpose().template solveInPlace<Eigen::OnTheRight>(out);
    lower.template solveInPlace<Eigen::OnTheRight>(out);
  }

  /// c A⁻¹ with A = K + ηI: for many more rows than A has, a product with it is several times as fast as
  /// solving, and as accurate (A is as well conditioned as the ridge makes it).
  const Matrix<Scalar>& inverse(Scalar c) {
    const Index n = factor_.cols();
    inverse_.setZero(n, n);
    inverse_.diagonal().setConstant(c);
    parallel_for(1, static_cast<double>(n * n * n), [&](Index) {  // in a region, where Eigen keeps to one thread
      const auto lower = std::as_const(factor_).template triangularView<Eigen::Lower>();
      lower.solveInPlace(inverse_);
      lower.transpose().solveInPlace(inverse_);
    });
    return inverse_;
  }

 private:
  Matrix<Scalar> factor_, inverse_;
};

}  // namespace repel::detail
