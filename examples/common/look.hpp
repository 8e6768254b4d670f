#pragma once

#include <repel/bnn/points.hpp>

#include <string>
#include <vector>

// The option --look of the examples on networks.

namespace example {

inline const std::vector<std::string> kLooks{"outputs", "probabilities", "probability-space"};

inline constexpr const char* kLookHelp =
    "What the kernel compares in function space: outputs (logits), probabilities, or, with likelihood and prior on "
    "them, "
    "too, probability-space";

inline repel::Look look_of(const std::string& name) {
  if (name == "probabilities") return repel::Look::probabilities;
  return name == "probability-space" ? repel::Look::probability_space : repel::Look::outputs;
}

}  // namespace example
