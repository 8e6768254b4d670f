#pragma once

#include "data.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace uci {

struct Settings {
  long members = 20;
  long steps = 0;  ///< 0: 2000, or 40 passes over the training data where that is more
  long batch = 100;
  double learning_rate = 0.01;
  double prior_scale = 1;  ///< of functions drawn from the prior, in standard deviations of the target
  std::uint64_t seed = 42;
  long chains = 4, warmup = 400, draws = 300, depth = 8;  ///< of NUTS
};

/// In the order of the table.
const std::vector<std::string>& methods();

struct Outcome {
  double rmse = 0;            ///< on the test data, in the target's units
  double log_likelihood = 0;  ///< mean over the test data, in the target's units
  double temperature = 0;     ///< of the particles in weight space at the end; 0 for others
  double r_hat = 0;           ///< NUTS: the largest split R̂ of its predictions at the test points
  double seconds = 0;
  bool complete = false;  ///< false: interrupted, or not finite
  std::string message{};  ///< how the run ended
};

/// Trains an ensemble on one split and tries it on the rest.
Outcome run(const Settings& settings, const Dataset& set, std::size_t split, const std::string& method);

}  // namespace uci
