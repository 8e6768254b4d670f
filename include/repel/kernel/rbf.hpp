// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/kernel.hpp>
#include <repel/linalg/exp.hpp>

namespace repel {

/// The Gaussian kernel, k(x, y) = exp(−‖x − y‖² / h): the kernel of the paper. In the Stein class.
template <class Bandwidth = MedianBandwidth>
struct Rbf {
  static_assert(detail::assert_bandwidth_rule<Bandwidth>());
  Bandwidth bandwidth{};

  static constexpr bool slope_shares_value = true;
  auto phi(const auto& u) const { return exp_minus(u); }
  auto phi_prime(const auto&, const auto& k) const { return -k; }
  auto phi_second(const auto&, const auto& k) const { return k * 1; }
};
Rbf()->Rbf<>;
template <class Bandwidth>
Rbf(Bandwidth) -> Rbf<Bandwidth>;

}  // namespace repel
