// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/prediction.hpp>
#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/density/differentiated.hpp>

#include <algorithm>
#include <utility>

namespace repel {

/// A likelihood from the log density of one point, differentiated automatically:
///
///   // Counts with a known exposure: y has two rows, count and exposure.
///   auto likelihood = repel::own_likelihood([]<class T>(const repel::Vector<T>& f, const Eigen::VectorXd& y) -> T {
///     using std::exp;
///     return y(0) * f(0) - y(1) * exp(f(0));
///   });
///
/// f are the network's outputs at the point, y is its column of the targets, which may have any number of rows. A
/// prediction's mean and sd are of the outputs themselves; constants that do not depend on f may be left out where only
/// gradients matter.
template <class LogDensity>
struct OwnLikelihood {
  static_assert(std::invocable<const LogDensity&, const Vector<double>&, const Vector<double>&> &&
                    std::invocable<const LogDensity&, const Vector<Dual>&, const Vector<double>&>,
                "repel::own_likelihood: the log density must be callable with the outputs, a column of double or of "
                "repel::Dual, and the targets: []<class T>(const repel::Vector<T>& f, const Eigen::VectorXd& y) -> T");
  static constexpr bool has_probabilities = false;
  LogDensity point;  ///< the log density of one point

  template <class Scalar>
  using Targets = Matrix<Scalar>;
  template <class Scalar>
  using Prediction = RegressionPrediction<Scalar>;

  template <class Y>
  void check(const Y& y, Index) const {
    detail::require_usable("Bnn", "targets", y);
  }

  template <class F, class Y>
  void score(F& f, const Y& y) const {
    constexpr Index chunk = 8;  // derivatives of a Dual
    thread_local Vector<Dual> x;
    thread_local Vector<double> observed;
    x.resize(f.rows());
    for (Index i = 0; i < f.cols(); ++i) {
      observed = y.col(i).template cast<double>();
      for (Index k = 0; k < f.rows(); ++k) {
        x(k).value() = static_cast<double>(f(k, i));
        x(k).derivatives().setZero();
      }
      for (Index first = 0; first < f.rows(); first += chunk) {
        const Index count = std::min(chunk, f.rows() - first);
        for (Index k = 0; k < count; ++k) x(first + k).derivatives()(k) = 1;
        const Dual value = point(std::as_const(x), std::as_const(observed));
        for (Index k = 0; k < count; ++k) {
          f(first + k, i) = static_cast<typename F::Scalar>(value.derivatives()(k));
          x(first + k).derivatives()(k) = 0;
        }
      }
    }
  }

  template <class F, class Y>
  double log_density(const F& f, const Y& y) const {
    double sum = 0;
    for (Index i = 0; i < f.cols(); ++i)
      sum += static_cast<double>(
          point(Vector<double>(f.col(i).template cast<double>()), Vector<double>(y.col(i).template cast<double>())));
    return sum;
  }

  template <class F, class Scalar>
  void summarise(const F& f, Index outputs, RegressionPrediction<Scalar>& out) const {
    detail::summarise_members(f, outputs, out);
    out.sd_with_noise = out.sd;
  }
};

/// A likelihood from the log density of one point, log_density(f, y); derivatives are found automatically.
template <class LogDensity>
OwnLikelihood<LogDensity> own_likelihood(LogDensity log_density) {
  return {std::move(log_density)};
}

}  // namespace repel
