#include "methods.hpp"

#include <algorithm>
#include <iostream>

namespace example {

std::vector<Result> run_methods(const Options& options, const repel::AnyTarget<double>& target, double h,
                                const Eigen::MatrixXd& start, double learning_rate) {
  std::vector<Result> results;
  bool interrupted = false;
  const auto run_with = [&](const auto& kernel) {
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
    run("MAP", repel::PlainEnsemble{});
    run("SVGD", repel::Svgd{kernel});
    run("KDE", repel::Wgd{repel::Kde{kernel}});
    run("SGE", repel::Wgd{repel::Sge{kernel}});
    run("SSGE", repel::Wgd{repel::Ssge{kernel}});
    run("Blob", repel::Wgd{repel::Blob{kernel}});
  };
  if (h > 0)
    run_with(repel::Rbf{repel::FixedBandwidth{h}});
  else
    run_with(repel::Rbf{});
  if (interrupted) std::cerr << "interrupted: writing what was reached so far\n";
  return results;
}

}  // namespace example
