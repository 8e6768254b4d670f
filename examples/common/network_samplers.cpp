#include "network_samplers.hpp"

#include <stdexcept>

namespace example {

bool in_function_space(const std::string& method) {
  return method.find("-f") != std::string::npos || method.rfind("f-", 0) == 0;
}

NetworkSampler network_sampler(const std::string& method, const NetworkPosterior& posterior, const repel::Adam& adam,
                               const repel::anneal::Constant& driving) {
  using namespace repel;
  const auto with_rule = [&](const auto& rule) {
    if (!in_function_space(method)) return NetworkSampler(weight_space(posterior.target(), rule, adam, driving));
    if (posterior.view.is_default()) return NetworkSampler(function_space(posterior.functions(), rule, adam, driving));
    return NetworkSampler(function_space(posterior.functions(), rule, adam, driving, posterior.view));
  };
  if (method == "DE") return NetworkSampler(weight_space(posterior.target(), PlainEnsemble{}, adam, driving));
  if (method == "SVGD" || method == "f-SVGD") return with_rule(Svgd{});
  if (method.rfind("kde-", 0) == 0) return with_rule(Wgd{Kde{}});
  if (method.rfind("sge-", 0) == 0) return with_rule(Wgd{Sge{}});
  if (method.rfind("ssge-", 0) == 0) return with_rule(Wgd{Ssge{}});
  if (method == "cal-kde-WGD" || method == "cal-kde-fWGD") return with_rule(Wgd{Calibrated{Kde{}}});
  if (method == "cal-sge-WGD" || method == "cal-sge-fWGD") return with_rule(Wgd{Calibrated{Sge{}}});
  if (method == "cal-kde-WGD-coordinates") return with_rule(Wgd{Calibrated{Kde{}, Calibration::coordinates}});
  if (method == "cal-kde-WGD-layers")
    return with_rule(Wgd{Calibrated{Kde{}, Calibration::blocks, 1.0, posterior.layers}});
  throw std::invalid_argument("no method is called " + method);
}

}  // namespace example
