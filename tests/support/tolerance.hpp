#pragma once

#include <Eigen/Core>

#include <type_traits>

// One place for what "equal" means. Errors are taken relative to the largest entry of the reference.

namespace test {

/// Sums of up to some hundred products, each rounded once: a few hundred units of rounding.
template <class Scalar>
constexpr double rounding() {
  return std::is_same_v<Scalar, float> ? 2e-5 : 1e-12;
}

/// The same after solving with K + 0.01 I, whose condition number is up to n / 0.01.
template <class Scalar>
constexpr double after_solve() {
  return std::is_same_v<Scalar, float> ? 2e-3 : 1e-10;
}

inline double relative_error_of(const Eigen::MatrixXd& value, const Eigen::MatrixXd& reference) {
  if (value.rows() != reference.rows() || value.cols() != reference.cols()) return 1e300;
  const double scale = reference.cwiseAbs().maxCoeff();
  const double error = (value - reference).cwiseAbs().maxCoeff<Eigen::PropagateNaN>();
  return scale > 0 ? error / scale : error;
}

template <class A, class B>
double relative_error(const A& value, const B& reference) {
  return relative_error_of(value.template cast<double>(), reference.template cast<double>());
}

}  // namespace test
