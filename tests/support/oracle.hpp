#pragma once

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

// Plain loops over the paper's equations, in double, written without the library: what the fast paths must agree with.

namespace test {

using Mat = Eigen::MatrixXd;
using Vec = Eigen::VectorXd;
using Index = Eigen::Index;

/// A kernel as two textbook formulas.
struct OracleKernel {
  std::function<double(const Vec& x, const Vec& y, double h)> value;
  std::function<Vec(const Vec& x, const Vec& y, double h)> gradient;  ///< with respect to x
};

inline double squared_distance(const Vec& x, const Vec& y) {
  double sum = 0;
  for (Index k = 0; k < x.size(); ++k) sum += (x(k) - y(k)) * (x(k) - y(k));
  return sum;
}

inline double l1_distance(const Vec& x, const Vec& y) {
  double sum = 0;
  for (Index k = 0; k < x.size(); ++k) sum += std::abs(x(k) - y(k));
  return sum;
}

inline OracleKernel oracle_rbf() {
  return {[](const Vec& x, const Vec& y, double h) { return std::exp(-squared_distance(x, y) / h); },
          [](const Vec& x, const Vec& y, double h) -> Vec {
            return -2 / h * (x - y) * std::exp(-squared_distance(x, y) / h);
          }};
}

inline OracleKernel oracle_laplace() {
  return {[](const Vec& x, const Vec& y, double h) { return std::exp(-l1_distance(x, y) / h); },
          [](const Vec& x, const Vec& y, double h) -> Vec {
            Vec out(x.size());
            for (Index k = 0; k < x.size(); ++k)
              out(k) = -(x(k) > y(k) ? 1.0 : x(k) < y(k) ? -1.0 : 0.0) / h * std::exp(-l1_distance(x, y) / h);
            return out;
          }};
}

inline OracleKernel oracle_imq() {
  return {[](const Vec& x, const Vec& y, double h) { return 1 / std::sqrt(1 + squared_distance(x, y) / h); },
          [](const Vec& x, const Vec& y, double h) -> Vec {
            return -(x - y) / h * std::pow(1 + squared_distance(x, y) / h, -1.5);
          }};
}

inline OracleKernel oracle_matern32() {
  return {[](const Vec& x, const Vec& y, double h) {
            const double s = std::sqrt(3 * squared_distance(x, y) / h);
            return (1 + s) * std::exp(-s);
          },
          [](const Vec& x, const Vec& y, double h) -> Vec {
            return -3 / h * (x - y) * std::exp(-std::sqrt(3 * squared_distance(x, y) / h));
          }};
}

inline OracleKernel oracle_matern52() {
  return {[](const Vec& x, const Vec& y, double h) {
            const double s = std::sqrt(5 * squared_distance(x, y) / h);
            return (1 + s + s * s / 3) * std::exp(-s);
          },
          [](const Vec& x, const Vec& y, double h) -> Vec {
            const double s = std::sqrt(5 * squared_distance(x, y) / h);
            return -5 / (3 * h) * (x - y) * (1 + s) * std::exp(-s);
          }};
}

inline Mat oracle_gram(const OracleKernel& k, const Mat& x, const Mat& y, double h) {
  Mat out(x.cols(), y.cols());
  for (Index i = 0; i < x.cols(); ++i)
    for (Index j = 0; j < y.cols(); ++j) out(i, j) = k.value(x.col(i), y.col(j), h);
  return out;
}

/// Column j = Σ_k ∇_{x_k} k(x_k, x_j).
inline Mat oracle_gradient_sum(const OracleKernel& k, const Mat& x, double h) {
  Mat out = Mat::Zero(x.rows(), x.cols());
  for (Index j = 0; j < x.cols(); ++j)
    for (Index i = 0; i < x.cols(); ++i) out.col(j) += k.gradient(x.col(i), x.col(j), h);
  return out;
}

/// KDE score at query points.
inline Mat oracle_kde(const OracleKernel& k, const Mat& x, const Mat& at, double h) {
  Mat out(at.rows(), at.cols());
  for (Index j = 0; j < at.cols(); ++j) {
    Vec top = Vec::Zero(at.rows());
    double bottom = 0;
    for (Index i = 0; i < x.cols(); ++i) {
      top += k.gradient(at.col(j), x.col(i), h);
      bottom += k.value(at.col(j), x.col(i), h);
    }
    out.col(j) = top / bottom;
  }
  return out;
}

/// SGE by an explicit inverse.
inline Mat oracle_sge(const OracleKernel& k, const Mat& x, double h, double ridge) {
  const Mat inverse = (oracle_gram(k, x, x, h) + ridge * Mat::Identity(x.cols(), x.cols())).inverse();
  const Mat g = oracle_gradient_sum(k, x, h);
  Mat out = Mat::Zero(x.rows(), x.cols());
  for (Index i = 0; i < x.cols(); ++i)
    for (Index j = 0; j < x.cols(); ++j) out.col(i) -= inverse(i, j) * g.col(j);
  return out;
}

/// SSGE as the paper writes it, a sum over eigenpairs, of which the `keep` largest are used.
inline Mat oracle_ssge(const OracleKernel& k, const Mat& x, const Mat& at, double h, double ridge, Index keep) {
  const Index n = x.cols();
  const Eigen::SelfAdjointEigenSolver<Mat> eigen(oracle_gram(k, x, x, h) + ridge * Mat::Identity(n, n));
  const Mat g = oracle_gradient_sum(k, x, h);
  Mat out = Mat::Zero(x.rows(), at.cols());
  for (Index i = 0; i < at.cols(); ++i)
    for (Index j = n - keep; j < n; ++j) {
      Vec beta = Vec::Zero(x.rows());
      double psi = 0;
      for (Index m = 0; m < n; ++m) {
        beta += eigen.eigenvectors()(m, j) * g.col(m);
        psi += eigen.eigenvectors()(m, j) * k.value(at.col(i), x.col(m), h);
      }
      out.col(i) -= beta * psi / (eigen.eigenvalues()(j) * eigen.eigenvalues()(j));
    }
  return out;
}

inline Mat oracle_blob(const OracleKernel& k, const Mat& x, double h) {
  const Index n = x.cols();
  Vec sums = Vec::Zero(n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) sums(i) += k.value(x.col(i), x.col(j), h);
  Mat out = Mat::Zero(x.rows(), n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) out.col(i) += k.gradient(x.col(i), x.col(j), h) * (1 / sums(i) + 1 / sums(j));
  return out;
}

inline Mat oracle_svgd(const OracleKernel& k, const Mat& x, const Mat& grad_log_p, double h) {
  Mat out = Mat::Zero(x.rows(), x.cols());
  for (Index i = 0; i < x.cols(); ++i)
    for (Index j = 0; j < x.cols(); ++j)
      out.col(i) += (k.value(x.col(j), x.col(i), h) * grad_log_p.col(j) + k.gradient(x.col(j), x.col(i), h)) /
                    static_cast<double>(x.cols());
  return out;
}

/// The median of a list by sorting it.
inline double sorted_median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

}  // namespace test
