// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <unsupported/Eigen/AutoDiff>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

namespace repel {

/// The scalar that differentiated() evaluates log densities with: a value and eight derivatives.
using Dual = Eigen::AutoDiffScalar<Eigen::Matrix<double, 8, 1>>;

/// A target from a log density alone: gradients by automatic differentiation, forward, eight coordinates at a time.
///
///   struct LogDensity {
///     template <class T>
///     T operator()(const Eigen::Matrix<T, Eigen::Dynamic, 1>& w) const { … }
///   };
///   auto target = repel::differentiated(LogDensity{});        // for weight_space, sample, hmc, nuts, check_gradient
///
/// or a lambda, [&]<class T>(const repel::Vector<T>& w) -> T { … }. In it, write T rather than auto for what is computed
/// from w: an auto may be an expression that refers to what is gone. Functions are found without std::, as in
/// `using std::exp;`; functions.hpp has a few that Eigen's AutoDiff lacks.
///
/// A density cannot be asked how many parameters it reads, and one that reads beyond its argument has no defined result.
/// So say it, by a member dim() or as differentiated(log_density, dim): every other number throws.
///
/// A gradient costs about ⌈d/8⌉ evaluations of the density, each some three times as long as in double: the best choice
/// up to a few hundred parameters. Beyond, a tape (repel/adolc.hpp) is faster, and a gradient by hand can be at any size;
/// docs/densities.md has figures. Everything is computed in double, whatever the particles are. Particles run in parallel, so the density must
/// not write to shared data. A member begin_step(step) of the density, such as one that draws a minibatch, is called once
/// before every step. Where the log density is not a finite number the gradient is NaN, so that samplers stop and say so.
template <class LogDensity>
class Differentiated {
 public:
  static_assert(
      std::invocable<const LogDensity&, const Vector<double>&> &&
          std::invocable<const LogDensity&, const Vector<Dual>&>,
      "repel::differentiated: the log density must be callable with a column of double and with one of "
      "repel::Dual, as a template: template <class T> T operator()(const Eigen::Matrix<T, Eigen::Dynamic, 1>& "
      "w) const; functions of it are called without std::, after `using std::log;`");

  static_assert(std::same_as<std::remove_cvref_t<std::invoke_result_t<const LogDensity&, const Vector<Dual>&>>, Dual>,
                "repel::differentiated: the log density must be a template that returns T, the scalar of its argument, "
                "and not an expression of it, which would refer to variables that are gone: give a lambda its return "
                "type, [&]<class T>(const repel::Vector<T>& w) -> T");

  /// Made by differentiated(). dim 0: it is not known.
  explicit Differentiated(LogDensity log_density, Index dim = 0)
      : log_density_(std::forward<LogDensity>(log_density)), dim_(dim) {
    if constexpr (requires(const LogDensity& f) { static_cast<Index>(f.dim()); })
      if (dim_ == 0) dim_ = static_cast<Index>(log_density_.dim());
  }

  Index dim() const { return dim_; }  ///< parameters that the density reads; 0 if it has not said so

  void begin_step(Index step) requires requires(LogDensity& f) { f.begin_step(step); }
  { log_density_.begin_step(step); }

  /// ∇ log p of every column of w.
  template <class W, class G>
  void operator()(const W& w, G& g) const {
    differentiate(w, g, [](Index, double) {});
  }

  /// log p of every column of w.
  template <class W>
  void log_density(const W& w, Vector<double>& values) const {
    require_dim(w.rows());
    values.resize(w.cols());
    detail::parallel_for(w.cols(), kWork * static_cast<double>(w.rows()), [&](Index j) {
      thread_local Vector<double> x;
      x = w.col(j).template cast<double>();
      values(j) = static_cast<double>(log_density_(std::as_const(x)));
    });
  }

  /// Both, for the price of the gradient.
  template <class W, class G>
  void value_and_gradient(const W& w, G& g, Vector<double>& values) const {
    values.resize(w.cols());
    differentiate(w, g, [&](Index j, double value) { values(j) = value; });
  }

 private:
  static constexpr Index kChunk = 8;
  static constexpr double kWork =
      1000;  // a user's function is assumed to be worth a thread from 100 coordinates upwards

  template <class W, class G, class Keep>
  void differentiate(const W& w, G& g, const Keep& keep) const {
    using Scalar = typename G::Scalar;
    const Index d = w.rows();
    require_dim(d);
    g.resize(d, w.cols());
    detail::parallel_for(w.cols(), 3 * kWork * static_cast<double>(d), [&](Index j) {
      thread_local Vector<Dual> x;
      x.resize(d);
      for (Index k = 0; k < d; ++k) {
        x(k).value() = static_cast<double>(w(k, j));
        x(k).derivatives().setZero();
      }
      for (Index first = 0; first < d; first += kChunk) {
        const Index count = std::min(kChunk, d - first);
        for (Index k = 0; k < count; ++k) x(first + k).derivatives()(k) = 1;
        const Dual value = log_density_(std::as_const(x));
        for (Index k = 0; k < count; ++k) {
          g(first + k, j) = static_cast<Scalar>(value.derivatives()(k));
          x(first + k).derivatives()(k) = 0;
        }
        if (first > 0) continue;
        keep(j, value.value());
        if (std::isfinite(value.value())) continue;
        // Outside its support a density can have a slope all the same, as log x has at −1: that is no gradient.
        g.col(j).setConstant(std::numeric_limits<Scalar>::quiet_NaN());
        break;
      }
    });
  }

  void require_dim(Index rows) const {
    if (dim_ > 0 && rows != dim_)
      detail::fail("differentiated", "w has ", rows, " rows, but must have ", dim_, ", the log density's dim");
  }

  LogDensity log_density_;
  Index dim_;
};

/// std::ref(log_density) is kept by reference.
template <class LogDensity>
Differentiated<std::unwrap_ref_decay_t<LogDensity>> differentiated(LogDensity&& log_density) {
  return Differentiated<std::unwrap_ref_decay_t<LogDensity>>(std::forward<LogDensity>(log_density));
}
/// The same; `dim` is the number of parameters that the density reads.
template <class LogDensity>
Differentiated<std::unwrap_ref_decay_t<LogDensity>> differentiated(LogDensity&& log_density, Index dim) {
  if (dim < 1) detail::fail("differentiated", "dim is ", dim, ", but must be at least 1");
  return Differentiated<std::unwrap_ref_decay_t<LogDensity>>(std::forward<LogDensity>(log_density), dim);
}

}  // namespace repel
