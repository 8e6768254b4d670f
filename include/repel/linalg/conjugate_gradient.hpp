// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/product.hpp>
#include <repel/linalg/ridge_solver.hpp>
#include <repel/linalg/solver.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace repel::detail {

/// Solves X (K + ηI) = B for a d×n matrix B by conjugate gradients, all rows at once and K never formed. The
/// preconditioner is the Nyström approximation of K from some of the particles, K ≈ B Bᵀ.
template <class Scalar>
class ConjugateGradient {
 public:
  /// To be called when K has changed.
  void prepare(const SymmetricOperator<Scalar>& kernel, double ridge, const IterativeSolver& settings) {
    settings_ = settings;
    ridge_ = static_cast<Scalar>(ridge);
    const Index n = kernel.size, m = std::min(settings.rank, n);
    const auto landmark = evenly_spread(n, m);
    kernel.columns(m, landmark, columns_);  // K between all particles and the landmarks, n×m
    square_.resize(m, m);
    for (Index j = 0; j < m; ++j)
      for (Index i = 0; i < m; ++i) square_(i, j) = columns_(landmark(i), j);
    // K ≈ C M⁻¹ Cᵀ = B Bᵀ with B = C L⁻ᵀ, M = L Lᵀ
    const double jitter = 100 * std::numeric_limits<Scalar>::epsilon() * static_cast<double>(m) *
                          static_cast<double>(largest_diagonal_entry());
    largest_ = largest_diagonal_entry() + ridge_;
    landmarks_.factorise("IterativeSolver", square_, jitter, "jitter", "landmarks");
    landmarks_.solve_half_from_the_right(columns_);
    rows_.resize(m, n);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < m; ++j) rows_(j, i) = columns_(i, j);
    // What the approximation leaves out acts like a larger ridge.
    const Scalar left = std::max<Scalar>(0, kernel.trace - array_at(columns_.data(), columns_.size()).square().sum()) /
                        static_cast<Scalar>(n);
    shift_ = std::max(ridge_ + left, static_cast<Scalar>(jitter));
    square_.resize(m, m);
    product_transposed<Scalar>(rows_, rows_, square_);
    // It is only a preconditioner: keep the shift above rounding errors.
    shift_ = std::max(shift_, 16 * std::numeric_limits<Scalar>::epsilon() * largest_diagonal_entry());
    inner_.factorise("IterativeSolver", square_, static_cast<double>(shift_), "the shift", "landmarks");
  }

  /// b ← b (K + ηI)⁻¹
  SolveInfo solve(const SymmetricOperator<Scalar>& kernel, Matrix<Scalar>& b) {
    const Index d = b.rows(), n = b.cols();
    scale_rows(b);
    residual_ = b;
    b.setZero();
    image_.resize(d, n);
    row_products(residual_, residual_, norms_);
    const double tolerance = std::max(settings_.tolerance, 50.0 * std::numeric_limits<Scalar>::epsilon());
    precondition();
    direction_ = preconditioned_;
    row_products(residual_, preconditioned_, before_);
    SolveInfo info;
    for (info.residual = relative_residual();
         !(info.residual <= tolerance) && info.iterations < settings_.max_iterations;) {
      kernel.multiply(direction_, image_);
      array_at(image_.data(), image_.size()) += ridge_ * array_at(direction_.data(), direction_.size());
      row_products(direction_, image_, next_);
      require_regular();
      step_.resize(d);
      for (Index k = 0; k < d; ++k) step_(k) = next_(k) > 0 ? before_(k) / next_(k) : Scalar(0);
      for (Index j = 0; j < n; ++j)
        for (Index k = 0; k < d; ++k) {
          b(k, j) += step_(k) * direction_(k, j);
          residual_(k, j) -= step_(k) * image_(k, j);
        }
      precondition();
      row_products(residual_, preconditioned_, next_);
      for (Index k = 0; k < d; ++k) step_(k) = before_(k) > 0 ? next_(k) / before_(k) : Scalar(0);
      for (Index j = 0; j < n; ++j)
        for (Index k = 0; k < d; ++k) direction_(k, j) = preconditioned_(k, j) + step_(k) * direction_(k, j);
      before_.swap(next_);
      ++info.iterations;
      info.residual = relative_residual();
      if (!std::isfinite(info.residual)) break;
    }
    row_products(b, b, squares_);
    const Scalar least = smallest_eigenvalue();
    for (Index k = 0; k < d; ++k)
      if (!(least * std::sqrt(squares_(k)) <= std::sqrt(norms_(k)))) refuse();
    for (Index j = 0; j < n; ++j)
      for (Index k = 0; k < d; ++k) b(k, j) *= sizes_(k);
    return info;
  }

 private:
  /// Rows of about unit size, so that no square of them leaves the range of the scalar type.
  void scale_rows(Matrix<Scalar>& b) {
    sizes_.setZero(b.rows());
    for (Index j = 0; j < b.cols(); ++j)
      for (Index k = 0; k < b.rows(); ++k) sizes_(k) = std::max(sizes_(k), std::abs(b(k, j)));
    for (Index k = 0; k < b.rows(); ++k)
      if (!(sizes_(k) > 0)) sizes_(k) = 1;
    for (Index j = 0; j < b.cols(); ++j)
      for (Index k = 0; k < b.rows(); ++k) b(k, j) /= sizes_(k);
  }

  double relative_residual() {
    row_products(residual_, residual_, squares_);
    double worst = 0;
    for (Index k = 0; k < squares_.size(); ++k)
      if (const auto r = static_cast<double>(std::sqrt(squares_(k) / norms_(k))); norms_(k) != 0 && !(r <= worst))
        worst = r;  // or NaN
    return worst;
  }

  /// Below this an eigenvalue of K + ηI is a rounding error, as for the dense solver.
  Scalar smallest_eigenvalue() const { return 8 * std::numeric_limits<Scalar>::epsilon() * largest_; }

  /// Throws where K + ηI maps a direction to nothing but rounding errors: a step along it would have any length.
  void require_regular() {
    row_products(direction_, direction_, squares_);
    for (Index k = 0; k < next_.size(); ++k)
      if (squares_(k) > 0 && !(next_(k) > smallest_eigenvalue() * squares_(k))) refuse();
  }
  [[noreturn]] void refuse() const {
    fail("IterativeSolver", "ridge is ", ridge_, ", but must be larger for these particles: K + ridge I is singular");
  }

  Scalar largest_diagonal_entry() const {
    Scalar largest = 0;
    for (Index i = 0; i < square_.rows(); ++i) largest = std::max(largest, square_(i, i));
    return largest;
  }

  /// Row by row, x·y
  static void row_products(const Matrix<Scalar>& x, const Matrix<Scalar>& y, Vector<Scalar>& out) {
    out.setZero(x.rows());
    for (Index j = 0; j < x.cols(); ++j)
      for (Index k = 0; k < x.rows(); ++k) out(k) += x(k, j) * y(k, j);
  }

  /// preconditioned = residual · (B Bᵀ + shift I)⁻¹ = residual · (I − B (BᵀB + shift I)⁻¹ Bᵀ) / shift
  void precondition() {
    const Index d = residual_.rows();
    preconditioned_.resize(d, residual_.cols());
    parts_.resize(d, columns_.cols());
    product_transposed<Scalar>(residual_, rows_, parts_);
    inner_.solve_from_the_right(parts_);
    product<Scalar>(parts_, rows_, preconditioned_);
    const Scalar factor = 1 / shift_;
    auto out = array_at(preconditioned_.data(), preconditioned_.size());
    out = (array_at(residual_.data(), residual_.size()) - out) * factor;
  }

  IterativeSolver settings_;
  Scalar ridge_ = 0, shift_ = 1, largest_ = 1;  ///< and the largest entry of the diagonal of K + ηI
  RidgeSolver<Scalar> landmarks_, inner_;
  Matrix<Scalar> columns_, rows_;  // B, n×m, and Bᵀ
  Matrix<Scalar> square_, parts_, residual_, preconditioned_, direction_, image_;
  Vector<Scalar> sizes_, norms_, squares_, before_, next_, step_;
};

}  // namespace repel::detail
