#pragma once

#include <repel/kernel/concepts.hpp>

namespace repel {

/// The Gaussian kernel, k(x, y) = exp(−‖x − y‖² / h): the kernel of the paper. In the Stein class.
template <class Bandwidth = MedianBandwidth>
struct Rbf {
  static_assert(detail::assert_bandwidth_rule<Bandwidth>());
  Bandwidth bandwidth{};

  auto phi(const auto& u) const { return (-u).exp(); }
  auto phi_prime(const auto&, const auto& k) const { return -k; }
};
Rbf()->Rbf<>;
template <class Bandwidth>
Rbf(Bandwidth) -> Rbf<Bandwidth>;

}  // namespace repel
