#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/core/types.hpp>
#include <repel/score/ridge_solver.hpp>
#include <repel/score/solver.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace repel::detail {

/// Solves X (K + ηI) = B for a d×n matrix B by conjugate gradients, all rows at once and K never formed. The
/// preconditioner is the Nyström approximation of K from some of the particles, K ≈ B Bᵀ.
template <class Scalar>
class ConjugateGradient {
 public:
  /// To be called when the particles have changed.
  template <class Gram>
  void prepare(Gram& gram, double ridge, const IterativeSolver& settings) {
    settings_ = settings;
    ridge_ = static_cast<Scalar>(ridge);
    const Index n = gram.count(), m = std::min(settings.rank, n);
    gram.landmark_values(m, columns_, square_);  // K of all to the landmarks, n×m, and among them
    // K ≈ C M⁻¹ Cᵀ = B Bᵀ with B = C L⁻ᵀ, M = L Lᵀ
    const double jitter = 100 * std::numeric_limits<Scalar>::epsilon() * static_cast<double>(m) *
                          static_cast<double>(square_.diagonal().maxCoeff());
    landmarks_.factorise("IterativeSolver", square_, jitter, "jitter", "landmarks");
    landmarks_.solve_half_from_the_right(columns_);
    // What the approximation leaves out acts like a larger ridge.
    const Scalar left = std::max<Scalar>(0, gram.trace() - columns_.squaredNorm()) / static_cast<Scalar>(n);
    shift_ = std::max(ridge_ + left, static_cast<Scalar>(jitter));
    square_.resize(m, m);
    long_transposed_product<Scalar>(columns_, columns_, parts_, square_);
    // It only preconditions: no smaller than rounding allows.
    shift_ = std::max(shift_, 16 * std::numeric_limits<Scalar>::epsilon() * square_.diagonal().maxCoeff());
    inner_.factorise("IterativeSolver", square_, static_cast<double>(shift_), "the shift", "landmarks");
  }

  /// b ← b (K + ηI)⁻¹
  template <class Gram, class B>
  SolveInfo solve(Gram& gram, B& b) {
    const Index d = b.rows(), n = b.cols();
    // Rows of about unit size, so that no square of them leaves the range of the scalar type.
    Vector<Scalar> sizes = b.rowwise().template lpNorm<Eigen::Infinity>();
    for (Index k = 0; k < d; ++k)
      if (!(sizes(k) > 0)) sizes(k) = 1;
    residual_.resize(d, n);
    for (Index j = 0; j < n; ++j) residual_.col(j) = b.col(j).cwiseQuotient(sizes);
    direction_.resize(d, n);
    image_.resize(d, n);
    b.setZero();
    const Vector<Scalar> norms = residual_.rowwise().norm();
    const double tolerance = std::max(settings_.tolerance, 50.0 * std::numeric_limits<Scalar>::epsilon());
    precondition();
    direction_ = preconditioned_;
    Vector<Scalar> before = row_products(residual_, preconditioned_), step(d), next(d);
    SolveInfo info;
    const auto relative = [&] {
      double worst = 0;
      for (Index k = 0; k < d; ++k)
        if (const auto r = static_cast<double>(residual_.row(k).norm() / norms(k)); norms(k) != 0 && !(r <= worst))
          worst = r;  // or NaN
      return worst;
    };
    for (info.residual = relative(); !(info.residual <= tolerance) && info.iterations < settings_.max_iterations;) {
      gram.product(direction_, image_);
      image_ += ridge_ * direction_;
      const Vector<Scalar> curvature = row_products(direction_, image_);
      for (Index k = 0; k < d; ++k) step(k) = curvature(k) > 0 ? before(k) / curvature(k) : Scalar(0);
      for (Index j = 0; j < n; ++j) {
        b.col(j) += step.cwiseProduct(direction_.col(j));
        residual_.col(j) -= step.cwiseProduct(image_.col(j));
      }
      precondition();
      next = row_products(residual_, preconditioned_);
      for (Index k = 0; k < d; ++k) step(k) = before(k) > 0 ? next(k) / before(k) : Scalar(0);
      for (Index j = 0; j < n; ++j) direction_.col(j) = preconditioned_.col(j) + step.cwiseProduct(direction_.col(j));
      before = next;
      ++info.iterations;
      info.residual = relative();
      if (!std::isfinite(info.residual)) break;
    }
    for (Index j = 0; j < n; ++j) b.col(j) = b.col(j).cwiseProduct(sizes);
    return info;
  }

 private:
  /// Row by row, x·y
  static Vector<Scalar> row_products(const Matrix<Scalar>& x, const Matrix<Scalar>& y) {
    Vector<Scalar> out = Vector<Scalar>::Zero(x.rows());
    for (Index j = 0; j < x.cols(); ++j) out += x.col(j).cwiseProduct(y.col(j));
    return out;
  }

  /// preconditioned = residual · (B Bᵀ + shift I)⁻¹ = residual · (I − B (BᵀB + shift I)⁻¹ Bᵀ) / shift
  void precondition() {
    const Index d = residual_.rows();
    preconditioned_.resize(d, residual_.cols());
    parts_.resize(d, columns_.cols());
    repel::detail::product<Scalar>(residual_, columns_, parts_);
    inner_.solve_from_the_right(parts_);
    product_transposed<Scalar>(parts_, columns_, preconditioned_);
    preconditioned_ = (residual_ - preconditioned_) / shift_;
  }

  IterativeSolver settings_;
  Scalar ridge_ = 0, shift_ = 1;
  RidgeSolver<Scalar> landmarks_, inner_;
  Matrix<Scalar> columns_;  // B, n×m
  Matrix<Scalar> square_, parts_, residual_, preconditioned_, direction_, image_;
};

}  // namespace repel::detail
