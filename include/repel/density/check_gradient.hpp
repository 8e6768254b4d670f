// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

// Is a gradient right? Against the log density where the target has one; by itself otherwise.

namespace repel {

/// What check_gradient() and check_stein() found.
struct GradientCheck {
  bool passed = false;    ///< nothing was found
  Index particle = 0;     ///< where the worst disagreement is: the column of w
  Index coordinate = 0;   ///< and the row; −1 for all of them together
  Index other = -1;       ///< of two coordinates that should agree, the second; −1 if there is none
  double value = 0;       ///< what the target says there
  double expected = 0;    ///< what it should say
  double error = 0;       ///< their difference over what is allowed: at most 1 where it passed
  std::string message{};  ///< all of it as a sentence
};

namespace detail {

/// A derivative and an idea of its error: central differences with steps h, h/2, h/4, … and Richardson's extrapolation
/// of them, of which the entry with the least change is taken (Ridders 1982). Differences that are not finite, as beyond
/// the edge of a support, are left out. add() takes them in order of falling steps.
class RiddersDerivative {
 public:
  /// `rounding` is what the rounding of its two values makes of it.
  void add(double difference, double rounding) {
    if (!std::isfinite(difference)) {
      count_ = 0;
      return;
    }
    double next[kLevels];
    next[0] = difference;
    double power = 1;
    const int columns = std::min(count_ + 1, kLevels);
    for (int k = 1; k < columns; ++k) {
      power *= 4;
      next[k] = (power * next[k - 1] - row_[k - 1]) / (power - 1);
      const double change = std::max({std::abs(next[k] - next[k - 1]), std::abs(next[k] - row_[k - 1]), rounding});
      if (change < error) {
        error = change;
        value = next[k];
      }
    }
    std::copy_n(next, columns, row_);
    count_ = columns;
  }

  double value = std::numeric_limits<double>::quiet_NaN();
  double error = std::numeric_limits<double>::infinity();

 private:
  static constexpr int kLevels = 6;
  double row_[kLevels]{};
  int count_ = 0;
};

constexpr Index kRiddersSteps = 16;

/// The first step for a coordinate: a quarter of its size, of 1 where it is smaller.
inline double ridders_step(double x) { return 0.25 * std::max(1.0, std::abs(x)); }

template <class P>
constexpr double gradient_tolerance() {
  return sizeof(typename P::Scalar) == 4 ? 1e-3 : 1e-6;
}

/// The derivatives of f(points, values) along coordinate k at w: values(j) is the vector that f gives for a point.
template <class P, class Evaluate>
void differences_along(const P& w, Index particle, Index k, const Evaluate& evaluate) {
  using Scalar = typename P::Scalar;
  P points(w.rows(), 2 * kRiddersSteps);
  Vector<double> steps(kRiddersSteps);
  double h = ridders_step(static_cast<double>(w(k, particle)));
  for (Index i = 0; i < kRiddersSteps; ++i, h /= 2) {
    points.col(2 * i) = points.col(2 * i + 1) = w.col(particle);
    points(k, 2 * i) = static_cast<Scalar>(static_cast<double>(w(k, particle)) + h);
    points(k, 2 * i + 1) = static_cast<Scalar>(static_cast<double>(w(k, particle)) - h);
    steps(i) = static_cast<double>(points(k, 2 * i)) - static_cast<double>(points(k, 2 * i + 1));  // as rounded
  }
  evaluate(std::as_const(points), std::as_const(steps));
}

/// The log densities, looked at before the gradient: one that is not finite says more.
template <class Target, class P>
Vector<double> finite_densities(Target& target, const P& w) {
  Vector<double> values(w.cols());
  target.log_density(w, values);
  if (values.size() != w.cols())
    fail("check_gradient", "log_density wrote ", values.size(),
         " values, but must write one per column of w: ", w.cols());
  for (Index j = 0; j < w.cols(); ++j)
    if (!std::isfinite(values(j)))
      fail("check_gradient", "the log density of w.col(", j, ") is ", values(j),
           ", but must be finite: is there a NaN in the data, or a parameter with a bound, which repel::constrained "
           "would keep?");
  return values;
}

/// ∇ log p against differences of log p, whose values at w are `at`.
template <class Target, class P>
GradientCheck check_by_density(Target& target, const P& w, const P& g, const Vector<double>& at) {
  GradientCheck out;
  out.error = -1;
  Vector<double> values;
  bool vague = false;
  for (Index j = 0; j < w.cols(); ++j) {
    const double rounding = std::numeric_limits<typename P::Scalar>::epsilon() *
                            (std::abs(at(j)) + static_cast<double>(w.col(j).cwiseProduct(g.col(j)).cwiseAbs().sum()));
    // A gradient that is small beside the others is compared with what they make of the same relative change.
    const double typical = static_cast<double>(g.col(j).cwiseAbs().maxCoeff()) * 1e-3;
    for (Index k = 0; k < w.rows(); ++k) {
      RiddersDerivative derivative;
      differences_along(w, j, k, [&](const P& points, const Vector<double>& steps) {
        values.resize(points.cols());
        target.log_density(points, values);
        for (Index i = 0; i < steps.size(); ++i)
          derivative.add((values(2 * i) - values(2 * i + 1)) / steps(i), rounding / steps(i));
      });
      const double value = static_cast<double>(g(k, j));
      const double scale = std::max({std::abs(derivative.value), std::abs(value), typical, 1e-8});
      vague = vague || !(derivative.error < 0.01 * scale);
      const double allowed = 20 * derivative.error + gradient_tolerance<P>() * scale;
      const double error = std::abs(value - derivative.value) / allowed;
      if (error > out.error || std::isnan(error))
        out = {.particle = j, .coordinate = k, .value = value, .expected = derivative.value, .error = error};
    }
  }
  out.passed = out.error <= 1;
  const std::string place = concat("coordinate ", out.coordinate, " of particle ", out.particle);
  if (!out.passed)
    out.message = concat("the gradient does not fit the log density: ", place, " is ", out.value,
                         ", but finite differences give ", out.expected,
                         std::abs(out.value + out.expected) < 1e-3 * std::abs(out.value) ? " (a sign error?)" : "");
  else
    out.message = concat("the gradient fits the log density",
                         vague ? ", as far as differences of it can tell: they are too rough in some coordinate" : "");
  return out;
}

/// The Jacobian of a gradient is symmetric.
template <class Target, class P>
GradientCheck check_by_symmetry(Target& target, const P& w) {
  GradientCheck out;
  out.error = -1;
  const Index d = w.rows();
  Matrix<double> slope(d, d), error(d, d);
  constexpr double rounding = 4 * static_cast<double>(std::numeric_limits<typename P::Scalar>::epsilon());
  for (Index j = 0; j < w.cols(); ++j) {
    P g;
    for (Index k = 0; k < d; ++k)
      differences_along(w, j, k, [&](const P& points, const Vector<double>& steps) {
        resize_unwritten(g, points.rows(), points.cols());
        target(points, g);
        for (Index l = 0; l < d; ++l) {
          RiddersDerivative derivative;
          for (Index i = 0; i < steps.size(); ++i)
            derivative.add((static_cast<double>(g(l, 2 * i)) - static_cast<double>(g(l, 2 * i + 1))) / steps(i),
                           rounding * std::abs(static_cast<double>(g(l, 2 * i))) / steps(i));
          slope(l, k) = derivative.value;
          error(l, k) = derivative.error;
        }
      });
    for (Index k = 0; k < d; ++k)
      for (Index l = 0; l < k; ++l) {
        const double scale = std::max({std::sqrt(std::abs(slope(k, k) * slope(l, l))) * 1e-3, std::abs(slope(k, l)),
                                       std::abs(slope(l, k)), 1e-8});
        const double allowed = 20 * (error(k, l) + error(l, k)) + 10 * gradient_tolerance<P>() * scale;
        const double off = std::abs(slope(k, l) - slope(l, k)) / allowed;
        if (off > out.error || std::isnan(off))
          out = {
              .particle = j, .coordinate = k, .other = l, .value = slope(k, l), .expected = slope(l, k), .error = off};
      }
  }
  out.passed = out.error <= 1;
  out.message =
      out.passed
          ? std::string(d == 1 ? "one coordinate without a log density: nothing can be checked"
                               : "the force is the gradient of some log density, since its Jacobian is symmetric; a "
                                 "factor on all of it, or a term that is missing in all coordinates, cannot be seen "
                                 "without the log density (repel::with_log_density, repel::differentiated)")
          : concat("this is not the gradient of any log density: at particle ", out.particle, " coordinate ",
                   out.coordinate, " changes by ", out.value, " with coordinate ", out.other, ", but that one by ",
                   out.expected,
                   " with this one, and these must be equal (is a term or a factor of one of them missing?)");
  return out;
}

/// What to add to a verdict: the first coordinate whose derivative is the same at all points.
template <class P>
std::string constant_coordinate(const P& w, const P& g) {
  for (Index k = 0; k < w.rows(); ++k)
    if ((w.row(k).array() != w(k, 0)).any() && (g.row(k).array() == g(k, 0)).all())
      return concat("; the derivative of coordinate ", k, " is ", g(k, 0),
                    " at every point (does the log density read it?)");
  return {};
}

}  // namespace detail

/// Compares ∇ log p, as the target writes it for the columns of w, with its log density by finite differences of the
/// best step; where the target has no log_density(w, values), it checks whether the Jacobian is symmetric, as every
/// gradient's is. The message also names a coordinate whose derivative is the same at all points. It takes 32 evaluations
/// for every coordinate of every point. Give it a few ordinary points, not all zero.
template <class Target, class Derived>
GradientCheck check_gradient(Target&& target, const Eigen::MatrixBase<Derived>& w) {
  using P = Matrix<typename Derived::Scalar>;
  const P points = w;
  detail::require_points("check_gradient", "w", points);
  P g;
  detail::resize_unwritten(g, points.rows(), points.cols());
  if constexpr (requires { target.begin_step(Index{0}); }) target.begin_step(Index{0});
  Vector<double> values;
  if constexpr (requires { target.log_density(points, values); }) values = detail::finite_densities(target, points);
  target(points, g);
  detail::require_same_shape("check_gradient", "the gradient written by the target", g, "w", points);
  detail::require_usable("check_gradient", "the gradient", g);
  GradientCheck out;
  if constexpr (requires { target.log_density(points, values); })
    out = detail::check_by_density(target, points, g, values);
  else
    out = detail::check_by_symmetry(target, points);
  out.message += detail::constant_coordinate(points, g);
  return out;
}

}  // namespace repel
