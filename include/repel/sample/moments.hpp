// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>

// The last touch: an affine map of the particles that lets them satisfy Stein's identities of order 0 and 1,
// E[s] = 0 and E[s cᵀ] = −I, c = x − x̄, which n random draws satisfy only within 1/√n. It is the flow
// dz = (E[s] − a) + (I + E[s cᵀ] − A) c, SVGD with the kernel 1 + cᵀc′ (Liu & Wang 2018), whose fixed points have the mean
// and covariance of a normal posterior exactly.
//
// For other posteriors the identities hold, too, but a sample satisfies them with more noise than it has in its own
// moments, and forcing them would do harm. How much of a moment's error an identity can explain is the squared
// correlation λ between the two over the particles, of s_k with c_k, and of −s_k c_l with c_k c_l: 1 for a normal
// density. So a share λ of each residual is removed (control variates, in the sense of Mira et al. 2013), a and A being
// what is left. Coordinates with λ below ½ are left alone, and where there are any only the diagonal is corrected; where
// they are a fifth of all, or a residual is more than noise could make it, nothing is.

namespace repel::detail {

template <class Scalar>
class MomentCorrection {
 public:
  /// From particles and gradients in coordinates where the posterior is about as wide in every direction. Off the
  /// diagonal the identity is used for n ≥ 3d only.
  MomentCorrection(const Matrix<Scalar>& z, const Matrix<Scalar>& s) {
    const Index d = z.rows(), n = z.cols();
    const Matrix<Scalar> c = z.colwise() - z.rowwise().mean();
    keep_mean_ = s.rowwise().mean();
    keep_ = residual(c, s);
    share_ = Matrix<Scalar>::Zero(d, d);
    Vector<Scalar> mean_share(d);
    const bool pairs = n >= 3 * d;
    Index doubtful = 0;
    for (Index k = 0; k < d; ++k) {
      mean_share(k) = agreement(-s.row(k).array(), c.row(k).array());
      for (Index l = 0; l < d; ++l)
        if (k == l || pairs)
          share_(k, l) = agreement(-s.row(k).array() * c.row(l).array(), c.row(k).array() * c.row(l).array());
      const double noise = 4 * std::sqrt(2 / static_cast<Scalar>(n));
      if (mean_share(k) >= 0.5 && share_(k, k) >= 0.5 && std::abs(keep_(k, k)) <= noise) continue;
      ++doubtful;
      mean_share(k) = 0;
    }
    for (Index k = 0; k < d; ++k)
      if (mean_share(k) == 0) {
        share_.row(k).setZero();
        share_.col(k).setZero();
      }
    if (doubtful > 0) share_ = Matrix<Scalar>(share_.diagonal().asDiagonal());
    corrected_ = d - doubtful;
    useful_ = 5 * doubtful <= d && n > 4;
    keep_ = keep_.cwiseProduct(Matrix<Scalar>::Ones(d, d) - share_);
    keep_mean_ = keep_mean_.cwiseProduct(Vector<Scalar>::Ones(d) - mean_share);
    share_ = (share_.array() > 0).template cast<Scalar>();
    mean_on_ = (mean_share.array() > 0).template cast<Scalar>();
  }

  bool useful() const { return useful_; }
  Index corrected() const { return corrected_; }

  /// Where the flow goes.
  Matrix<Scalar> direction(const Matrix<Scalar>& z, const Matrix<Scalar>& s) const {
    const Matrix<Scalar> c = z.colwise() - z.rowwise().mean();
    const Matrix<Scalar> a = (residual(c, s) - keep_).cwiseProduct(share_);
    const Vector<Scalar> m = (s.rowwise().mean() - keep_mean_).cwiseProduct(mean_on_);
    return (a * c).colwise() + m;
  }

 private:
  static Matrix<Scalar> residual(const Matrix<Scalar>& c, const Matrix<Scalar>& s) {
    Matrix<Scalar> out = s * c.transpose() / static_cast<Scalar>(c.cols() - 1);
    out.diagonal().array() += 1;
    return out;
  }

  template <class A, class B>
  static double agreement(const A& a, const B& b) {
    const Eigen::Array<Scalar, Eigen::Dynamic, 1> u = (a - a.mean()).transpose(), v = (b - b.mean()).transpose();
    const double r = (u * v).sum() / std::sqrt(u.square().sum() * v.square().sum());
    return r > 0 ? r * r : 0;
  }

  Matrix<Scalar> keep_, share_;
  Vector<Scalar> keep_mean_, mean_on_;
  Index corrected_ = 0;
  bool useful_ = false;
};

}  // namespace repel::detail
