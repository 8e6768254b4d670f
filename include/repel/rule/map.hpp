#pragma once

#include <repel/rule/rule.hpp>

namespace repel {

/// No repulsion, Φ = ∇ log p: every particle climbs to a mode by itself, the plain deep ensemble  (paper, Eq.
/// "map_update").
struct Map {
  template <class Z, class S, class Phi, class Pull = SamePlace>
  Forces direction(const Z&, const S& s, Empty&, Phi& phi, const Pull& = {}) const {
    detail::parallel_tiles(s.cols(), 4, static_cast<double>(s.rows()), [&](Index first, Index width) {
      phi.middleCols(first, width) = s.middleCols(first, width);
    });
    return {0, detail::mean_norm(s), 0};
  }
};

}  // namespace repel
