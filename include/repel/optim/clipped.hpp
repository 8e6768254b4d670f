// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/scratch.hpp>
#include <repel/linalg/steady_sum.hpp>
#include <repel/optim/schedule.hpp>

#include <cmath>

namespace repel {

/// An optimiser that sees the direction of each particle cut to the length `max_norm` if it is longer. It remembers
/// what the optimiser itself remembers, so that a state and a checkpoint go on with or without it. In Clipped{Scheduled{…}}
/// as in Scheduled{Clipped{…}} the direction is cut, and then the learning rate applied.
template <class Optim>
struct Clipped {
  Optim inner{};                      ///< the optimiser
  double max_norm = 1;                ///< of a particle's direction
  mutable detail::Scratch buffers{};  ///< the direction after the cut; not shared by copies

  void validate() const {
    detail::require_positive("Clipped", "max_norm", max_norm);
    detail::validate(inner);
  }

  template <class P>
  auto init(const P& particles) const {
    return inner.init(particles);
  }

  template <class Memory, class Phi, class P>
  void update(Memory& memory, Index step, const Phi& phi, P& particles) const {
    const P* cut = clip<P>(phi);
    if (cut != nullptr)
      inner.update(memory, step, *cut, particles);
    else
      inner.update(memory, step, phi, particles);
  }

  template <class Memory, class Phi, class P>
  void update_scaled(double factor, Memory& memory, Index step, const Phi& phi, P& particles) const {
    const P* cut = clip<P>(phi);
    if (cut != nullptr)
      detail::update_scaled(inner, factor, memory, step, *cut, particles);
    else
      detail::update_scaled(inner, factor, memory, step, phi, particles);
  }

  template <class Memory, class Scalar>
  void step_sizes(const Memory& memory, Index step, Index first, Index count, double factor, Scalar* out) const {
    inner.step_sizes(memory, step, first, count, factor, out);
  }

 private:
  template <class P>
  struct Buffers {
    P phi;
    Vector<typename P::Scalar> norms;
  };

  /// phi with its long columns cut, or null if there are none.
  template <class P, class Phi>
  const P* clip(const Phi& phi) const {
    using Scalar = typename P::Scalar;
    const auto longest = static_cast<Scalar>(max_norm);
    auto& mine = buffers.get<Buffers<P>>();
    P& cut = mine.phi;
    auto& norms = mine.norms;
    norms.resize(phi.cols());
    const Index many = detail::parallel_sum(phi.cols(), static_cast<double>(phi.rows()), [&](Index first, Index count) {
      Index found = 0;
      for (Index j = first; j < first + count; ++j) {
        if constexpr (Phi::IsRowMajor)
          norms(j) = phi.col(j).norm();
        else  // the same bits wherever the particle lies in memory
          norms(j) =
              static_cast<Scalar>(std::sqrt(detail::steady_dot(&phi.coeffRef(0, j), &phi.coeffRef(0, j), phi.rows())));
        if (norms(j) > longest) ++found;
      }
      return found;
    });
    if (many == 0) return nullptr;
    cut.resize(phi.rows(), phi.cols());
    detail::parallel_tiles(phi.cols(), 4, static_cast<double>(phi.rows()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        if (norms(j) > longest)
          cut.col(j) = phi.col(j) * (longest / norms(j));
        else
          cut.col(j) = phi.col(j);
      }
    });
    return &cut;
  }
};
template <class Optim>
Clipped(Optim) -> Clipped<Optim>;
template <class Optim>
Clipped(Optim, double) -> Clipped<Optim>;

}  // namespace repel
