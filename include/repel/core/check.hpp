#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

// Input checks. Every message names the function, the argument, its value and the rule it breaks, as in
//   repel::weight_space: particles(2, 17) is nan, but must be finite
// The tests are cheap and inline; the words are put together on the cold path only.

namespace repel::detail {

template <class... Parts>
std::string words(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

template <class... Parts>
[[noreturn]] void fail(const char* where, const Parts&... parts) {
  throw std::invalid_argument(words("repel::", where, ": ", parts...));
}

/// The largest magnitude a coordinate may have: sums of squares over up to 2^24 coordinates then stay finite.
template <class Scalar>
Scalar largest_coordinate() {
  return std::sqrt(std::numeric_limits<Scalar>::max()) / Scalar(8192);
}

/// True if every coefficient is a number whose square can be summed up (see largest_coordinate).
template <class Derived>
bool all_usable(const Eigen::DenseBase<Derived>& values) {
  using Scalar = typename Derived::Scalar;
  if (values.size() == 0) return true;
  const Scalar largest = largest_coordinate<Scalar>();
  const double bad = parallel_sum(values.cols(), static_cast<double>(values.rows()), [&](Index first, Index width) {
    const auto part = values.derived().middleCols(first, width).cwiseAbs();
    return part.template maxCoeff<Eigen::PropagateNaN>() <= largest ? 0.0 : 1.0;
  });
  return bad == 0;
}

inline void require_positive(const char* where, const char* name, double value) {
  if (!(value > 0) || !std::isfinite(value)) fail(where, name, " is ", value, ", but must be finite and larger than 0");
}

inline void require_non_negative(const char* where, const char* name, double value) {
  if (!(value >= 0) || !std::isfinite(value)) fail(where, name, " is ", value, ", but must be finite and at least 0");
}

/// Directions are at most largest_coordinate, so with a rate below this no bundled optimiser moves a particle to
/// infinity.
inline void require_rate(const char* where, double value) {
  if (!(value > 0 && value <= 1e9))
    fail(where, "learning_rate is ", value, ", but must be larger than 0 and at most 1e9");
}

/// A setting in the particles' scalar type.
template <class Scalar>
Scalar require_in_range(const char* where, const char* name, double value) {
  if (!std::isfinite(static_cast<Scalar>(value)))
    fail(where, name, " is ", value, ", but must be within the range of ", 8 * sizeof(Scalar), "-bit numbers");
  return static_cast<Scalar>(value);
}

/// For decay rates and momenta: 0 ≤ value < 1.
inline void require_fraction_below_one(const char* where, const char* name, double value) {
  if (!(value >= 0 && value < 1)) fail(where, name, " is ", value, ", but must be at least 0 and below 1");
}

template <class Derived>
void require_usable(const char* where, const char* name, const Eigen::DenseBase<Derived>& values) {
  using Scalar = typename Derived::Scalar;
  if (all_usable(values)) return;
  const auto& x = values.derived().eval();
  for (Index j = 0; j < x.cols(); ++j)
    for (Index i = 0; i < x.rows(); ++i) {
      if (!std::isfinite(x(i, j))) fail(where, name, "(", i, ", ", j, ") is ", x(i, j), ", but must be finite");
      if (!(std::abs(x(i, j)) <= largest_coordinate<Scalar>()))
        fail(where, name, "(", i, ", ", j, ") is ", x(i, j), ", but must be at most ", largest_coordinate<Scalar>(),
             " in magnitude: its square would overflow ", 8 * sizeof(Scalar), "-bit arithmetic");
    }
}

/// A set of points: at least one column, at least one row, every value usable.
template <class Derived>
void require_points(const char* where, const char* name, const Eigen::DenseBase<Derived>& points) {
  if (points.rows() < 1) fail(where, name, " has 0 rows, but needs at least 1 (the dimension)");
  if (points.cols() < 1) fail(where, name, " has 0 columns, but needs at least 1 (one per particle)");
  require_usable(where, name, points);
}

template <class A, class B>
void require_same_shape(const char* where, const char* name, const A& value, const char* other, const B& expected) {
  if (value.rows() != expected.rows() || value.cols() != expected.cols())
    fail(where, name, " is ", value.rows(), "x", value.cols(), ", but must be ", expected.rows(), "x", expected.cols(),
         " like ", other);
}

/// For what a direct function returns: the input may be usable and yet take the arithmetic out of its range.
template <class Derived>
void require_finite_result(const char* where, const Eigen::MatrixBase<Derived>& result, double h) {
  if (result.allFinite()) return;
  for (Index j = 0; j < result.cols(); ++j)
    if (!result.col(j).allFinite())
      fail(where, "the result for column ", j, " is not finite, but must be: with the bandwidth h = ", h,
           " these points leave the range of ", 8 * sizeof(typename Derived::Scalar),
           "-bit numbers, or sums of k vanish");
}

/// The first column that holds an unusable value, or -1.
template <class Derived>
Index first_unusable_column(const Eigen::DenseBase<Derived>& values) {
  for (Index j = 0; j < values.cols(); ++j)
    if (!all_usable(values.derived().col(j))) return j;
  return -1;
}

/// A policy may check its own settings in a member validate(); most users' policies have nothing to check.
template <class Policy>
void validate(const Policy& policy) {
  if constexpr (requires { policy.validate(); }) policy.validate();
}

}  // namespace repel::detail
