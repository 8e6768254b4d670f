#include "network_samplers.hpp"

#include <charconv>
#include <cmath>
#include <stdexcept>

namespace example {

bool in_function_space(const std::string& method) {
  return method.find("-f") != std::string::npos || method.rfind("f-", 0) == 0;
}

std::pair<std::string, double> split_temperature(const std::string& method) {
  const auto at = method.find('@');
  if (at == std::string::npos) return {method, 1.0};
  const std::string name = method.substr(0, at), number = method.substr(at + 1);
  double temperature = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, temperature);
  if (error != std::errc() || stop != end || !(temperature >= 0) || std::isinf(temperature))
    throw std::invalid_argument("the temperature of " + method + " is " + (number.empty() ? "empty" : number) +
                                ", but must be a number from 0 on");
  if (name.rfind("cal-", 0) != 0)
    throw std::invalid_argument(method + " has a temperature, but only the calibrated methods, cal-…, take one");
  return {name, temperature};
}

NetworkSampler network_sampler(const std::string& with_temperature, const NetworkPosterior& posterior,
                               const repel::Adam& rate, const SamplerChoices& choices) {
  using namespace repel;
  const auto split = split_temperature(with_temperature);  // no structured binding: clang 14 cannot capture one
  const std::string& method = split.first;
  const double tau = split.second;
  const Scheduled adam{rate, choices.schedule};
  const Driving& driving = choices.driving;
  const Rbf kernel{Scaled{MedianBandwidth{}, choices.bandwidth_factor}};
  const bool functions = in_function_space(method);
  const auto with_rule = [&](const auto& rule) {
    if (!functions) return NetworkSampler(weight_space(posterior.target(), rule, adam, driving));
    if (posterior.view.is_default()) return NetworkSampler(function_space(posterior.functions(), rule, adam, driving));
    return NetworkSampler(function_space(posterior.functions(), rule, adam, driving, posterior.view));
  };
  if (method == "DE") return NetworkSampler(weight_space(posterior.target(), PlainEnsemble{}, adam, driving));
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
