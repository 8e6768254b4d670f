// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/kernel.hpp>
#include <repel/linalg/exp.hpp>

namespace repel {

/// The Laplace kernel on the L1 distance, k(x, y) = exp(−‖x − y‖₁ / h), which the paper tries for KDE in high
/// dimension. Not in the Stein class as a smooth function: it has a kink wherever two coordinates agree. It is
/// differentiable almost everywhere (the gradient at a kink counts as 0), so SGE and SSGE run, but KDE is its proper
/// use.
template <class Bandwidth = MedianBandwidth>
struct Laplace {
  static_assert(detail::assert_bandwidth_rule<Bandwidth>());
  /// L1 distances.
  using Metric = Manhattan;
  Bandwidth bandwidth{};

  static constexpr bool slope_shares_value = true;
  auto phi(const auto& u) const { return exp_minus(u); }
  auto phi_prime(const auto&, const auto& k) const { return -k; }
};
Laplace()->Laplace<>;
template <class Bandwidth>
Laplace(Bandwidth) -> Laplace<Bandwidth>;

}  // namespace repel
