#pragma once

#include <repel/rule/rule.hpp>

namespace repel {

/// No repulsion, Φ = ∇ log p: every particle climbs to a mode by itself, the plain deep ensemble  (paper, Eq.
/// "map_update").
struct Map {
  template <class Z, class S, class Phi, class Pull = SamePlace>
  Forces direction(const Z&, const S& s, Empty&, Phi& phi, const Pull& = {}) const {
    phi = s;
    return {0, detail::mean_norm(s), 0};
  }
};

}  // namespace repel
