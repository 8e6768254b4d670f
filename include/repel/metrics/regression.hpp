// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/normal_density.hpp>
#include <repel/metrics/check.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

// Regression. Predictions and observations y have one shape (outputs×points, say); the members of an ensemble are
// (entries of y)×members, a member per column.

namespace repel::metrics {

namespace detail {

/// Any expression as a matrix of doubles: a product must not be formed again for each of its entries.
template <class A>
Eigen::MatrixXd in_double(const Eigen::MatrixBase<A>& a) {
  return a.template cast<double>();
}

inline void require_like(const char* where, const char* name, const Eigen::MatrixXd& a, const Eigen::MatrixXd& y) {
  require_finite(where, "y", y);
  repel::detail::require_same_shape(where, name, a, "y", y);
  require_finite(where, name, a);
}

/// A normal distribution for every entry of y.
inline void require_gaussian(const char* where, const Eigen::MatrixXd& mean, const Eigen::MatrixXd& sd,
                             const Eigen::MatrixXd& y) {
  require_like(where, "mean", mean, y);
  require_like(where, "sd", sd, y);
  for (Index j = 0; j < sd.cols(); ++j)
    for (Index i = 0; i < sd.rows(); ++i)
      if (!(sd(i, j) > 0)) fail(where, "sd(", i, ", ", j, ") is ", sd(i, j), ", but must be larger than 0");
}

inline void require_member_outputs(const char* where, const Eigen::MatrixXd& members, const Eigen::MatrixXd& y) {
  require_finite(where, "y", y);
  if (members.cols() < 1) fail(where, "members has 0 columns, but needs at least 1 (one per member)");
  if (members.rows() != y.size())
    fail(where, "members has ", members.rows(), " rows, but must have ", y.size(), ", the entries of y");
  require_finite(where, "members", members);
}

}  // namespace detail

/// √(mean (prediction − y)²)
template <class A, class Y>
double rmse(const Eigen::MatrixBase<A>& prediction, const Eigen::MatrixBase<Y>& y) {
  const Eigen::MatrixXd p = detail::in_double(prediction), observed = detail::in_double(y);
  detail::require_like("metrics::rmse", "prediction", p, observed);
  return std::sqrt((p - observed).squaredNorm() / static_cast<double>(observed.size()));
}

/// −mean log N(y | mean, sd²); sd of an observation, noise included.
template <class A, class S, class Y>
double gaussian_nll(const Eigen::MatrixBase<A>& mean, const Eigen::MatrixBase<S>& sd, const Eigen::MatrixBase<Y>& y) {
  const Eigen::MatrixXd m = detail::in_double(mean), s_of = detail::in_double(sd), observed = detail::in_double(y);
  detail::require_gaussian("metrics::gaussian_nll", m, s_of, observed);
  const Eigen::ArrayXXd s = s_of, z = (observed - m).array() / s;
  return (0.5 * z.square() + s.log()).mean() + 0.5 * std::log(2 * std::numbers::pi);
}

/// −mean log (1/n Σ_members N(y | f_member, noise²)): the ensemble as the mixture it is.
template <class M, class Y>
double mixture_nll(const Eigen::MatrixBase<M>& members, double noise, const Eigen::MatrixBase<Y>& y) {
  constexpr const char* where = "metrics::mixture_nll";
  repel::detail::require_positive(where, "noise", noise);
  const Eigen::MatrixXd f = detail::in_double(members), observed = detail::in_double(y);
  detail::require_member_outputs(where, f, observed);
  double sum = 0;
  for (Index i = 0; i < f.rows(); ++i) {
    const Eigen::ArrayXd z = (f.row(i).transpose().array() - observed.reshaped()(i)).abs() / noise;
    const double nearest = z.minCoeff();  // its term is the largest, and leaves the sum in range
    const double others = (-0.5 * (z - nearest) * (z + nearest)).exp().mean();
    sum += repel::detail::log_normal_density(nearest * nearest, 1) - std::log(noise) + std::log(others);
  }
  return -sum / static_cast<double>(f.rows());
}

/// The fraction of observations with low ≤ y ≤ high.
template <class L, class H, class Y>
double coverage(const Eigen::MatrixBase<L>& low, const Eigen::MatrixBase<H>& high, const Eigen::MatrixBase<Y>& y) {
  constexpr const char* where = "metrics::coverage";
  const Eigen::MatrixXd lows = detail::in_double(low), highs = detail::in_double(high), observed = detail::in_double(y);
  detail::require_like(where, "low", lows, observed);
  detail::require_like(where, "high", highs, observed);
  double inside = 0;
  for (Index j = 0; j < observed.cols(); ++j)
    for (Index i = 0; i < observed.rows(); ++i) {
      const double l = lows(i, j), h = highs(i, j), v = observed(i, j);
      if (l > h) detail::fail(where, "low(", i, ", ", j, ") is ", l, ", but must be at most high, ", h);
      inside += l <= v && v <= h ? 1 : 0;
    }
  return inside / static_cast<double>(observed.size());
}

/// The continuous ranked probability score of N(mean, sd²), averaged: in the units of y, 0 is perfect.
template <class A, class S, class Y>
double gaussian_crps(const Eigen::MatrixBase<A>& mean, const Eigen::MatrixBase<S>& sd, const Eigen::MatrixBase<Y>& y) {
  const Eigen::MatrixXd m = detail::in_double(mean), sds = detail::in_double(sd), observed = detail::in_double(y);
  detail::require_gaussian("metrics::gaussian_crps", m, sds, observed);
  double sum = 0;
  for (Index j = 0; j < observed.cols(); ++j)
    for (Index i = 0; i < observed.rows(); ++i) {
      const double s = sds(i, j), z = (observed(i, j) - m(i, j)) / s;
      const double density = std::exp(repel::detail::log_normal_density(z * z, 1));
      sum += s * (z * std::erf(z / std::numbers::sqrt2) + 2 * density - 1 / std::sqrt(std::numbers::pi));
    }
  return sum / static_cast<double>(observed.size());
}

/// The same of the members as they are: mean |f − y| − ½ mean |f − f′|.
template <class M, class Y>
double crps(const Eigen::MatrixBase<M>& members, const Eigen::MatrixBase<Y>& y) {
  const Eigen::MatrixXd all = detail::in_double(members), observed = detail::in_double(y);
  detail::require_member_outputs("metrics::crps", all, observed);
  const auto n = static_cast<std::size_t>(all.cols());
  std::vector<double> f(n);
  double sum = 0;
  for (Index i = 0; i < all.rows(); ++i) {
    for (std::size_t m = 0; m < n; ++m) f[m] = all(i, static_cast<Index>(m));
    std::sort(f.begin(), f.end());
    double misses = 0, spread = 0;  // Σ_{m<k} (f_k − f_m), from the order
    for (std::size_t m = 0; m < n; ++m) {
      misses += std::abs(f[m] - observed.reshaped()(i));
      spread += (2 * static_cast<double>(m) + 1 - static_cast<double>(n)) * f[m];
    }
    sum += misses / static_cast<double>(n) - spread / (static_cast<double>(n) * static_cast<double>(n));
  }
  return sum / static_cast<double>(all.rows());
}

}  // namespace repel::metrics
