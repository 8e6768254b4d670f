#pragma once

#include "view.hpp"

#include <repel/repel.hpp>

#include <functional>
#include <string>
#include <vector>

// The paper's methods and calibrated ones on a network's posterior by name, compiled once for all examples: a state
// does not depend on the rule, and the posterior stands behind AnyTarget and AnyModel.

namespace example {

using Networks = repel::State<Eigen::MatrixXf, repel::Adam::Memory<Eigen::MatrixXf>>;
using NetworkSampler = repel::AnySampler<Networks>;

/// A posterior for both spaces; each call makes a fresh target or model.
struct NetworkPosterior {
  std::function<repel::AnyTarget<float>()> target;
  std::function<repel::AnyModel<float>()> functions;
  ChosenView view{};
  std::vector<repel::Index> layers{};  ///< the size of each, for calibration by layers
};

/// Whether a method works in function space: those with an f.
bool in_function_space(const std::string& method);

/// DE, SVGD, f-SVGD, kde-WGD, sge-WGD, ssge-WGD, kde-fWGD, sge-fWGD or ssge-fWGD; with their total calibrated,
/// cal-kde-WGD, cal-sge-WGD, cal-kde-fWGD or cal-sge-fWGD; with each coordinate or layer, cal-kde-WGD-coordinates or
/// cal-kde-WGD-layers. Throws for another name.
NetworkSampler network_sampler(const std::string& method, const NetworkPosterior& posterior, const repel::Adam& adam,
                               const repel::anneal::Constant& driving = {});

}  // namespace example
