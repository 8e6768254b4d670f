// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

namespace repel::detail {

/// Tells a policy of a step, counted from 0, if it has a member begin_step(step), and otherwise those of its parts that
/// have one. Policies without such a part cost nothing. What a policy keeps of it must follow from the step alone, so
/// that a run goes on from any state as if it had never stopped.
template <class Policy>
void begin_step(Policy& policy, Index step) {
  if constexpr (requires { policy.begin_step(step); }) {
    policy.begin_step(step);
  } else {
    if constexpr (requires { policy.estimator; }) begin_step(policy.estimator, step);
    if constexpr (requires { policy.kernel; }) begin_step(policy.kernel, step);
    if constexpr (requires { policy.bandwidth; }) begin_step(policy.bandwidth, step);
    if constexpr (requires { policy.inner; }) begin_step(policy.inner, step);
  }
}

}  // namespace repel::detail
