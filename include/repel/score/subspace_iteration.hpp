#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/core/types.hpp>
#include <repel/score/solver.hpp>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <limits>

namespace repel::detail {

/// The largest eigenpairs of K, which is never formed: some vectors more than wanted are multiplied by K again and
/// again, and the eigenpairs read off in the space they span. They start from columns of K, so they are good from the
/// beginning: the spectrum of a kernel falls quickly.
template <class Scalar>
class SubspaceIteration {
 public:
  /// Finds the `wanted` largest; `more` vectors help.
  template <class Gram>
  SolveInfo compute(Gram& gram, Index wanted, Index more, const IterativeSolver& settings) {
    const Index n = gram.count(), p = std::min(n, wanted + more);
    gram.landmark_values(p, columns_, square_);
    parallel_for(1, 4.0 * static_cast<double>(n * p * p), [&](Index) { orthonormalise_by_reflections(columns_); });
    const double tolerance = std::max(settings.tolerance, 50.0 * std::numeric_limits<Scalar>::epsilon());
    image_.resize(p, n);
    SolveInfo info;
    do {
      gram.product(basis_, image_);
      ++info.iterations;
      square_.resize(p, p);
      columns_ = image_.transpose();
      product<Scalar>(basis_, columns_, square_);
      parallel_for(1, 10.0 * static_cast<double>(p * p * p), [&](Index) { eigen_.compute(square_); });
      rotate(basis_);
      rotate(image_);
      values_ = eigen_.eigenvalues();
      info.residual = 0;
      for (Index k = p - wanted; k < p; ++k)
        if (const auto r = static_cast<double>((image_.row(k) - values_(k) * basis_.row(k)).norm());
            !(r <= info.residual))
          info.residual = r;  // or NaN
      info.residual /= static_cast<double>(std::max(values_(p - 1), std::numeric_limits<Scalar>::min()));
      if (info.residual <= tolerance || info.iterations >= settings.max_iterations) break;
      basis_.swap(image_);
      orthonormalise();
    } while (true);
    return info;
  }

  const Vector<Scalar>& values() const { return values_; }  ///< in ascending order, with those of the further vectors
  const Matrix<Scalar>& rows() const { return basis_; }     ///< the eigenvectors, as rows

 private:
  /// rows ← Vᵀ rows
  void rotate(Matrix<Scalar>& rows) {
    rotated_.resize(rows.rows(), rows.cols());
    product<Scalar>(eigen_.eigenvectors().transpose(), rows, rotated_);
    rows.swap(rotated_);
  }

  /// basis ← rows that span what the columns do.
  void orthonormalise_by_reflections(Matrix<Scalar>& columns) {
    Eigen::HouseholderQR<Eigen::Ref<Matrix<Scalar>>> qr(columns);
    basis_ = (qr.householderQ() * Matrix<Scalar>::Identity(columns.rows(), columns.cols())).transpose();
  }

  /// Rows that are orthogonal but for rounding and for what they have not converged: by Cholesky, twice.
  void orthonormalise() {
    Matrix<Scalar>& rows = basis_;
    for (int pass = 0; pass < 2; ++pass) {
      for (Index k = 0; k < rows.rows(); ++k)
        rows.row(k) /= std::max(rows.row(k).norm(), std::numeric_limits<Scalar>::min());
      columns_ = rows.transpose();
      product<Scalar>(rows, columns_, square_);
      square_.diagonal().array() += 10 * std::numeric_limits<Scalar>::epsilon();
      parallel_for(1, static_cast<double>(square_.size() * rows.cols()), [&](Index) {
        const Eigen::LLT<Matrix<Scalar>> factor(square_);
        if (factor.info() == Eigen::Success)
          factor.matrixL().solveInPlace(rows);
        else
          orthonormalise_by_reflections(columns_);
      });
    }
  }

  Eigen::SelfAdjointEigenSolver<Matrix<Scalar>> eigen_;
  Vector<Scalar> values_;
  Matrix<Scalar> basis_, image_, columns_, square_, rotated_;
};

}  // namespace repel::detail
