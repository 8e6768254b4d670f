// SPDX-License-Identifier: MIT
#pragma once

#include <repel/rule/rule.hpp>

namespace repel {

/// No repulsion, Φ = ∇ log p: every particle climbs to a mode by itself, the plain deep ensemble (the paper's
/// equation 2).
struct PlainEnsemble {
  static constexpr bool own_score_only = true;

  template <class Z, class S, class Phi>
  RuleInfo direction(const Z&, const S& s, Empty&, Phi& phi) const {
    detail::parallel_tiles(s.cols(), 4, static_cast<double>(s.rows()), [&](Index first, Index width) {
      phi.middleCols(first, width) = s.middleCols(first, width);
    });
    return {};
  }

  template <class Z, class S, class Driving, class Repulsion>
  RuleInfo parts(const Z& z, const S& s, Empty& workspace, Driving& driving, Repulsion& repulsion) const {
    repulsion.setZero();
    return direction(z, s, workspace, driving);
  }
};

}  // namespace repel
