// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/scratch.hpp>
#include <repel/core/share.hpp>
#include <repel/optim/schedule.hpp>

#include <initializer_list>
#include <vector>

namespace repel {

/// An optimiser with a learning rate of its own for each particle: `factors` on the optimiser's, one per particle; if
/// there are fewer they repeat, so that particle j has entry j modulo their number.
///
///   MemberRates{Adam{.learning_rate = 0.01}, {1, 0.3, 3}}
///
/// It remembers what the optimiser itself remembers, so that a state and a checkpoint go on with or without it. For
/// optimisers whose move is proportional to the learning rate, as that of all bundled ones is.
template <class Optim>
struct MemberRates {
  Optim inner{};                      ///< the optimiser
  std::vector<double> factors{1.0};   ///< particle j has entry j modulo their number
  mutable detail::Scratch buffers{};  ///< the particles before a step; not shared by copies
  mutable Index rows = 1;             ///< of the particles of the last step
  Index offset = 0;                   ///< which particle column 0 is

  void take_share(const Share& share) {
    offset = share.first;
    detail::take_share(inner, share);
  }

  void validate() const {
    detail::validate(inner);
    if (factors.empty()) detail::fail("MemberRates", "factors is empty, but needs at least 1 entry");
    for (const double factor : factors) detail::require_non_negative("MemberRates", "a factor", factor);
  }

  template <class P>
  auto init(const P& particles) const {
    return inner.init(particles);
  }

  template <class Memory, class Phi, class P>
  void update(Memory& memory, Index step, const Phi& phi, P& particles) const {
    rescaled(particles, [&] { inner.update(memory, step, phi, particles); });
  }
  template <class Memory, class Phi, class P>
  void update_scaled(double factor, Memory& memory, Index step, const Phi& phi, P& particles) const {
    rescaled(particles, [&] { detail::update_scaled(inner, factor, memory, step, phi, particles); });
  }

  template <class Memory, class Scalar>
  void step_sizes(const Memory& memory, Index step, Index first, Index count, double factor, Scalar* out) const {
    inner.step_sizes(memory, step, first, count, factor, out);
    for (Index i = 0; i < count; ++i) out[i] *= static_cast<Scalar>(factor_of((first + i) / rows));
  }

 private:
  double factor_of(Index particle) const {
    return factors[static_cast<std::size_t>(offset + particle) % factors.size()];
  }

  /// Particles ← before + factor · (after − before); those with a factor of 1 keep every bit of what was made of them.
  template <class P, class Move>
  void rescaled(P& particles, const Move& move) const {
    P& before = buffers.template get<P>();
    before = particles;
    rows = particles.rows();
    move();
    detail::parallel_for(particles.cols(), 3 * static_cast<double>(particles.rows()), [&](Index j) {
      if (const double factor = factor_of(j); factor != 1)
        particles.col(j) = before.col(j) + static_cast<typename P::Scalar>(factor) * (particles.col(j) - before.col(j));
    });
  }
};
template <class Optim>
MemberRates(Optim, std::vector<double>) -> MemberRates<Optim>;
template <class Optim>
MemberRates(Optim, std::initializer_list<double>) -> MemberRates<Optim>;

}  // namespace repel
