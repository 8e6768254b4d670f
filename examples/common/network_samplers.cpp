#include "network_samplers.hpp"

#include "network_rules.hpp"

#include <cmath>
#include <cstdlib>
#include <stdexcept>

namespace example {

bool in_function_space(const std::string& method) {
  return method.find("-f") != std::string::npos || method.rfind("f-", 0) == 0;
}

std::pair<std::string, double> split_temperature(const std::string& method) {
  const auto at = method.find('@');
  if (at == std::string::npos) return {method, 1.0};
  const std::string name = method.substr(0, at), number = method.substr(at + 1);
  char* stop = nullptr;  // Apple's library has std::from_chars for integers only
  const double temperature = std::strtod(number.c_str(), &stop);
  if (number.empty() || std::string(".0123456789").find(number[0]) == std::string::npos || *stop != '\0' ||
      std::isinf(temperature))
    throw std::invalid_argument("the temperature of " + method + " is " + (number.empty() ? "empty" : number) +
                                ", but must be a number from 0 on");
  if (name.rfind("cal-", 0) != 0)
    throw std::invalid_argument(method + " has a temperature, but only the calibrated methods, cal-…, take one");
  return {name, temperature};
}

NetworkSampler network_sampler(const std::string& method, const NetworkPosterior& posterior, const repel::Adam& adam,
                               const SamplerChoices& choices) {
  return with_network_sampler(method, posterior, adam, choices,
                              [](auto sampler) { return NetworkSampler(std::move(sampler)); });
}

}  // namespace example
