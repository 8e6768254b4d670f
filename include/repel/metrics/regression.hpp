#pragma once

#include <repel/metrics/check.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

// Regression. Predictions and observations y have one shape (outputs×points, say); the members of an ensemble are
// (entries of y)×members, a member per column.

namespace repel::metrics {

namespace detail {

template <class A, class Y>
void require_like(const char* where, const char* name, const Eigen::MatrixBase<A>& a, const Eigen::MatrixBase<Y>& y) {
  require_numbers(where, "y", y);
  repel::detail::require_same_shape(where, name, a, "y", y);
  require_numbers(where, name, a);
}

/// A normal distribution for every entry of y.
template <class A, class S, class Y>
void require_gaussian(const char* where, const Eigen::MatrixBase<A>& mean, const Eigen::MatrixBase<S>& sd,
                      const Eigen::MatrixBase<Y>& y) {
  require_like(where, "mean", mean, y);
  require_like(where, "sd", sd, y);
  for (Index j = 0; j < sd.cols(); ++j)
    for (Index i = 0; i < sd.rows(); ++i)
      if (!(sd.derived().coeff(i, j) > 0))
        fail(where, "sd(", i, ", ", j, ") is ", sd.derived().coeff(i, j), ", but must be larger than 0");
}

template <class M, class Y>
void require_member_outputs(const char* where, const Eigen::MatrixBase<M>& members, const Eigen::MatrixBase<Y>& y) {
  require_numbers(where, "y", y);
  if (members.cols() < 1) fail(where, "members has 0 columns, but needs at least 1 (one per member)");
  if (members.rows() != y.size())
    fail(where, "members has ", members.rows(), " rows, but must have ", y.size(), ", the entries of y");
  require_numbers(where, "members", members);
}

inline double normal_log_density(double z, double sd) {
  return -0.5 * z * z - std::log(sd) - 0.5 * std::log(2 * std::numbers::pi);
}

}  // namespace detail

/// √(mean (prediction − y)²)
template <class A, class Y>
double rmse(const Eigen::MatrixBase<A>& prediction, const Eigen::MatrixBase<Y>& y) {
  detail::require_like("metrics::rmse", "prediction", prediction, y);
  return std::sqrt((prediction.template cast<double>() - y.template cast<double>()).squaredNorm() /
                   static_cast<double>(y.size()));
}

/// −mean log N(y | mean, sd²); sd of an observation, noise included.
template <class A, class S, class Y>
double gaussian_nll(const Eigen::MatrixBase<A>& mean, const Eigen::MatrixBase<S>& sd, const Eigen::MatrixBase<Y>& y) {
  detail::require_gaussian("metrics::gaussian_nll", mean, sd, y);
  const Eigen::ArrayXXd s = sd.template cast<double>(),
                        z = (y.template cast<double>() - mean.template cast<double>()).array() / s;
  return (0.5 * z.square() + s.log()).mean() + 0.5 * std::log(2 * std::numbers::pi);
}

/// −mean log (1/n Σ_members N(y | f_member, noise²)): the ensemble as the mixture it is.
template <class M, class Y>
double mixture_nll(const Eigen::MatrixBase<M>& members, double noise, const Eigen::MatrixBase<Y>& y) {
  constexpr const char* where = "metrics::mixture_nll";
  repel::detail::require_positive(where, "noise", noise);
  detail::require_member_outputs(where, members, y);
  const Eigen::MatrixXd f = members.template cast<double>();
  const Eigen::VectorXd observed = y.derived().template cast<double>().reshaped();
  double sum = 0;
  for (Index i = 0; i < f.rows(); ++i) {
    const Eigen::ArrayXd z = (f.row(i).transpose().array() - observed(i)) / noise;
    const double nearest = z.abs().minCoeff();  // its term is the largest, and leaves the sum in range
    const double others = (-0.5 * (z.square() - nearest * nearest)).exp().mean();
    sum += detail::normal_log_density(nearest, noise) + std::log(others);
  }
  return -sum / static_cast<double>(f.rows());
}

/// The fraction of observations with low ≤ y ≤ high.
template <class L, class H, class Y>
double coverage(const Eigen::MatrixBase<L>& low, const Eigen::MatrixBase<H>& high, const Eigen::MatrixBase<Y>& y) {
  constexpr const char* where = "metrics::coverage";
  detail::require_like(where, "low", low, y);
  detail::require_like(where, "high", high, y);
  double inside = 0;
  for (Index j = 0; j < y.cols(); ++j)
    for (Index i = 0; i < y.rows(); ++i) {
      const double l = static_cast<double>(low.derived().coeff(i, j)),
                   h = static_cast<double>(high.derived().coeff(i, j)),
                   v = static_cast<double>(y.derived().coeff(i, j));
      if (l > h) detail::fail(where, "low(", i, ", ", j, ") is ", l, ", but must be at most high, ", h);
      inside += l <= v && v <= h ? 1 : 0;
    }
  return inside / static_cast<double>(y.size());
}

/// The continuous ranked probability score of N(mean, sd²), averaged: in the units of y, 0 is perfect.
template <class A, class S, class Y>
double gaussian_crps(const Eigen::MatrixBase<A>& mean, const Eigen::MatrixBase<S>& sd, const Eigen::MatrixBase<Y>& y) {
  detail::require_gaussian("metrics::gaussian_crps", mean, sd, y);
  double sum = 0;
  for (Index j = 0; j < y.cols(); ++j)
    for (Index i = 0; i < y.rows(); ++i) {
      const auto s = static_cast<double>(sd.derived().coeff(i, j));
      const double z =
          (static_cast<double>(y.derived().coeff(i, j)) - static_cast<double>(mean.derived().coeff(i, j))) / s;
      const double density = std::exp(detail::normal_log_density(z, 1));
      sum += s * (z * std::erf(z / std::numbers::sqrt2) + 2 * density - 1 / std::sqrt(std::numbers::pi));
    }
  return sum / static_cast<double>(y.size());
}

/// The same of the members as they are: mean |f − y| − ½ mean |f − f′|.
template <class M, class Y>
double crps(const Eigen::MatrixBase<M>& members, const Eigen::MatrixBase<Y>& y) {
  detail::require_member_outputs("metrics::crps", members, y);
  const Eigen::VectorXd observed = y.derived().template cast<double>().reshaped();
  const auto n = static_cast<std::size_t>(members.cols());
  std::vector<double> f(n);
  double sum = 0;
  for (Index i = 0; i < members.rows(); ++i) {
    for (std::size_t m = 0; m < n; ++m) f[m] = static_cast<double>(members.derived().coeff(i, static_cast<Index>(m)));
    std::sort(f.begin(), f.end());
    double misses = 0, spread = 0;  // Σ_{m<k} (f_k − f_m), from the order
    for (std::size_t m = 0; m < n; ++m) {
      misses += std::abs(f[m] - observed(i));
      spread += (2 * static_cast<double>(m) + 1 - static_cast<double>(n)) * f[m];
    }
    sum += misses / static_cast<double>(n) - spread / (static_cast<double>(n) * static_cast<double>(n));
  }
  return sum / static_cast<double>(members.rows());
}

}  // namespace repel::metrics
