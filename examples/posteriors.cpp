// Eight posteriors with known answers, by particles, HMC and NUTS, with the same number of gradients for each method.

#include "posteriors/models.hpp"

#include "common/gnuplot.hpp"

#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <CLI/CLI.hpp>

#include <iostream>
#include <limits>
#include <optional>

namespace {

using Eigen::MatrixXd, Eigen::VectorXd, posteriors::Posterior, repel::Index;

const std::vector<std::string> kMethods{"sample", "SVGD", "SGE-WGD", "SGE-WGD full", "HMC", "NUTS"};

struct Options {
  std::filesystem::path out = "posteriors-out", data;
  std::vector<std::string> names = posteriors::kNames, methods = kMethods;
  Index gradients = 450000, particles = 0, seeds = 1, leapfrog = 10, threads = 0;
  std::uint64_t seed = 1;
  bool cost = false;
};

// The rule. The mean of 100 exact draws is wrong by 0.1 standard deviations on average, their own by 7 %.
constexpr double kMeanError = 0.3, kLeastRatio = 0.8, kMostRatio = 1.25;

/// How far a set of particles is from the reference, and what the method says of itself.
struct Outcome {
  double mean_error = 0;                       ///< the largest, in standard deviations of the reference
  double least_ratio = 1e300, most_ratio = 0;  ///< of standard deviations to the reference's
  double temperature = 0;
  bool trusted = false;  ///< by the method's own report
  Index gradients = 0;
  double seconds = 0;
  double effective = 0;  ///< HMC and NUTS: the smallest effective sample size of an output …
  double rate = 0;       ///< … for 1000 gradients after warm-up

  bool passes() const { return mean_error <= kMeanError && least_ratio >= kLeastRatio && most_ratio <= kMostRatio; }
  /// The ratio that is farther from 1.
  double worst_ratio() const { return least_ratio * most_ratio < 1 ? least_ratio : most_ratio; }
};

/// A posterior as all methods see it, which counts: a gradient, with its log density or without.
struct Target {
  const Posterior& posterior;
  Index count = 0;

  void operator()(const MatrixXd& w, MatrixXd& g) {
    count += w.cols();
    repel::per_particle([&](const auto& particle, auto& gradient) { posterior.log_density(particle, gradient); })(w, g);
  }
  void value_and_gradient(const MatrixXd& w, MatrixXd& g, repel::Vector<double>& values) {
    count += w.cols();
    values.resize(w.cols());
    repel::detail::parallel_for(w.cols(), 1e4, [&](Index j) {
      VectorXd gradient(w.rows());
      values(j) = posterior.log_density(w.col(j), gradient);
      g.col(j) = gradient;
    });
  }
  void log_density(const MatrixXd& w, repel::Vector<double>& values) {
    MatrixXd unused(w.rows(), w.cols());
    value_and_gradient(w, unused, values);
  }
};

MatrixXd outputs_of(const Posterior& posterior, const MatrixXd& particles) {
  MatrixXd out(posterior.mean.size(), particles.cols());
  for (Index j = 0; j < out.cols(); ++j) out.col(j) = posterior.outputs(particles.col(j));
  return out;
}

void compare(const Posterior& posterior, const MatrixXd& particles, Outcome& outcome) {
  const MatrixXd out = outputs_of(posterior, particles);
  const double rest = static_cast<double>(std::max<Index>(1, out.cols() - 1));
  for (Index k = 0; k < out.rows(); ++k) {
    const double mean = out.row(k).mean(), sd = std::sqrt((out.row(k).array() - mean).square().sum() / rest);
    outcome.mean_error = std::max(outcome.mean_error, std::abs(mean - posterior.mean(k)) / posterior.sd(k));
    outcome.least_ratio = std::min(outcome.least_ratio, sd / posterior.sd(k));
    outcome.most_ratio = std::max(outcome.most_ratio, sd / posterior.sd(k));
  }
}

/// T of a set of particles: −E[cᵀ s] / d with c = x − x̄ and s = ∇ log p.
double temperature(Target& target, const MatrixXd& x) {
  MatrixXd s(x.rows(), x.cols());
  target(x, s);
  const MatrixXd c = x.colwise() - x.rowwise().mean();
  return -c.cwiseProduct(s).sum() / static_cast<double>((x.cols() - 1) * x.rows());
}

/// One method on one posterior; nothing if it was interrupted. The start is N(0, 1) in every coordinate for all.
std::optional<Outcome> run_method(const std::string& method, const Posterior& posterior, Index gradients,
                                  Index particles, Index leapfrog, std::uint64_t seed) {
  using namespace repel;
  Target target{posterior};
  Outcome outcome;
  ProgressBar progress(posterior.name + ", " + method + ", seed " + std::to_string(seed));
  const auto begun = std::chrono::steady_clock::now();
  const auto end = [&](const MatrixXd& draws) {
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    compare(posterior, draws, outcome);
  };

  if (method == "sample") {
    const Sample s = sample(target, posterior.dim, {.particles = particles, .seed = seed, .gradients = gradients},
                            progress, StopOnInterrupt{});
    if (StopOnInterrupt::interrupted()) return std::nullopt;
    outcome.temperature = s.report.temperature;
    outcome.trusted = s.report.trusted;
    outcome.gradients = target.count;
    end(s.particles);
    if (!s.report.trusted) std::cerr << posterior.name << ", sample, seed " << seed << ": " << s.report.message << '\n';
    return outcome;
  }

  if (method == "HMC" || method == "NUTS") {
    // Four chains share the gradients, and half of them are for warm-up. How many NUTS takes per iteration is not known
    // beforehand: in warm-up about 50 on these posteriors, of which 500 iterations suffice; the number after it is a bound.
    constexpr Index chains = 4;
    const bool is_hmc = method == "HMC";
    const Index iterations = std::max<Index>(8, gradients / (chains * (is_hmc ? leapfrog : 3))),
                warmup = is_hmc ? iterations / 2 : std::clamp<Index>(gradients / (100 * chains), 20, 500);
    Index spent_in_warmup = 0;
    const auto spent = [&](const auto& state, const StepInfo&) {
      if (state.step == warmup) spent_in_warmup = target.count;
      return target.count >= gradients;
    };
    const MatrixXd start = normal(posterior.dim, chains, seed);
    const auto r =
        is_hmc ? hmc(std::ref(target), start,
                     Hmc{.warmup = warmup, .samples = iterations - warmup, .leapfrog_steps = leapfrog, .seed = seed},
                     spent, progress, StopOnInterrupt{})
               : nuts(std::ref(target), start, Nuts{.warmup = warmup, .samples = iterations, .seed = seed}, spent,
                      progress, StopOnInterrupt{});
    if (StopOnInterrupt::interrupted()) return std::nullopt;
    outcome.gradients = target.count;
    outcome.trusted = r.divergences == 0 && r.diagnostics.r_hat.maxCoeff() <= 1.05;  // false for NaN
    if (r.draws_per_chain == 0) {                                                    // warm-up took all gradients
      outcome.mean_error = std::numeric_limits<double>::infinity();
      outcome.least_ratio = 0;
      return outcome;
    }
    end(r.draws);
    if (r.draws_per_chain >= 4) {
      outcome.effective = diagnose(outputs_of(posterior, r.draws), chains).effective_samples.minCoeff();
      outcome.rate = 1000 * outcome.effective / static_cast<double>(outcome.gradients - spent_in_warmup);
    }
    outcome.temperature = temperature(target, r.draws);
    return outcome;
  }

  const Index steps = std::max<Index>(1, gradients / particles);
  const auto run_rule = [&](const auto& rule, const auto& optimiser, const auto& coords) -> std::optional<Outcome> {
    auto sampler = weight_space(std::ref(target), rule, optimiser, coords);
    auto state = sampler.init(normal(posterior.dim, particles, seed));
    const Report report = run(sampler, state, steps, progress, StopOnInterrupt{});
    if (StopOnInterrupt::interrupted()) return std::nullopt;
    outcome.temperature = report.temperature;
    outcome.trusted = report.finished() && report.caution.empty();
    outcome.gradients = target.count;
    end(state.particles);
    return outcome;
  };
  // As most would run them; and calibrated, with the steps and the coordinates that sample has.
  const Scheduled adam{Adam{.learning_rate = 0.1}, schedule::Cosine{.steps = steps}};
  if (method == "SVGD") return run_rule(Svgd{Rbf{}}, adam, coordinates::AsGiven{});
  if (method == "SGE-WGD") return run_rule(Wgd{Sge{Rbf{}}}, adam, coordinates::AsGiven{});
  return run_rule(Wgd{Calibrated{Sge{Rbf{}}, Calibration::full}},
                  Scheduled{Clipped{Sgd{.learning_rate = 0.2}, std::sqrt(static_cast<double>(posterior.dim))},
                            schedule::Cosine{.steps = steps, .last = 0.05}},
                  coordinates::Whitened{.until = steps * 4 / 5});
}

bool suits(const std::string& method, const Posterior& posterior, Index particles, Index gradients) {
  if (method == "SGE-WGD full") return particles > posterior.dim;
  return method != "sample" || (particles >= 4 && gradients >= 1000 * particles);
}

/// 100, and 200 in many dimensions; the user's number if there is one.
Index particles_for(const Options& o, const Posterior& posterior) {
  return o.particles > 0 ? o.particles : posterior.dim < 50 ? 100 : 200;
}

/// Two or three significant digits, as a rule.
std::string brief(double value) {
  if (!std::isfinite(value) || value >= 1000) return value < 1e6 ? example::fixed(value, 0) : "large";
  return example::fixed(value, value < 0.1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}

/// All seeds of one method on one posterior.
struct Entry {
  std::string posterior, method;
  std::vector<Outcome> runs;

  Outcome worst() const {
    Outcome w;
    for (const Outcome& r : runs) {
      w.mean_error = std::max(w.mean_error, r.mean_error);
      w.least_ratio = std::min(w.least_ratio, r.least_ratio);
      w.most_ratio = std::max(w.most_ratio, r.most_ratio);
    }
    return w;
  }
  double mean(auto&& of) const {
    double sum = 0;
    for (const Outcome& r : runs) sum += static_cast<double>(of(r));
    return sum / static_cast<double>(runs.size());
  }
  std::string part(auto&& of) const {
    return std::to_string(std::count_if(runs.begin(), runs.end(), of)) + "/" + std::to_string(runs.size());
  }
};

/// Draws posteriors.png: the largest error of a mean above, the worst ratio of standard deviations below.
void draw(const std::filesystem::path& out, const std::vector<std::string>& names, const std::vector<Entry>& entries) {
  const std::filesystem::path data = out / "posteriors-data";
  std::filesystem::create_directories(data);
  constexpr double low_error = 0.005, high_error = 2000, low_ratio = 0.01, high_ratio = 2000;
  const int points[] = {7, 5, 9, 13, 11, 1};
  const char* colours[] = {"#1f5fbf", "#d62728", "#e69f00", "#2a9d5c", "#444444", "#8e44ad"};
  const double middle = 0.5 * static_cast<double>(kMethods.size() - 1);
  std::string errors, ratios;
  for (std::size_t m = 0; m < kMethods.size(); ++m) {
    std::string text;
    for (const Entry& e : entries) {
      if (e.method != kMethods[m]) continue;
      const auto at = static_cast<double>(std::find(names.begin(), names.end(), e.posterior) - names.begin()) +
                      0.13 * (static_cast<double>(m) - middle);
      const Outcome w = e.worst();
      const auto cut = [](double v, double low, double high) {
        return example::detail::number(std::isfinite(v) ? std::clamp(v, low, high) : high) + ' ';
      };
      text += example::detail::number(at) + ' ' + cut(w.mean_error, low_error, high_error) +
              cut(w.worst_ratio(), low_ratio, high_ratio) + cut(w.least_ratio, low_ratio, high_ratio) +
              cut(w.most_ratio, low_ratio, high_ratio) + '\n';
    }
    if (text.empty()) continue;
    const std::string file = "method-" + std::to_string(m + 1) + ".txt";
    example::write_file(data / file, text);
    const std::string from = "'posteriors-data/" + file + "' using ";
    const std::string look = std::string(" lc rgb '") + colours[m] + "' pt " + std::to_string(points[m]) + " ps 1.5";
    errors += (errors.empty() ? "plot " : ", ") + from + "1:2 with points" + look + " title '" + kMethods[m] + "'";
    ratios += (ratios.empty() ? "plot " : ", ") + from + "1:3:4:5 with yerrorbars" + look + " lw 1.5 notitle";
  }
  if (errors.empty()) return;
  const std::string last = std::to_string(names.size() - 1) + ".5";
  std::ostringstream gp;
  gp << "set terminal pngcairo size " << std::max<std::size_t>(600, 130 * names.size() + 120)
     << ",820 font 'DejaVu Sans,11'\nset output 'posteriors.png'\nset multiplot\n"
     << "set border 15 lc rgb '#666666'\nset tics out nomirror\nset logscale y\nset xrange [-0.5:" << last
     << "]\nset lmargin 11\nset rmargin 2\nset xtics (";
  for (std::size_t i = 0; i < names.size(); ++i) gp << (i == 0 ? "" : ",") << "\"" << names[i] << "\" " << i;
  gp << ") scale 0 noenhanced\n";
  for (std::size_t i = 1; i < names.size(); ++i)
    gp << "set arrow from " << i << "-0.5, graph 0 to " << i << "-0.5, graph 1 nohead lc rgb '#dddddd' back\n";
  gp << "set tmargin at screen 0.88\nset bmargin at screen 0.53\n"
     << "set key at screen 0.5, screen 0.985 center top maxrows 1 Left reverse samplen 1 width 1 noenhanced\n"
     << "set title 'largest error of a mean, in standard deviations (shaded: the rule, at most 0.3)' offset 0,-0.5\n"
     << "set yrange [" << low_error << ':' << high_error << "]\nset format y '%g'\n"
     << "set object 1 rectangle from -0.5," << low_error << " to " << last << ',' << kMeanError
     << " behind fc rgb '#e3f1e3' fs solid noborder\n"
     << errors << "\nunset object 1\nset tmargin at screen 0.43\nset bmargin at screen 0.06\n"
     << "set title 'standard deviations over the true ones: smallest to largest, a symbol on the worst (shaded: the "
        "rule, 0.8 to 1.25)' offset 0,-0.5\nset yrange ["
     << low_ratio << ':' << high_ratio << "]\nset object 2 rectangle from -0.5," << kLeastRatio << " to " << last << ','
     << kMostRatio << " behind fc rgb '#e3f1e3' fs solid noborder\nunset key\n"
     << ratios << "\nunset multiplot\n";
  example::run_gnuplot(out, "posteriors", gp.str());
}

/// Every method on every posterior, with the same number of gradients.
void compare_methods(const Options& o, const std::vector<Posterior>& all) {
  std::vector<Entry> entries;
  bool interrupted = false;
  for (const Posterior& posterior : all)
    for (const std::string& method : kMethods) {
      if (std::find(o.methods.begin(), o.methods.end(), method) == o.methods.end()) continue;
      const Index particles = particles_for(o, posterior);
      if (!suits(method, posterior, particles, o.gradients)) {
        std::cerr << posterior.name << ": " << method << " is left out, which needs "
                  << (method == "sample" ? "1000 gradients per particle" : "more particles than dimensions") << '\n';
        continue;
      }
      Entry entry{posterior.name, method, {}};
      for (Index k = 0; k < o.seeds && !interrupted; ++k) {
        const auto run =
            run_method(method, posterior, o.gradients, particles, o.leapfrog, o.seed + static_cast<std::uint64_t>(k));
        interrupted = !run;
        if (run) entry.runs.push_back(*run);
      }
      if (!entry.runs.empty()) entries.push_back(entry);
    }
  if (interrupted) std::cerr << "interrupted: writing what was reached so far\n";

  example::Table table({"posterior", "method", "mean_error", "sd_least", "sd_most", "passes", "T", "trusts_itself",
                        "gradients", "seconds", "ess", "ess_per_1000_gradients"});
  for (const Entry& e : entries) {
    const Outcome w = e.worst();
    const bool chains = e.method == "HMC" || e.method == "NUTS";
    table.add({e.posterior, e.method, brief(w.mean_error), brief(w.least_ratio), brief(w.most_ratio),
               e.part([](const Outcome& r) { return r.passes(); }),
               brief(e.mean([](const Outcome& r) { return r.temperature; })),
               e.part([](const Outcome& r) { return r.trusted; }),
               example::fixed(e.mean([](const Outcome& r) { return r.gradients; }), 0),
               example::fixed(e.mean([](const Outcome& r) { return r.seconds; }), 1),
               chains ? example::fixed(e.mean([](const Outcome& r) { return r.effective; }), 0) : "",
               chains ? brief(e.mean([](const Outcome& r) { return r.rate; })) : ""});
  }
  table.write(o.out);
  std::vector<std::string> names;
  for (const Posterior& posterior : all) names.push_back(posterior.name);
  for (const std::string& method : kMethods) {
    int runs = 0, passed = 0, passed_trusted = 0, failed_trusted = 0;
    for (const Entry& e : entries)
      if (e.method == method)
        for (const Outcome& r : e.runs) {
          ++runs;
          passed += r.passes();
          passed_trusted += r.passes() && r.trusted;
          failed_trusted += !r.passes() && r.trusted;
        }
    if (runs > 0)
      std::cout << method << ": " << passed << " of " << runs << " runs pass, " << passed_trusted
                << " of them trusted by their report; " << runs - passed << " fail, " << failed_trusted
                << " of them trusted\n";
  }
  draw(o.out, names, entries);
}

/// The smallest number of gradients with which a method passes for all seeds.
void compare_costs(const Options& o, const std::vector<Posterior>& all) {
  const std::vector<Index> budgets{3000, 10000, 30000, 100000, 300000};
  const std::vector<std::string> methods{"HMC", "NUTS", "sample", "SGE-WGD full"};
  example::Table table({"posterior", "HMC", "NUTS", "sample", "SGE-WGD full"});
  bool interrupted = false;
  for (const Posterior& posterior : all) {
    std::vector<std::string> row{posterior.name};
    for (const std::string& method : methods) {
      std::string found = "-";
      for (const Index gradients : budgets) {
        // sample takes at least 1000 gradients per particle: fewer particles where these do not suffice.
        const Index usual = particles_for(o, posterior),
                    particles = method == "sample" ? std::min(usual, gradients / 1000) : usual;
        if (!suits(method, posterior, particles, gradients)) continue;
        bool passes = true;
        for (Index k = 0; k < o.seeds && passes && !interrupted; ++k) {
          const auto run =
              run_method(method, posterior, gradients, particles, o.leapfrog, o.seed + static_cast<std::uint64_t>(k));
          interrupted = !run;
          passes = run && run->passes();
        }
        if (interrupted) break;
        if (passes) {
          found = std::to_string(gradients);
          if (method == "sample" && particles < usual) found += " (" + std::to_string(particles) + " particles)";
          break;
        }
      }
      if (interrupted) break;
      row.push_back(found);
    }
    if (interrupted) break;
    table.add(row);
  }
  if (interrupted) std::cerr << "interrupted: writing what was reached so far\n";
  std::filesystem::create_directories(o.out);
  example::write_file(o.out / "cost.csv", table.csv());
  std::cout << "The fewest gradients, of 3000, 10000, 30000, 100000 and 300000, that pass for all of " << o.seeds
            << " seeds; -: none of these\n"
            << table.aligned() << "costs: " << (o.out / "cost.csv").string() << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  Options o;
  CLI::App app{
      "Samples posteriors whose means and standard deviations are known, with particles, HMC and NUTS, and compares. "
      "Without --data that is eight schools."};
  app.add_option("--out", o.out, "Folder for summary.csv, the picture and its data")->capture_default_str();
  app.add_option("--data", o.data,
                 "Folder with the data NAME.csv and the references NAME.ref.csv; each line is a name and numbers, "
                 "separated by commas")
      ->check(CLI::ExistingDirectory);
  app.add_option("--posteriors", o.names, "Posteriors to sample, separated by commas; by default all in --data")
      ->delimiter(',')
      ->check(CLI::IsMember(posteriors::kNames));
  app.add_option("--methods", o.methods, "Methods to run, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(kMethods))
      ->capture_default_str();
  app.add_option("--gradients", o.gradients, "Gradients of one particle's log density that each method may take")
      ->check(CLI::Range(Index{1000}, Index{1000000000}))
      ->capture_default_str();
  app.add_option("--particles", o.particles, "Number of particles [100, in more than 50 dimensions 200]")
      ->check(CLI::Range(Index{4}, Index{100000}));
  app.add_option("--seed", o.seed, "The first seed, of starts and noise")->capture_default_str();
  app.add_option("--seeds", o.seeds, "So many seeds; the table shows the worst")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--leapfrog", o.leapfrog, "HMC's mean number of leapfrog steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", o.threads, "Threads; 0: as many as there are cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--cost", o.cost,
               "Instead: how few gradients do HMC, NUTS, sample and SGE-WGD full need? Writes cost.csv");
  CLI11_PARSE(app, argc, argv);
  repel::set_threads(o.threads);

  std::vector<Posterior> all;
  if (o.data.empty()) {
    std::cout << "eight_schools alone: --data DIR gives the other posteriors, as DIR/NAME.csv and DIR/NAME.ref.csv "
                 "(examples/README.md says more)\n";
    all.push_back(posteriors::eight_schools());
  } else {
    for (const std::string& name : o.names) {
      if (std::filesystem::exists(o.data / (name + ".csv")))
        all.push_back(posteriors::load(o.data, name));
      else
        std::cerr << name << " is left out: there is no " << (o.data / (name + ".csv")).string() << '\n';
    }
    if (all.empty()) throw std::runtime_error("there are no posteriors in " + o.data.string());
  }
  o.cost ? compare_costs(o, all) : compare_methods(o, all);
  return repel::StopOnInterrupt::interrupted() ? 130 : 0;
} catch (const std::exception& error) {
  std::cerr << "posteriors: " << error.what() << '\n';
  return 1;
}
