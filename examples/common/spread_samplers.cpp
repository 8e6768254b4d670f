#include "spread_samplers.hpp"

#include "network_rules.hpp"

namespace example {

SpreadSampler spread_network_sampler(const std::string& method, const NetworkPosterior& posterior,
                                     const repel::Adam& adam, const SamplerChoices& choices) {
  return with_network_sampler(method, posterior, adam, choices, [](auto sampler) {
    return SpreadSampler(repel::mpi::spread(std::move(sampler), MPI_COMM_WORLD));
  });
}

}  // namespace example
