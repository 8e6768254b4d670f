#pragma once

#include "network_samplers.hpp"

#include <stdexcept>

// The methods by name; included where samplers are compiled, in one process and over several.

namespace example {

/// use(sampler) with the sampler of a method, whatever its type; see network_sampler().
template <class Use>
auto with_network_sampler(const std::string& with_temperature, const NetworkPosterior& posterior,
                          const repel::Adam& rate, const SamplerChoices& choices, const Use& use) {
  using namespace repel;
  const auto split = split_temperature(with_temperature);  // no structured binding: clang 14 cannot capture one
  const std::string& method = split.first;
  const double tau = split.second;
  const Scheduled adam{rate, choices.schedule};
  const Driving& driving = choices.driving;
  const Rbf kernel{Scaled{MedianBandwidth{}, choices.bandwidth_factor}};
  const bool functions = in_function_space(method);
  const auto with_rule = [&](const auto& rule) {
    if (!functions) return use(weight_space(posterior.target(), rule, adam, driving));
    if (posterior.view.is_default()) return use(function_space(posterior.functions(), rule, adam, driving));
    return use(function_space(posterior.functions(), rule, adam, driving, posterior.view));
  };
  if (method == "DE") return use(weight_space(posterior.target(), PlainEnsemble{}, adam, driving));
  if (method == "SVGD" || method == "f-SVGD") return with_rule(Svgd{kernel});
  if (method.rfind("kde-", 0) == 0) return with_rule(Wgd{Kde{kernel}});
  if (method.rfind("sge-", 0) == 0) return with_rule(Wgd{Sge{kernel}});
  if (method.rfind("ssge-", 0) == 0) return with_rule(Wgd{Ssge{kernel}});
  const auto calibrated = [&](const auto& estimator, Calibration calibration) {
    const auto blocks = calibration == Calibration::blocks ? posterior.layers : std::vector<Index>{};
    return with_rule(Wgd{Calibrated{estimator, calibration, tau, blocks}});
  };
  if (method == "cal-kde-WGD" || method == "cal-kde-fWGD") return calibrated(Kde{kernel}, Calibration::total);
  if (method == "cal-sge-WGD" || method == "cal-sge-fWGD") return calibrated(Sge{kernel}, Calibration::total);
  if (method == "cal-kde-WGD-coordinates") return calibrated(Kde{kernel}, Calibration::coordinates);
  if (method == "cal-kde-WGD-layers") return calibrated(Kde{kernel}, Calibration::blocks);
  throw std::invalid_argument("no method is called " + method);
}

}  // namespace example
