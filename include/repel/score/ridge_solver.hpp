#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <Eigen/Cholesky>

#include <algorithm>
#include <limits>
#include <utility>

namespace repel::detail {

/// Solves with the symmetric positive definite matrix K + ηI, by Cholesky.
template <class Scalar>
class RidgeSolver {
 public:
  /// Reads the lower half of K. The last two arguments are what the user calls η and the points behind K.
  void factorise(const char* where, const Matrix<Scalar>& kernel_matrix, double ridge, const char* ridge_name = "ridge",
                 const char* points = "particles") {
    factor_ = kernel_matrix;
    factor_.diagonal().array() += require_in_range<Scalar>(where, ridge_name, ridge);
    const Scalar rounding = 8 * std::numeric_limits<Scalar>::epsilon() * factor_.diagonal().maxCoeff();
    // The diagonal of L holds the square roots of the pivots; a pivot of rounding size means a singular matrix.
    if (!cholesky() || !(factor_.diagonal().array().square().minCoeff() > rounding))
      fail(where, ridge_name, " is ", ridge, ", but must be larger for these ", points, ": K + ", ridge_name,
           " I is singular");
  }

  /// out ← out · (K + ηI)⁻¹ = out · L⁻ᵀ L⁻¹, in parallel over the rows of out.
  template <class Out>
  void solve_from_the_right(Out& out) const {
    const auto lower = factor_.template triangularView<Eigen::Lower>();
    parallel_tiles(out.rows(), kTile, static_cast<double>(factor_.size()), [&](Index first, Index rows) {
      auto part = out.middleRows(first, rows);
      lower.transpose().template solveInPlace<Eigen::OnTheRight>(part);
      lower.template solveInPlace<Eigen::OnTheRight>(part);
    });
  }

  /// out ← out · L⁻ᵀ
  template <class Out>
  void solve_half_from_the_right(Out& out) const {
    const auto lower = factor_.template triangularView<Eigen::Lower>();
    parallel_tiles(out.rows(), 256, static_cast<double>(factor_.size()), [&](Index first, Index rows) {
      auto part = out.middleRows(first, rows);
      lower.transpose().template solveInPlace<Eigen::OnTheRight>(part);
    });
  }

 private:
  /// In place: L in the lower half. By panels of columns, where what is right of a panel is updated in parallel.
  bool cholesky() {
    const Index n = factor_.cols(), panel = n <= 256 ? n : 128;
    for (Index j = 0; j < n; j += panel) {
      const Index width = std::min(panel, n - j), below = n - j - width;
      auto diagonal = factor_.block(j, j, width, width);
      bool positive = true;
      parallel_for(1, static_cast<double>(width * width * width),
                   [&](Index) {  // in a region, where Eigen keeps to one thread
                     positive = Eigen::LLT<Eigen::Ref<Matrix<Scalar>>>(diagonal).info() == Eigen::Success;
                   });
      if (!positive) return false;
      const auto lower = std::as_const(factor_).block(j, j, width, width).template triangularView<Eigen::Lower>();
      auto column = factor_.block(j + width, j, below, width);
      parallel_tiles(below, kTile, static_cast<double>(width * width), [&](Index first, Index rows) {
        auto part = column.middleRows(first, rows);
        lower.transpose().template solveInPlace<Eigen::OnTheRight>(part);
      });
      constexpr Index block = 192;
      const Index blocks = (below + block - 1) / block;
      parallel_for(blocks * blocks, static_cast<double>(block * block * width), [&](Index piece) {
        const Index row = piece % blocks * block, left = piece / blocks * block;
        if (row < left) return;
        const Index rows = std::min(block, below - row), columns = std::min(block, below - left);
        factor_.block(j + width + row, j + width + left, rows, columns).noalias() -=
            column.middleRows(row, rows) * column.middleRows(left, columns).transpose();
      });
    }
    return true;
  }

  Matrix<Scalar> factor_;
};

}  // namespace repel::detail
