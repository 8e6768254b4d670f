#include "networks.hpp"

#include <algorithm>
#include <iostream>

namespace example {

std::vector<Ensemble> run_network_methods(const NetworkOptions& o, Problem problem) {
  using namespace repel;
  problem.functions();  // bad options are refused now, not after HMC
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
      remark = repel::detail::words(
          r.chains, " chains x ", r.draws_per_chain, " draws; outputs on the grid: largest split R-hat ",
          d.r_hat.maxCoeff(), ", smallest effective sample size ", d.effective_samples.minCoeff(),
          "; weights: R-hat up to ", r.diagnostics.r_hat.maxCoeff(), "; acceptance ", r.acceptance.minCoeff(), " to ",
          r.acceptance.maxCoeff(), "; divergences ", r.divergences);
      results.push_back({"HMC", r.draws, r.report.steps, r.report.seconds});
    }
    std::cout << "HMC: " << remark << '\n';
  }

  const auto run_particles = [&](const std::string& name, auto sampler) {
    auto state = sampler.init(problem.start);
    const Report report = run(sampler, state, o.steps, ProgressBar{name}, StopOnInterrupt{});
    interrupted = StopOnInterrupt::interrupted();
    results.push_back({name, state.particles.template cast<double>(), report.steps, report.seconds});
    if (report.stop == Report::Stop::not_finite) std::cout << name << ": " << report.message << '\n';
  };
  const Adam adam{.learning_rate = o.learning_rate};
  const anneal::Constant factor{o.driving};
  const auto in_weights = [&](const std::string& name, const auto& rule) {
    if (chosen(name)) run_particles(name, weight_space(problem.target(), rule, adam, factor));
  };
  const auto in_functions = [&](const std::string& name, const auto& rule) {
    if (chosen(name)) run_particles(name, function_space(problem.functions(), rule, adam, factor));
  };
  in_weights("DE", Map{});
  in_weights("SVGD", Svgd{});
  in_functions("f-SVGD", Svgd{});
  in_weights("kde-WGD", Wgd{Kde{}});
  in_weights("sge-WGD", Wgd{Sge{}});
  in_weights("ssge-WGD", Wgd{Ssge{}});
  in_functions("kde-fWGD", Wgd{Kde{}});
  in_functions("sge-fWGD", Wgd{Sge{}});
  in_functions("ssge-fWGD", Wgd{Ssge{}});
  if (interrupted) std::cerr << "interrupted: writing what was reached so far\n";
  return results;
}

}  // namespace example
