// SPDX-License-Identifier: MIT
#pragma once

#include <repel/linalg/product.hpp>
#include <repel/linalg/virial.hpp>

#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace repel::detail {

/// The two calibrations that solve with a matrix (score/calibrated.hpp). c = x − x̄, R = −1/(n−1) Σ_i g_i c_iᵀ.
template <class Scalar>
class CalibrationSolve {
 public:
  /// out = τ R⁻¹ out, for n > d. The bound: in the frame where the particles have unit covariance, the score of a normal
  /// density has Σ_i ‖C^½ g_i‖² = (n−1) d, and Σ_i g_iᵀ C g_i = ‖cᵀ g‖² / (n−1).
  template <class X, class G, class Out>
  void full(const X& x, const G& g, const std::vector<VirialSums>&, double temperature, double most, Out& out) {
    const Index d = x.rows(), n = x.cols();
    const auto rest = static_cast<Scalar>(n - 1);
    centre(x);
    r_.resize(d, d);
    product_transposed<Scalar>(g, c_, r_);
    r_ *= -1 / rest;
    if (!r_.allFinite()) return void(out.setConstant(std::numeric_limits<Scalar>::quiet_NaN()));
    lu_.compute(r_);
    solved_ = lu_.solve(g);
    inner_.resize(n, n);
    transposed_product<Scalar>(c_, solved_, inner_);
    const double size =
        static_cast<double>(inner_.squaredNorm()) / (static_cast<double>(rest) * static_cast<double>(rest));
    const double allowed = most * most * static_cast<double>(d);
    double factor = temperature;
    if (!std::isfinite(size)) {
      factor = 0;  // R is singular: the estimate says nothing about some direction
    } else if (size > allowed) {
      factor *= std::sqrt(allowed / size);
    }
    if (static_cast<const void*>(&g) == static_cast<const void*>(&out)) {
      if (factor == 0)
        out.setZero();
      else
        out = solved_ * static_cast<Scalar>(factor);
    } else {
      out = (lu_.solve(out) * static_cast<Scalar>(factor)).eval();
    }
  }

  /// g = f R_s⁻¹ g with R_s = (1−γ) R + γ diag(R) and f such that the trace of the new R is τ d. R has the rank of the
  /// particles, so with W = diag(R_s)⁻¹ … the inverse is one of an n×n matrix:
  ///   (D − a g cᵀ)⁻¹ g = W (I − a cᵀ W)⁻¹,   D = γ diag(R),  a = (1−γ)/(n−1),  W = D⁻¹ g.
  template <class X, class Out>
  void shrunk(const X& x, std::vector<VirialSums>& sums, double temperature, double most, Out& g) {
    const Index d = x.rows(), n = x.cols();
    const auto rest = static_cast<double>(n - 1);
    centre(x);
    const double gamma = shrinkage(sums);
    // D by coordinate, with the bound of a coordinate by itself; a coordinate that has none is left alone.
    solved_.resize(d, n);
    for (Index k = 0; k < d; ++k) {
      const VirialSums& each = sums[static_cast<std::size_t>(k)];
      const double least = std::sqrt(each.cc * each.gg) / rest / most, r = std::max(-each.cg / rest, least);
      scale_.conservativeResize(d);
      scale_(k) = static_cast<Scalar>(r > 0 ? 1 / (gamma * r) : 1);
    }
    for (Index j = 0; j < n; ++j) solved_.col(j) = g.col(j).cwiseProduct(scale_);
    inner_.resize(n, n);
    transposed_product<Scalar>(c_, solved_, inner_);
    inner_ *= static_cast<Scalar>(-(1 - gamma) / rest);
    inner_.diagonal().array() += Scalar(1);
    inner_.transposeInPlace();
    lu_.compute(inner_);
    by_particles_ = lu_.solve(solved_.transpose());
    g = by_particles_.transpose();
    // The trace, held to the bound of `total`.
    virial_sums<true>(x, g, sums);
    double trace = 0, squares = 0;
    for (const VirialSums& each : sums) {
      trace -= each.cg;
      squares += each.cc * each.gg;
    }
    trace /= rest * static_cast<double>(d);
    const double least = std::sqrt(squares / static_cast<double>(d)) / rest / most;
    const double divisor = std::max(trace, least);
    g *= static_cast<Scalar>(divisor > 0 ? temperature / divisor : temperature);
  }

 private:
  template <class X>
  void centre(const X& x) {
    c_.resize(x.rows(), x.cols());
    mean_ = Vector<Scalar>::Zero(x.rows());
    for (Index j = 0; j < x.cols(); ++j) mean_ += x.col(j) - x.col(0);
    mean_ /= static_cast<Scalar>(x.cols());
    for (Index j = 0; j < x.cols(); ++j) c_.col(j) = x.col(j) - x.col(0) - mean_;
  }

  /// The weight of the diagonal: the sampling variance of the correlations over their squares  (Schäfer & Strimmer 2005,
  /// Eq. 8), both summed over all pairs of coordinates by the n×n matrix of products between particles. At least 1 %.
  double shrinkage(const std::vector<VirialSums>& sums) {
    const Index d = c_.rows(), n = c_.cols();
    const auto count = static_cast<double>(n);
    solved_.resize(d, n);
    scale_.resize(d);
    for (Index k = 0; k < d; ++k) {
      const double cc = sums[static_cast<std::size_t>(k)].cc;
      scale_(k) = static_cast<Scalar>(cc > 0 ? std::sqrt((count - 1) / cc) : 0);
    }
    double fourth = 0, own = 0;  // Σ_kl Σ_i y_ki² y_li² without and with k = l
    for (Index j = 0; j < n; ++j) {
      solved_.col(j) = c_.col(j).cwiseProduct(scale_);
      const double norm = static_cast<double>(solved_.col(j).squaredNorm());
      fourth += norm * norm;
      own += static_cast<double>(solved_.col(j).array().square().square().sum());
    }
    inner_.resize(n, n);
    transposed_product<Scalar>(solved_, solved_, inner_);
    const double all = static_cast<double>(inner_.squaredNorm()) / ((count - 1) * (count - 1));
    const double squares = all - static_cast<double>(d);  // Σ_{k≠l} r_kl²
    if (!(squares > 0)) return 1;
    const double variance = ((fourth - own) / count - squares) / count;
    return std::clamp(variance / squares, 0.01, 1.0);
  }

  Matrix<Scalar> c_, r_, inner_, solved_, by_particles_;
  Vector<Scalar> mean_, scale_;
  Eigen::PartialPivLU<Matrix<Scalar>> lu_;
};

}  // namespace repel::detail
