// SPDX-License-Identifier: MIT
#pragma once

#include <repel/optim/optimiser.hpp>

namespace repel {

/// RMSProp (Hinton 2012), with PyTorch's order of operations and defaults.
struct RmsProp {
  double learning_rate = 0.01;
  double decay = 0.99;    ///< of the average of squares
  double epsilon = 1e-8;  ///< added to the root

  void validate() const {
    detail::require_rate("RmsProp", learning_rate);
    detail::require_fraction_below_one("RmsProp", "decay", decay);
    detail::require_positive("RmsProp", "epsilon", epsilon);
  }

  template <class P>
  using Memory = detail::SquareMemory<P>;

  template <class P>
  Memory<P> init(const P& particles) const {
    return {P::Zero(particles.rows(), particles.cols())};
  }

  template <class P, class Phi>
  void update(Memory<P>& memory, Index, const Phi& phi, P& particles) const {
    using Scalar = typename P::Scalar;
    const auto rate = static_cast<Scalar>(learning_rate), keep = static_cast<Scalar>(decay),
               add = static_cast<Scalar>(1 - decay), eps = detail::positive_epsilon<Scalar>(epsilon);
    detail::for_each_run(particles.size(), [&](Index first, Index count) {
      auto square = detail::entries(memory.square, first, count), moved = detail::entries(particles, first, count);
      const auto direction = detail::entries(phi, first, count);
      square = keep * square + add * direction.square();
      moved += rate * direction / (detail::exact_sqrt(square) + eps);
    });
  }

  template <class P>
  void step_sizes(const Memory<P>& memory, Index, Index first, Index count, double factor,
                  typename P::Scalar* out) const {
    memory.step_sizes(first, count, factor * learning_rate, epsilon, out);
  }
};

}  // namespace repel
