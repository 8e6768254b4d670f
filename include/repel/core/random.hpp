// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace repel {

/// A stream of random numbers that is the same on every platform, except for the last bit of mathematical functions:
/// the engine is fixed by the C++ standard, and the transformations, which the standard leaves open, are spelled out
/// here.
class Random {
 public:
  /// Random numbers from a seed.
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

  /// Gamma with this shape, which must be positive, and scale 1, by rejection (Marsaglia & Tsang 2000).
  double gamma(double shape) {
    if (shape < 1) {  // a draw of shape + 1, made smaller
      const double more = gamma(shape + 1);
      return more * std::pow(uniform(), 1 / shape);
    }
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    while (true) {
      const double x = normal(), v = (1 + c * x) * (1 + c * x) * (1 + c * x);
      if (v > 0 && std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

 private:
  std::mt19937_64 engine_;
  double spare_ = 0;
  bool has_spare_ = false;
};

namespace detail {

/// A bijection of 64-bit words that destroys any pattern in its argument (the finaliser of SplitMix64).
inline std::uint64_t scramble(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace detail

/// The seed of a separate stream for each pair of numbers, such as a step and a particle. What is drawn from it depends
/// on these numbers alone, not on earlier draws, so a run continues from any step as if it had never stopped.
inline std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0) {
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
  return detail::scramble(detail::scramble(detail::scramble(seed + golden) ^ (a + golden)) ^ (b + golden));
}

/// Standard normals in bulk, several times as fast as Random and as reproducible: SplitMix64 and Box–Muller on whole
/// arrays, in 32-bit arithmetic. They have 24 significant bits and stay below 6.8 in magnitude, which is enough for
/// draws from a prior or for momenta, in double as well as in float.
template <class Scalar>
void fill_normal(std::uint64_t seed, Eigen::Ref<Vector<Scalar>> out) {
  constexpr Index half = 64;
  constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
  using Block = Eigen::Array<float, half, 1>;
  constexpr float cell = 0x1p-32F;
  std::uint64_t counter = seed;
  for (Index first = 0; first < out.size(); first += 2 * half) {
    Block radius, angle;
    for (Index i = 0; i < half; ++i) {
      const std::uint64_t bits = detail::scramble(counter += golden);
      radius(i) = (static_cast<float>(static_cast<std::uint32_t>(bits)) + 0.5F) * cell;
      angle(i) = static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * cell;  // of a turn, in [−½, ½]
    }
    radius = (-2 * radius.log()).max(0).sqrt();
    angle *= 2 * std::numbers::pi_v<float>;
    Eigen::Array<float, 2 * half, 1> draws;
    draws.head<half>() = radius * angle.cos();
    draws.tail<half>() = radius * angle.sin();
    const Index count = std::min(2 * half, out.size() - first);
    out.segment(first, count) = draws.head(count).matrix().template cast<Scalar>();
  }
}

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
