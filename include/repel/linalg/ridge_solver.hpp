// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/product.hpp>

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
    const Scalar eta = require_in_range<Scalar>(where, ridge_name, ridge);
    Scalar largest = 0;
    for (Index i = 0; i < factor_.rows(); ++i) largest = std::max(largest, factor_(i, i) += eta);
    bool regular = cholesky();
    // The diagonal of L holds the square roots of the pivots; a pivot of rounding size means a singular matrix.
    for (Index i = 0; i < factor_.rows() && regular; ++i)
      regular = factor_(i, i) * factor_(i, i) > 8 * std::numeric_limits<Scalar>::epsilon() * largest;
    if (!regular)
      fail(where, ridge_name, " is ", ridge, ", but must be larger for these ", points, ": K + ", ridge_name,
           " I is singular");
  }

  /// out ← out · (K + ηI)⁻¹ = out · L⁻ᵀ L⁻¹, in parallel over the rows of out.
  void solve_from_the_right(Out<Scalar> out) const {
    parallel_tiles(out.rows(), kTile, static_cast<double>(factor_.size()), [&](Index first, Index rows) {
      Out<Scalar> part = out.middleRows(first, rows);
      divide_by_transpose(factor_, part);
      const In<Scalar> factor(factor_);
      factor.template triangularView<Eigen::Lower>().template solveInPlace<Eigen::OnTheRight>(part);
    });
  }

  /// out ← out · L⁻ᵀ
  void solve_half_from_the_right(Out<Scalar> out) const {
    parallel_tiles(out.rows(), 256, static_cast<double>(factor_.size()),
                   [&](Index first, Index rows) { divide_by_transpose(factor_, out.middleRows(first, rows)); });
  }

 private:
  /// out ← out · L⁻ᵀ in this thread
  static void divide_by_transpose(const In<Scalar>& lower, Out<Scalar> out) {
    lower.template triangularView<Eigen::Lower>().transpose().template solveInPlace<Eigen::OnTheRight>(out);
  }

  /// In place: L in the lower half. By panels of columns; what is right of a panel is updated in parallel.
  bool cholesky() {
    constexpr Index panel = 64;
    const Index n = factor_.cols();
    for (Index j = 0; j < n; j += panel) {
      const Index width = std::min(panel, n - j), below = n - j - width;
      Out<Scalar> diagonal = factor_.block(j, j, width, width);
      if (Eigen::internal::llt_inplace<Scalar, Eigen::Lower>::unblocked(diagonal) >= 0) return false;  // LLT's own loop
      auto column = factor_.block(j + width, j, below, width);
      parallel_tiles(below, kTile, static_cast<double>(width * width),
                     [&](Index first, Index rows) { divide_by_transpose(diagonal, column.middleRows(first, rows)); });
      constexpr Index block = 192;
      const Index blocks = (below + block - 1) / block;
      parallel_for(blocks * blocks, static_cast<double>(block * block * width), [&](Index piece) {
        const Index row = piece % blocks * block, left = piece / blocks * block;
        if (row < left) return;
        const Index rows = std::min(block, below - row), columns = std::min(block, below - left);
        add_product<Stored::plain, Stored::transposed, Scalar>(
            rows, columns, width, -1, block_at(factor_, j + width + row, j), block_at(factor_, j + width + left, j),
            block_at(factor_, j + width + row, j + width + left));
      });
    }
    return true;
  }

  Matrix<Scalar> factor_;
};

}  // namespace repel::detail
