#pragma once

#include "view.hpp"

#include <repel/repel.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

// The paper's methods and calibrated ones on a network's posterior by name, compiled once for all examples: a state
// does not depend on the rule, and the posterior stands behind AnyTarget and AnyModel.

namespace example {

using Networks = repel::State<Eigen::MatrixXf, repel::Adam::Memory<Eigen::MatrixXf>>;
using NetworkSampler = repel::AnySampler<Networks>;
using Schedule = std::function<double(repel::Index)>;

/// Any annealing of the driving force, chosen at run time; none by default.
class Driving {
 public:
  Driving() : factor_([](repel::Index) { return 1.0; }) {}
  template <repel::Annealing A>
  requires(!std::same_as<A, Driving>) Driving(A annealing) {
    repel::detail::validate(annealing);
    factor_ = std::move(annealing);
  }
  double operator()(repel::Index step) const { return factor_(step); }

 private:
  Schedule factor_;
};

/// A posterior for both spaces; each call makes a fresh target or model.
struct NetworkPosterior {
  std::function<repel::AnyTarget<float>()> target;
  std::function<repel::AnyModel<float>()> functions;
  ChosenView view{};
  std::vector<repel::Index> layers{};  ///< the size of each, for calibration by layers
};

/// Whether a method works in function space: those with an f.
bool in_function_space(const std::string& method);

/// A method's name without what follows an @, and that: the temperature τ of a calibrated one, 1 where there is none.
/// Throws where it is no number from 0 on, and where the method is not a calibrated one.
std::pair<std::string, double> split_temperature(const std::string& method);

/// What does not depend on the method.
struct SamplerChoices {
  Driving driving{};                                     ///< a factor on the driving force
  Schedule schedule = [](repel::Index) { return 1.0; };  ///< one on the learning rate
  double bandwidth_factor = 1;                           ///< on the kernel's median bandwidth
};

/// DE, SVGD, f-SVGD, kde-WGD, sge-WGD, ssge-WGD, kde-fWGD, sge-fWGD or ssge-fWGD; with their total calibrated,
/// cal-kde-WGD, cal-sge-WGD, cal-kde-fWGD or cal-sge-fWGD; with each coordinate or layer, cal-kde-WGD-coordinates or
/// cal-kde-WGD-layers; calibrated ones with a temperature, cal-kde-WGD@0.1. Throws for another name.
NetworkSampler network_sampler(const std::string& method, const NetworkPosterior& posterior, const repel::Adam& adam,
                               const SamplerChoices& choices);
inline NetworkSampler network_sampler(
    const std::string& method, const NetworkPosterior& posterior, const repel::Adam& adam, const Driving& driving = {},
    const Schedule& schedule = [](repel::Index) { return 1.0; }) {
  return network_sampler(method, posterior, adam, SamplerChoices{driving, schedule});
}

}  // namespace example
