#pragma once

#include "network_samplers.hpp"

#include <repel/mpi/any.hpp>

namespace example {

using SpreadNetworks = repel::mpi::State<Eigen::MatrixXf, repel::Adam::Memory<Eigen::MatrixXf>>;
using SpreadSampler = repel::mpi::AnySpread<Eigen::MatrixXf, repel::Adam::Memory<Eigen::MatrixXf>>;

/// network_sampler() with its members spread over all processes.
SpreadSampler spread_network_sampler(const std::string& method, const NetworkPosterior& posterior,
                                     const repel::Adam& adam, const SamplerChoices& choices);

}  // namespace example
