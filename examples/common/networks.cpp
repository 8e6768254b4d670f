#include "networks.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

namespace example {

std::vector<Ensemble> run_network_methods(const NetworkOptions& o, Problem problem) {
  using namespace repel;
  // Bad options are refused now, not after HMC.
  problem.posterior.view.seen(problem.posterior.functions().layout());
  std::vector<Ensemble> results;
  bool interrupted = false;
  const auto chosen = [&](const std::string& name) {
    return !interrupted && std::find(o.methods.begin(), o.methods.end(), name) != o.methods.end();
  };

  if (chosen("HMC")) {
    const auto r = repel::hmc(
        problem.whole, problem.chains,
        Hmc{.warmup = o.hmc.warmup, .samples = o.hmc.draws, .leapfrog_steps = o.hmc.leapfrog, .seed = o.seed},
        ProgressBar{"HMC"}, StopOnInterrupt{});
    interrupted = StopOnInterrupt::interrupted();
    std::string remark = "no draws yet";
    if (r.draws_per_chain >= 4) {
      const Diagnostics d = diagnose(problem.outputs(r.draws), r.chains);
      std::ostringstream text;
      text << r.chains << " chains x " << r.draws_per_chain << " draws; outputs on the grid: largest split R-hat "
           << d.r_hat.maxCoeff() << ", smallest effective sample size " << d.effective_samples.minCoeff()
           << "; weights: R-hat up to " << r.diagnostics.r_hat.maxCoeff() << "; acceptance " << r.acceptance.minCoeff()
           << " to " << r.acceptance.maxCoeff() << "; divergences " << r.divergences;
      remark = text.str();
      results.push_back({"HMC", r.draws, r.report.steps, r.report.seconds});
    }
    std::cout << "HMC: " << remark << '\n';
  }

  for (const std::string& name : kNetworkMethods) {
    if (name == "HMC" || !chosen(name)) continue;
    NetworkSampler sampler =
        network_sampler(name, problem.posterior, Adam{.learning_rate = o.learning_rate}, anneal::Constant{o.driving});
    Networks state{problem.start, 0, Adam{}.init(problem.start)};
    const Report report = run(sampler, state, o.steps, ProgressBar{name}, StopOnInterrupt{});
    interrupted = StopOnInterrupt::interrupted();
    results.push_back({name, state.particles.cast<double>(), report.steps, report.seconds});
    if (report.stop == Report::Stop::not_finite) std::cout << name << ": " << report.message << '\n';
  }
  if (interrupted) std::cerr << "interrupted: writing what was reached so far\n";
  return results;
}

}  // namespace example
