// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/exact_sqrt.hpp>

#include <algorithm>
#include <limits>
#include <tuple>
#include <type_traits>

// Optimisers: from the ascent direction Φ to a move of the particles.
//
// An optimiser is a value of settings with two members; what it remembers between steps lives in the sampler's state:
//
//   struct SignAscent {
//     double learning_rate = 0.01;
//     auto init(const auto& /*particles*/) const { return repel::Empty{}; }               // its memory
//     void update(auto& /*memory*/, repel::Index /*step*/, const auto& phi, auto& particles) const {
//       particles.array() += learning_rate * phi.array().sign();                           // step counts from 1
//     }
//   };
//
// Two optional members serve others: step_sizes(memory, step, first, count, factor, out) writes what a direction is
// multiplied by in entries first … first + count of the matrix, with a factor on the learning rate (for Langevin noise);
// change_frame(linear, squares) of a memory applies linear(m) to its matrices that are sums of directions, and
// squares(m) to those of their squares, when coordinates change (space/coordinates.hpp).

namespace repel {

/// What the optimiser remembers about particles of type P.
template <class O, class P>
using MemoryOf = decltype(std::declval<const O&>().init(std::declval<const P&>()));

/// What moves the particles along a direction.
template <class O>
concept Optimiser = requires(const O& optimiser, Eigen::MatrixXd& particles) {
  optimiser.init(particles);
}
&&requires(const O& optimiser, MemoryOf<O, Eigen::MatrixXd>& memory, const Eigen::MatrixXd& phi,
           Eigen::MatrixXd& particles) {
  optimiser.update(memory, Index{1}, phi, particles);
};

namespace detail {

/// The matrices that an optimiser remembers: a memory is Empty, a matrix, or has fields() that ties them together;
/// any other type is taken to have none.
template <class Memory, class Body>
void for_each_field(Memory& memory, const Body& body) {
  if constexpr (requires { memory.fields(); })
    std::apply([&](auto&... field) { (body(field), ...); }, memory.fields());
  else if constexpr (requires { memory.data(), memory.rows(), memory.cols(); })
    body(memory);
}

/// A memory whose matrices all have the particles' shape, and says so.
template <class Memory>
concept LikeParticles = requires {
  requires Memory::like_particles;
};

/// The memory of an optimiser that keeps one matrix: a sum or an average of Φ².
template <class P>
struct SquareMemory {
  static constexpr bool like_particles = true;  ///< all matrices have the particles' shape
  P square;
  void change_frame(const auto&, const auto& squares) { squares(square); }
  /// rate / (√square + ε)
  void step_sizes(Index first, Index count, double rate, double epsilon, typename P::Scalar* out) const {
    using Scalar = typename P::Scalar;
    const Scalar eps = std::max(static_cast<Scalar>(epsilon), std::numeric_limits<Scalar>::min());
    array_at(out, count) = static_cast<Scalar>(rate) / (exact_sqrt(array_at(square.data() + first, count)) + eps);
  }
  auto fields() { return std::tie(square); }
  auto fields() const { return std::tie(square); }
};

/// ε in the particles' scalar type, kept from rounding to 0, which would lead to 0 / 0.
template <class Scalar>
Scalar positive_epsilon(double epsilon) {
  return std::max(static_cast<Scalar>(epsilon), std::numeric_limits<Scalar>::min());
}

/// body(first, count) on short runs of the entries of a matrix, in parallel if it is large: an update of several
/// statements then makes one pass over memory, since a run stays in the nearest cache.
template <class Body>
void for_each_run(Index size, const Body& body) {
  constexpr Index run = 512;
  parallel_tiles(size, 16 * run, 8, [&](Index begin, Index count) {
    for (Index first = begin; first < begin + count; first += run) body(first, std::min(run, begin + count - first));
  });
}

/// Entries first … first + count of a matrix, as an array.
template <class M>
auto entries(M& matrix, Index first, Index count) {
  return array_at(matrix.data() + first, count);
}

template <class O>
consteval bool assert_optimiser() {
  static_assert(Optimiser<O>, "repel: an optimiser is expected here, such as Adam{.learning_rate = 0.01} or Sgd{}");
  return true;
}

}  // namespace detail

}  // namespace repel
