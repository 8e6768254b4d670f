// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/hmc/chains.hpp>
#include <repel/hmc/result.hpp>
#include <repel/hmc/trees.hpp>

#include <cstdint>
#include <functional>
#include <utility>

namespace repel {

/// Settings of the No-U-Turn sampler: HMC that finds the length of every trajectory itself. Step size and mass matrix are
/// found in warm-up, as for HMC.
struct Nuts {
  Index warmup = 500;              ///< iterations used to adapt, then discarded
  Index samples = 500;             ///< iterations after it, per chain
  Index max_depth = 10;            ///< a trajectory takes at most 2^max_depth − 1 leapfrog steps
  double target_acceptance = 0.8;  ///< what the step size is adapted to
  Index thin = 1;                  ///< keep every thin-th draw
  std::uint64_t seed = 0;
  bool adapt_mass = true;  ///< false: the identity, where chains move too little in warm-up to tell scales (networks)

  static constexpr const char* name = "nuts";

  void validate() const {
    detail::require_chain_settings("Nuts", *this);
    if (max_depth < 1 || max_depth > 30)
      detail::fail("Nuts", "max_depth is ", max_depth, ", but must be at least 1 and at most 30");
  }
};

/// The No-U-Turn sampler on several chains at once (hmc/trees.hpp, hmc/chains.hpp). Has init and step like a Sampler, so
/// run() and its observers work, and checkpoints; nuts() does everything in one call.
template <class Target>
class NutsSampler : public detail::ChainSampler<Target, Nuts, detail::NutsMove> {
 public:
  using detail::ChainSampler<Target, Nuts, detail::NutsMove>::ChainSampler;
};
template <class Target>
NutsSampler(Target, Nuts) -> NutsSampler<Target>;

/// Runs NUTS from the columns of `initial`, one chain each, and keeps the draws after warm-up, like hmc(). Every
/// leapfrog step takes gradients and log densities: a target with value_and_gradient(w, g, values) gives both at once.
template <class T, class Derived, class... Observers>
HmcResult<typename Derived::Scalar> nuts(T&& target, const Eigen::MatrixBase<Derived>& initial,
                                         const Nuts& settings = {}, Observers&&... observers) {
  return detail::run_chains(NutsSampler<std::unwrap_ref_decay_t<T>>(std::forward<T>(target), settings), initial,
                            std::forward<Observers>(observers)...);
}

}  // namespace repel
