// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/product.hpp>
#include <repel/linalg/ridge_solver.hpp>
#include <repel/linalg/solver.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <limits>

namespace repel::detail {

/// The largest eigenpairs of K, which is never formed: a few more vectors than wanted are multiplied by K
/// repeatedly, and the eigenpairs are read off from the space they span. They start from columns of K, so they are
/// good from the beginning: the spectrum of a kernel falls quickly.
template <class Scalar>
class SubspaceIteration {
 public:
  /// Finds the `wanted` largest; `more` vectors help.
  SolveInfo compute(const SymmetricOperator<Scalar>& kernel, Index wanted, Index more,
                    const IterativeSolver& settings) {
    const Index n = kernel.size, p = std::min(n, wanted + more);
    kernel.columns(p, evenly_spread(n, p), columns_);
    transpose(columns_, basis_);
    orthonormalise(3);  // one pass would not be enough: columns of K are nearly dependent
    const double tolerance = std::max(settings.tolerance, 50.0 * std::numeric_limits<Scalar>::epsilon());
    image_.resize(p, n);
    SolveInfo info;
    do {
      kernel.multiply(basis_, image_);
      ++info.iterations;
      square_.resize(p, p);
      product_transposed<Scalar>(basis_, image_, square_);
      {
        const KeepEigenSerial serial;
        eigen_.compute(square_);
      }
      transpose(eigen_.eigenvectors(), square_);
      rotate(basis_);
      rotate(image_);
      values_ = eigen_.eigenvalues();
      info.residual = largest_residual(wanted) / static_cast<double>(std::max(values_(p - 1), smallest()));
      if (info.residual <= tolerance || info.iterations >= settings.max_iterations) break;
      basis_.swap(image_);
      orthonormalise(2);
    } while (true);
    return info;
  }

  const Vector<Scalar>& values() const { return values_; }  ///< in ascending order, with those of the further vectors
  const Matrix<Scalar>& rows() const { return basis_; }     ///< the eigenvectors, as rows

 private:
  static Scalar smallest() { return std::numeric_limits<Scalar>::min(); }

  static void transpose(const Matrix<Scalar>& from, Matrix<Scalar>& to) {
    to.resize(from.cols(), from.rows());
    for (Index j = 0; j < from.cols(); ++j)
      for (Index i = 0; i < from.rows(); ++i) to(j, i) = from(i, j);
  }

  /// The largest ‖K v − λ v‖ of the wanted eigenpairs, or NaN.
  double largest_residual(Index wanted) const {
    double worst = 0;
    for (Index k = basis_.rows() - wanted; k < basis_.rows(); ++k) {
      double square = 0;
      for (Index i = 0; i < basis_.cols(); ++i) {
        const auto r = static_cast<double>(image_(k, i) - values_(k) * basis_(k, i));
        square += r * r;
      }
      if (!(std::sqrt(square) <= worst)) worst = std::sqrt(square);
    }
    return worst;
  }

  /// rows ← Vᵀ rows, with Vᵀ in square_
  void rotate(Matrix<Scalar>& rows) {
    rotated_.resize(rows.rows(), rows.cols());
    product<Scalar>(square_, rows, rotated_);
    rows.swap(rotated_);
  }

  /// Makes the rows of basis_ orthonormal by Cholesky factors of their products, several times: each time takes away
  /// most of what the last has left, and a small shift keeps the first factor regular (Fukaya et al. 2020).
  void orthonormalise(int passes) {
    const Index p = basis_.rows();
    square_.resize(p, p);
    for (int pass = 0; pass < passes; ++pass) {
      normalise_rows();
      product_transposed<Scalar>(basis_, basis_, square_);
      const double shift =
          (pass + 2 < passes ? 64.0 * static_cast<double>(p) : 16.0) * std::numeric_limits<Scalar>::epsilon();
      factor_.factorise("Ssge", square_, shift, "the shift", "eigenvectors");
      transpose(basis_, columns_);
      factor_.solve_half_from_the_right(columns_);
      transpose(columns_, basis_);
    }
  }

  void normalise_rows() {
    sizes_.setZero(basis_.rows());
    for (Index i = 0; i < basis_.cols(); ++i)
      for (Index k = 0; k < basis_.rows(); ++k) sizes_(k) += basis_(k, i) * basis_(k, i);
    for (Index k = 0; k < basis_.rows(); ++k) sizes_(k) = 1 / std::max(std::sqrt(sizes_(k)), smallest());
    for (Index i = 0; i < basis_.cols(); ++i)
      for (Index k = 0; k < basis_.rows(); ++k) basis_(k, i) *= sizes_(k);
  }

  Eigen::SelfAdjointEigenSolver<Matrix<Scalar>> eigen_;
  RidgeSolver<Scalar> factor_;
  Vector<Scalar> values_, sizes_;
  Matrix<Scalar> basis_, image_, columns_, square_, rotated_;
};

}  // namespace repel::detail
