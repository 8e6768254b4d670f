// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/kernel/rbf.hpp>

#include <cmath>
#include <vector>

namespace repel {

/// Any kernel with a length scale per coordinate (automatic relevance determination),
///   k(x, y) = inner(x / scale, y / scale),  coordinate by coordinate,
/// so that coordinates of different units count alike. `scale` is the user's, one entry per coordinate, or if it is
/// empty the particles' own standard deviations, measured anew at every step; a coordinate without spread has scale 1.
/// Gradients of k take the scale as a constant, though the particles determine it, as they take h as one. The bandwidth
/// is that of the scaled particles.
///
///   Svgd{Ard{}},  Wgd{Kde{Ard{Imq{}}}},  Svgd{Ard{Rbf{}, {1.0, 1000.0}}}
template <class InnerKernel = Rbf<>>
struct Ard {
  static_assert(detail::assert_kernel<InnerKernel>());
  InnerKernel inner{};          ///< the kernel of the scaled coordinates
  std::vector<double> scale{};  ///< a length per coordinate; empty: the particles' standard deviations

  void validate() const {
    for (const double s : scale) detail::require_positive("Ard", "scale", s);
    detail::validate_kernel(inner);
  }
};
Ard()->Ard<>;
template <class InnerKernel>
Ard(InnerKernel) -> Ard<InnerKernel>;
template <class InnerKernel>
Ard(InnerKernel, std::vector<double>) -> Ard<InnerKernel>;

}  // namespace repel
