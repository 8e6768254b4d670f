// SPDX-License-Identifier: MIT
#pragma once

#include <Eigen/Core>

#include <concepts>
#include <type_traits>

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "repel: -ffast-math removes every check for NaN and infinity; compile with -fno-finite-math-only after it"
#endif

namespace repel {

/// Sizes and indices, signed, as in Eigen.
using Index = Eigen::Index;
static_assert(sizeof(Index) >= 8,
              "repel: Eigen::Index must have 64 bits, since sizes are multiplied; this is a 32-bit platform, or "
              "EIGEN_DEFAULT_DENSE_INDEX_TYPE is defined");

/// Particles are stored one per column, so a d×n matrix holds n particles of dimension d.
template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

/// A column.
template <class Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

namespace detail {

/// A register full of numbers.
template <class Scalar>
inline constexpr Index kChunk = Eigen::internal::packet_traits<Scalar>::size;
template <class Scalar>
using Chunk = Eigen::Array<Scalar, kChunk<Scalar>, 1>;

/// `count` numbers in memory, as an array: elementwise work is written on these and no other types, which spares the
/// compiler most of Eigen's expression types.
template <class Scalar>
auto array_at(Scalar* values, Index count) {
  using Array = Eigen::Array<std::remove_const_t<Scalar>, Eigen::Dynamic, 1>;
  return Eigen::Map<std::conditional_t<std::is_const_v<Scalar>, const Array, Array>>(values, count);
}

}  // namespace detail

/// The types that coordinates may have.
template <class Scalar>
concept Real = std::same_as<Scalar, float> || std::same_as<Scalar, double>;

/// The buffers of a policy that needs none.
struct Empty {};

}  // namespace repel
