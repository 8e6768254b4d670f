// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/data/labelled.hpp>

#include <cmath>
#include <cstdint>
#include <numbers>

// Synthetic points from a formula: the same seed gives the same points.

namespace repel::data {

/// Inputs and what was observed there.
template <class Scalar>
struct Observed {
  Matrix<Scalar> inputs;   ///< d×N
  Matrix<Scalar> targets;  ///< outputs×N
};

namespace detail {

inline void require_count(const char* where, const char* name, Index count, Index least = 1) {
  if (count < least) repel::detail::fail(where, name, " is ", count, ", but must be at least ", least);
}

}  // namespace detail

/// Gaussians with covariance sd² I around centres on a ring, one class each, in rotation; the paper has 40 points
/// around each of 5 centres on a ring of radius 5.
template <class Scalar = double>
Labelled<Scalar> ring_of_gaussians(Index per_class, std::uint64_t seed, Index classes = 5, double radius = 5,
                                   double sd = 1) {
  detail::require_count("data::ring_of_gaussians", "per_class", per_class);
  detail::require_count("data::ring_of_gaussians", "classes", classes);
  Random random(seed);
  const Index count = classes * per_class;
  Labelled<Scalar> out{Matrix<Scalar>(2, count), Eigen::RowVectorXi(count)};
  for (Index i = 0; i < count; ++i) {
    const Index c = i % classes;
    const double angle = 2 * std::numbers::pi * static_cast<double>(c) / static_cast<double>(classes);
    out.labels(i) = static_cast<int>(c);
    out.inputs(0, i) = static_cast<Scalar>(radius * std::cos(angle) + sd * random.normal());
    out.inputs(1, i) = static_cast<Scalar>(radius * std::sin(angle) + sd * random.normal());
  }
  return out;
}

/// y = x sin(x) + N(0, noise²), x uniform on [low, high].
template <class Scalar = double>
Observed<Scalar> x_sin_x(Index count, std::uint64_t seed, double low, double high, double noise) {
  detail::require_count("data::x_sin_x", "count", count);
  if (!(low < high)) repel::detail::fail("data::x_sin_x", "low is ", low, ", but must be below high, ", high);
  repel::detail::require_non_negative("data::x_sin_x", "noise", noise);
  Random random(seed);
  Observed<Scalar> out{Matrix<Scalar>(1, count), Matrix<Scalar>(1, count)};
  for (Index i = 0; i < count; ++i) {
    const double x = low + (high - low) * random.uniform();
    out.inputs(0, i) = static_cast<Scalar>(x);
    out.targets(0, i) = static_cast<Scalar>(x * std::sin(x) + noise * random.normal());
  }
  return out;
}

/// Two interleaved half circles, one class each, with N(0, noise²) on both coordinates.
template <class Scalar = double>
Labelled<Scalar> moons(Index per_class, std::uint64_t seed, double noise = 0.1) {
  detail::require_count("data::moons", "per_class", per_class);
  repel::detail::require_non_negative("data::moons", "noise", noise);
  Random random(seed);
  Labelled<Scalar> out{Matrix<Scalar>(2, 2 * per_class), Eigen::RowVectorXi(2 * per_class)};
  for (Index i = 0; i < 2 * per_class; ++i) {
    const bool lower = i >= per_class;
    const double angle = std::numbers::pi * random.uniform();
    const double x = lower ? 1 - std::cos(angle) : std::cos(angle), y = lower ? 0.5 - std::sin(angle) : std::sin(angle);
    out.labels(i) = lower ? 1 : 0;
    out.inputs(0, i) = static_cast<Scalar>(x + noise * random.normal());
    out.inputs(1, i) = static_cast<Scalar>(y + noise * random.normal());
  }
  return out;
}

/// Inputs that mean nothing: every coordinate uniform on [low, high].
template <class Scalar = double>
Matrix<Scalar> uniform_noise(Index dim, Index count, std::uint64_t seed, double low = 0, double high = 1) {
  detail::require_count("data::uniform_noise", "dim", dim);
  detail::require_count("data::uniform_noise", "count", count);
  if (!(low < high)) repel::detail::fail("data::uniform_noise", "low is ", low, ", but must be below high, ", high);
  Random random(seed);
  Matrix<Scalar> out(dim, count);
  for (Index j = 0; j < count; ++j)
    for (Index i = 0; i < dim; ++i) out(i, j) = static_cast<Scalar>(low + (high - low) * random.uniform());
  return out;
}

}  // namespace repel::data
