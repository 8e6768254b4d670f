// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

namespace repel {

/// Which of all particles the columns at hand are: first, first + 1 … of `total`. For targets, models and optimisers to whom
/// the number of a particle matters, or how many there are: one with a member take_share(share) is told before a step in
/// which it sees some of the particles only (repel/mpi.hpp).
struct Share {
  Index first = 0;  ///< the number of the first column
  Index total = 0;  ///< 0: the columns are all there are
};

namespace detail {

/// Tells a policy, if it wants to know, and otherwise the one inside.
template <class Policy>
void take_share(Policy& policy, const Share& share) {
  if constexpr (requires { policy.take_share(share); })
    policy.take_share(share);
  else if constexpr (requires { policy.inner; })
    take_share(policy.inner, share);
}

}  // namespace detail

}  // namespace repel
