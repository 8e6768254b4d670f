// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/kernel.hpp>
#include <repel/linalg/exact_sqrt.hpp>

namespace repel {

/// The inverse multiquadric kernel, k(x, y) = (1 + ‖x − y‖² / h)^(−1/2), whose heavy tail lets far particles interact.
/// In the Stein class of every ρ that vanishes at infinity, since it is smooth and bounded. As a KDE its tail is not
/// integrable: there it is a repulsion, not a density.
template <class Bandwidth = MedianBandwidth>
struct Imq {
  static_assert(detail::assert_bandwidth_rule<Bandwidth>());
  Bandwidth bandwidth{};

  auto phi(const auto& u) const { return 1 / detail::exact_sqrt(1 + u); }
  auto phi_prime(const auto&, const auto& k) const { return -k.cube() / 2; }
  auto phi_second(const auto&, const auto& k) const { return k.cube() * k.square() * 3 / 4; }
};
Imq()->Imq<>;
template <class Bandwidth>
Imq(Bandwidth) -> Imq<Bandwidth>;

}  // namespace repel
