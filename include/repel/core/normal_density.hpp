// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <numbers>

namespace repel::detail {

/// The log density of `count` independent draws from N(0, sd²), given the sum of their squares.
inline double log_normal_density(double squares, double sd, double count = 1) {
  return -0.5 * squares / (sd * sd) - count * (std::log(sd) + 0.5 * std::log(2 * std::numbers::pi));
}

}  // namespace repel::detail
