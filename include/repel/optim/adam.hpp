// SPDX-License-Identifier: MIT
#pragma once

#include <repel/optim/optimiser.hpp>

#include <cmath>
#include <tuple>

namespace repel {

/// Adam (Kingma & Ba 2015), with PyTorch's order of operations and defaults.
struct Adam {
  double learning_rate = 0.001;
  double beta1 = 0.9;     ///< decay of the mean
  double beta2 = 0.999;   ///< decay of the square
  double epsilon = 1e-8;  ///< added to the root

  void validate() const {
    detail::require_rate("Adam", learning_rate);
    detail::require_fraction_below_one("Adam", "beta1", beta1);
    detail::require_fraction_below_one("Adam", "beta2", beta2);
    detail::require_positive("Adam", "epsilon", epsilon);
  }

  template <class P>
  struct Memory {
    static constexpr bool like_particles = true;
    P mean, square;  ///< running averages of Φ and of Φ²
    void change_frame(const auto& linear, const auto& squares) {
      linear(mean);
      squares(square);
    }
    auto fields() { return std::tie(mean, square); }
    auto fields() const { return std::tie(mean, square); }
  };

  template <class P>
  Memory<P> init(const P& particles) const {
    return {P::Zero(particles.rows(), particles.cols()), P::Zero(particles.rows(), particles.cols())};
  }

  template <class P, class Phi>
  void update(Memory<P>& memory, Index step, const Phi& phi, P& particles) const {
    using Scalar = typename P::Scalar;
    const double t = static_cast<double>(step);
    const auto rate = static_cast<Scalar>(learning_rate / (1 - std::pow(beta1, t)));
    const auto correction = static_cast<Scalar>(1 / std::sqrt(1 - std::pow(beta2, t)));
    const auto b1 = static_cast<Scalar>(beta1), b2 = static_cast<Scalar>(beta2),
               one_b1 = static_cast<Scalar>(1 - beta1), one_b2 = static_cast<Scalar>(1 - beta2),
               eps = detail::positive_epsilon<Scalar>(epsilon);
    detail::for_each_run(particles.size(), [&](Index first, Index count) {
      auto mean = detail::entries(memory.mean, first, count), square = detail::entries(memory.square, first, count),
           moved = detail::entries(particles, first, count);
      const auto direction = detail::entries(phi, first, count);
      mean = b1 * mean + one_b1 * direction;
      square = b2 * square + one_b2 * direction.square();
      moved += rate * mean / (detail::exact_sqrt(square) * correction + eps);
    });
  }

  template <class P>
  void step_sizes(const Memory<P>& memory, Index step, Index first, Index count, double factor,
                  typename P::Scalar* out) const {
    using Scalar = typename P::Scalar;
    const auto correction = static_cast<Scalar>(1 / std::sqrt(1 - std::pow(beta2, static_cast<double>(step))));
    detail::array_at(out, count) = static_cast<Scalar>(factor * learning_rate) /
                                   (detail::exact_sqrt(detail::entries(memory.square, first, count)) * correction +
                                    detail::positive_epsilon<Scalar>(epsilon));
  }
};

}  // namespace repel
