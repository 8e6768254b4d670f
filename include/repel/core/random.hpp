#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace repel {

/// A stream of random numbers that is the same on every platform, but for the last bit of the mathematical functions:
/// the engine is fixed by the C++ standard, and the transformations, which the standard leaves open, are spelled out
/// here.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  /// Uniform on the open interval (0, 1): the midpoints of 2^52 cells.
  double uniform() { return (static_cast<double>(engine_() >> 12) + 0.5) * 0x1p-52; }

  /// Standard normal, by the Box–Muller transform.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

/// A dim×count matrix of independent draws from N(0, sd²), particle after particle.
template <class Scalar = double>
Matrix<Scalar> normal(Index dim, Index count, std::uint64_t seed, double sd = 1) {
  if (dim < 1) detail::fail("normal", "dim is ", dim, ", but must be at least 1");
  if (count < 1) detail::fail("normal", "count is ", count, ", but must be at least 1");
  detail::require_non_negative("normal", "sd", sd);
  if (sd > static_cast<double>(detail::largest_coordinate<Scalar>()))
    detail::fail("normal", "sd is ", sd, ", but must be at most ", detail::largest_coordinate<Scalar>(), " for ",
                 8 * sizeof(Scalar), "-bit numbers");
  Random random(seed);
  Matrix<Scalar> draws(dim, count);
  for (Index j = 0; j < count; ++j)
    for (Index i = 0; i < dim; ++i) draws(i, j) = static_cast<Scalar>(sd * random.normal());
  return draws;
}

}  // namespace repel
