#include "networks.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <sstream>

namespace example {

void NetworkOptions::add_to(CLI::App& app) {
  const std::string functions = "Function space";
  app.add_option("--prior", prior, "Prior over functions: implicit (of the weight prior), gp or flat")
      ->check(CLI::IsMember({"implicit", "gp", "flat"}))
      ->capture_default_str()
      ->group(functions);
  app.add_option("--gp-length", gp_length, "Length scale of the Gaussian process")
      ->capture_default_str()
      ->group(functions);
  app.add_option("--gp-variance", gp_variance, "Variance of the Gaussian process")
      ->capture_default_str()
      ->group(functions);
  app.add_option("--prior-draws", prior_draws,
                 "Functions drawn per step by the implicit prior; 0: as many as particles")
      ->capture_default_str()
      ->group(functions);
  app.add_option("--view", view, kViewHelp)->check(CLI::IsMember(kViews))->capture_default_str()->group(functions);
  app.add_option("--points", points, "Where functions are compared: batch, or batch and more: uniform or noise")
      ->check(CLI::IsMember({"batch", "uniform", "noise"}))
      ->capture_default_str()
      ->group(functions);
  app.add_option("--extra", extra, "Number of uniform points")->capture_default_str()->group(functions);
  app.add_flag("--extra-only", extra_only, "The kernel sees the further points only")->group(functions);
  app.add_option("--driving", driving,
                 "A factor on the posterior's gradient in all methods but HMC; the authors' code has "
                 "the number of particles")
      ->capture_default_str();
  app.add_option("--learning-rate", learning_rate, "Of Adam")->capture_default_str();
  app.add_option(
         "--seeds", seeds,
         "Repeat the particle methods with so many seeds, --seed and those after it, for the initial particles and "
         "the minibatches; the data and HMC stay. The table then has means and standard errors")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--once", once, "Methods that take the first of the seeds only")
      ->delimiter(',')
      ->check(CLI::IsMember(kNetworkMethods));
  app.add_option("--batch", batch, "Points per step; 0: all")->capture_default_str();
  const std::string of_hmc = "HMC (0: the setting's own)";
  app.add_option("--chains", hmc.chains, "Chains")->capture_default_str()->group(of_hmc);
  app.add_option("--warmup", hmc.warmup, "Iterations of warm-up")->capture_default_str()->group(of_hmc);
  app.add_option("--draws", hmc.draws, "Iterations after it, per chain")->capture_default_str()->group(of_hmc);
  app.add_option("--leapfrog", hmc.leapfrog, "Mean number of leapfrog steps")->capture_default_str()->group(of_hmc);
}

namespace {

/// The largest split R̂ of the outputs with which HMC may serve as the truth of a quick comparison.
constexpr double kAgreement = 1.1;

/// T of HMC's draws as function-space methods measure theirs: of outputs on minibatches, n draws at a time, up to 50
/// times.
double function_temperature(const NetworkPosterior& posterior, const Eigen::MatrixXd& draws, repel::Index n) {
  repel::AnyModel<float> model = posterior.functions();
  n = std::min(n, draws.cols());
  const repel::Index stride = draws.cols() / n, times = std::min<repel::Index>(50, stride);
  double sum = 0;
  for (repel::Index k = 0; k < times; ++k) {
    const Eigen::MatrixXf w = draws(Eigen::seqN(0, draws.rows()), Eigen::seqN(k, n, stride)).cast<float>();
    model.begin_step(k);
    Eigen::MatrixXf f(model.output_dim(), n), s(model.output_dim(), n);
    model.predict(w, f);
    model.score(f, s);
    sum += repel::temperature(f, s);
  }
  return sum / static_cast<double>(times);
}

/// HMC on all data, in the paper's setting or the quick one.
repel::HmcResult<double> run_hmc(const NetworkOptions& o, Problem& problem) {
  using namespace repel;
  Hmc settings{.warmup = o.hmc.warmup, .samples = o.hmc.draws, .leapfrog_steps = o.hmc.leapfrog, .seed = o.seed};
  if (o.paper) return hmc(problem.whole, problem.chains, settings, ProgressBar{"HMC"}, StopOnInterrupt{});
  settings.target_acceptance = 0.7;
  settings.adapt_mass = false;
  auto ascent = weight_space(problem.whole_in_float, PlainEnsemble{}, Adam{.learning_rate = 0.01});
  auto start = ascent.init(problem.chains.cast<float>());
  (void)run(ascent, start, 500, StopOnInterrupt{});
  const auto r = hmc(problem.whole_in_float, start.particles, settings, ProgressBar{"HMC"}, StopOnInterrupt{});
  return {.draws = r.draws.cast<double>(),
          .chains = r.chains,
          .draws_per_chain = r.draws_per_chain,
          .step_size = r.step_size,
          .acceptance = r.acceptance,
          .divergences = r.divergences,
          .warmup_divergences = r.warmup_divergences,
          .gradients = r.gradients,
          .diagnostics = r.diagnostics,
          .report = r.report};
}

}  // namespace

std::vector<Ensemble> run_network_methods(const NetworkOptions& o,
                                          const std::function<Problem(std::uint64_t)>& problem_of_seed) {
  using namespace repel;
  Problem problem = problem_of_seed(o.seed);
  // Bad options are refused now, not after HMC.
  problem.posterior.view.seen(problem.posterior.functions().layout());
  std::vector<Ensemble> results;
  bool interrupted = false;
  const auto chosen = [&](const std::string& name) {
    return !interrupted && std::find(o.methods.begin(), o.methods.end(), name) != o.methods.end();
  };

  if (chosen("HMC")) {
    const auto r = run_hmc(o, problem);
    interrupted = StopOnInterrupt::interrupted();
    std::string remark = "no draws yet";
    if (r.draws_per_chain >= 4) {
      const Diagnostics d = diagnose(problem.outputs(r.draws), r.chains);
      std::ostringstream text;
      text << r.chains << " chains x " << r.draws_per_chain << " draws; outputs on the grid: largest split R-hat "
           << d.r_hat.maxCoeff() << ", smallest effective sample size " << d.effective_samples.minCoeff()
           << "; weights: R-hat up to " << r.diagnostics.r_hat.maxCoeff() << "; acceptance " << r.acceptance.minCoeff()
           << " to " << r.acceptance.maxCoeff() << "; divergences " << r.divergences;
      Eigen::MatrixXd scores(r.draws.rows(), r.draws.cols());
      problem.whole(r.draws, scores);
      const double t = temperature(r.draws, scores);
      text << "; temperature of the weights " << t << ", of the outputs on minibatches "
           << function_temperature(problem.posterior, r.draws, o.particles);
      if (const double worst = d.r_hat.maxCoeff(); !(worst < kAgreement))
        text << "\nHMC has not converged: R-hat of the outputs is " << worst << ", where " << kAgreement
             << " would be tolerable. Do not take it for the truth: raise --draws, --warmup or --leapfrog";
      remark = text.str();
      results.push_back({"HMC", r.draws, r.report.steps, r.report.seconds, t, true, d.r_hat.maxCoeff()});
    }
    std::cout << "HMC: " << remark << '\n';
  }

  for (long repeat = 0; repeat < o.seeds && !interrupted; ++repeat) {
    if (repeat > 0) problem = problem_of_seed(o.seed + static_cast<std::uint64_t>(repeat));
    for (const std::string& name : kNetworkMethods) {
      if (name == "HMC" || !chosen(name)) continue;
      if (repeat > 0 && std::find(o.once.begin(), o.once.end(), name) != o.once.end()) continue;
      NetworkSampler sampler =
          network_sampler(name, problem.posterior, Adam{.learning_rate = o.learning_rate}, anneal::Constant{o.driving});
      Networks state{problem.start, 0, Adam{}.init(problem.start)};
      const Report report = run(sampler, state, o.steps, ProgressBar{name}, StopOnInterrupt{});
      interrupted = StopOnInterrupt::interrupted();
      if (report.stop == Report::Stop::not_finite) std::cout << name << ": " << report.message << '\n';
      if (interrupted && repeat > 0) break;  // half a run would spoil the means
      results.push_back(
          {name, state.particles.cast<double>(), report.steps, report.seconds, report.temperature, repeat == 0});
    }
  }
  if (interrupted) std::cerr << "interrupted: writing what was reached so far\n";
  return results;
}

}  // namespace example
