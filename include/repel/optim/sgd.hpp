// SPDX-License-Identifier: MIT
#pragma once

#include <repel/optim/optimiser.hpp>

#include <tuple>

namespace repel {

/// Gradient ascent, optionally with heavy-ball or Nesterov momentum. The update is PyTorch's.
struct Sgd {
  double learning_rate = 0.01;
  /// 0 for none.
  double momentum = 0;
  bool nesterov = false;  ///< look ahead; needs momentum

  void validate() const {
    detail::require_rate("Sgd", learning_rate);
    detail::require_fraction_below_one("Sgd", "momentum", momentum);
    if (nesterov && momentum == 0) detail::fail("Sgd", "momentum is 0, but nesterov needs it to be larger");
  }

  template <class P>
  struct Memory {
    static constexpr bool like_particles = true;
    P velocity;
    void change_frame(const auto& linear, const auto&) { linear(velocity); }
    auto fields() { return std::tie(velocity); }
    auto fields() const { return std::tie(velocity); }
  };

  template <class P>
  Memory<P> init(const P& particles) const {
    return {P::Zero(particles.rows(), particles.cols())};
  }

  template <class P, class Phi>
  void update(Memory<P>& memory, Index, const Phi& phi, P& particles) const {
    using Scalar = typename P::Scalar;
    const auto rate = static_cast<Scalar>(learning_rate), mu = static_cast<Scalar>(momentum);
    detail::for_each_run(particles.size(), [&](Index first, Index count) {
      auto velocity = detail::entries(memory.velocity, first, count), moved = detail::entries(particles, first, count);
      const auto direction = detail::entries(phi, first, count);
      if (mu == 0) {
        moved += rate * direction;
        return;
      }
      velocity = mu * velocity + direction;
      if (nesterov)
        moved += rate * (direction + mu * velocity);
      else
        moved += rate * velocity;
    });
  }

  /// With momentum a direction moves the particles by its learning rate / (1 − momentum) in the end.
  template <class P>
  void step_sizes(const Memory<P>&, Index, Index, Index count, double factor, typename P::Scalar* out) const {
    detail::array_at(out, count) = static_cast<typename P::Scalar>(factor * learning_rate / (1 - momentum));
  }
};

}  // namespace repel
