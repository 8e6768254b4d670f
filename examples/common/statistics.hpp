#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace example {

/// A mean over runs, splits or seeds, and its standard error: NaN for fewer than two.
struct MeanAndError {
  double mean = 0, error = 0;
  std::size_t count = 0;
};

inline MeanAndError mean_and_error(const std::vector<double>& values) {
  MeanAndError out{0, 0, values.size()};
  const auto n = static_cast<double>(values.size());
  for (const double value : values) out.mean += value / n;
  for (const double value : values) out.error += (value - out.mean) * (value - out.mean);
  out.error = values.size() > 1 ? std::sqrt(out.error / (n - 1) / n) : std::numeric_limits<double>::quiet_NaN();
  return out;
}

}  // namespace example
