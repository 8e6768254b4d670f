#pragma once

#include "problem.hpp"

#include <repel/bnn.hpp>

namespace images {

/// A Bnn for both spaces, with the function prior and the view of the settings.
template <class Bnn>
example::NetworkPosterior both_spaces(const Settings& s, const Bnn& posterior) {
  const auto functions = [view = s.view, posterior](auto prior) {
    return view == "probability-space" ? repel::AnyModel<float>(posterior.probability_functions(prior))
                                       : repel::AnyModel<float>(posterior.functions(prior));
  };
  return {[=] { return repel::AnyTarget<float>(posterior.target()); },
          [=, flat = s.function_prior == "flat"] {
            return flat ? functions(repel::FlatPrior{}) : functions(repel::ImplicitPrior<>{});
          },
          {.probabilities = s.view == "probabilities"},
          repel::layer_blocks(posterior.network())};
}

}  // namespace images
