#pragma once

#include "options.hpp"

#include <repel/repel.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace example {

/// Where a method ended.
struct Result {
  std::string method;
  Eigen::MatrixXd particles;
  repel::Index steps;
  double seconds;
  double bandwidth;
};

inline const std::vector<std::string> kMethods{"MAP", "SVGD", "KDE", "SGE", "SSGE", "Blob"};

/// Runs the chosen ones of kMethods on a target, all from the same initial particles. Ctrl-C ends the method in hand
/// and skips the rest; what was reached is returned.
template <class Target, class Kernel>
std::vector<Result> run_methods(const Options& options, const Target& target, const Kernel& kernel,
                                const Eigen::MatrixXd& start, double learning_rate) {
  std::vector<Result> results;
  bool interrupted = false;
  const auto run = [&](const std::string& name, const auto& rule) {
    const auto& chosen = options.methods;
    if (interrupted || std::find(chosen.begin(), chosen.end(), name) == chosen.end()) return;
    auto sampler = repel::weight_space(target, rule, repel::Adam{.learning_rate = learning_rate});
    auto state = sampler.init(start);
    const repel::Report report =
        repel::run(sampler, state, options.steps, repel::ProgressBar{name}, repel::StopOnInterrupt{});
    interrupted = repel::StopOnInterrupt::interrupted();
    results.push_back({name, state.particles, report.steps, report.seconds, report.last.bandwidth});
  };
  run("MAP", repel::Map{});
  run("SVGD", repel::Svgd{kernel});
  run("KDE", repel::Wgd{repel::Kde{kernel}});
  run("SGE", repel::Wgd{repel::Sge{kernel}});
  run("SSGE", repel::Wgd{repel::Ssge{kernel}});
  run("Blob", repel::Wgd{repel::Blob{kernel}});
  if (interrupted) std::cerr << "interrupted: writing what was reached so far\n";
  return results;
}

}  // namespace example
