// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/kernel.hpp>
#include <repel/linalg/exp.hpp>

namespace repel {

/// The Matérn kernel of smoothness 3/2, k = (1 + s) exp(−s) with s² = 3 ‖x − y‖² / h, so that √h is the length scale.
/// In the Stein class: once continuously differentiable, which Stein's identity needs, and no more.
template <class Bandwidth = MedianBandwidth>
struct Matern32 {
  static_assert(detail::assert_bandwidth_rule<Bandwidth>());
  Bandwidth bandwidth{};

  auto phi(const auto& u) const {
    const auto s = (3 * u).sqrt();
    return (1 + s) * exp_minus(s);
  }
  // φ′ = −(3/2) exp(−s): the s of dφ/ds cancels that of ds/du, so there is no division at 0.
  auto phi_prime(const auto& u, const auto&) const { return -1.5 * exp_minus((3 * u).sqrt()); }
};
Matern32()->Matern32<>;
template <class Bandwidth>
Matern32(Bandwidth) -> Matern32<Bandwidth>;

/// The Matérn kernel of smoothness 5/2, k = (1 + s + s²/3) exp(−s) with s² = 5 ‖x − y‖² / h. In the Stein class: twice
/// continuously differentiable.
template <class Bandwidth = MedianBandwidth>
struct Matern52 {
  static_assert(detail::assert_bandwidth_rule<Bandwidth>());
  Bandwidth bandwidth{};

  auto phi(const auto& u) const {
    const auto s = (5 * u).sqrt();
    return (1 + s + s.square() / 3) * exp_minus(s);
  }
  // φ′ = −(5/6) (1 + s) exp(−s)
  auto phi_prime(const auto& u, const auto&) const {
    const auto s = (5 * u).sqrt();
    return (1 + s) * exp_minus(s) * (-5.0 / 6);
  }
  auto phi_second(const auto& u, const auto&) const { return exp_minus((5 * u).sqrt()) * (25.0 / 12); }
};
Matern52()->Matern52<>;
template <class Bandwidth>
Matern52(Bandwidth) -> Matern52<Bandwidth>;

}  // namespace repel
