#include "options.hpp"

#include <repel/core/threads.hpp>

#include <CLI/CLI.hpp>

namespace example {

std::optional<int> parse(int argc, char** argv, const std::string& about, const std::string& name, const Setting& quick,
                         const Setting& paper, const std::vector<std::string>& methods, Options& options,
                         const std::function<void(CLI::App&)>& more) {
  CLI::App app{about};
  options.out = name + "-out";
  options.methods = methods;
  const auto defaults = [&](long Setting::*field) {
    return " [" + std::to_string(quick.*field) + ", with --paper " + std::to_string(paper.*field) + "]";
  };
  app.add_option("--out", options.out, "Folder for summary.csv, the picture and its data")->capture_default_str();
  app.add_flag("--paper", options.paper, "The paper's full setting");
  app.add_option("--particles", options.particles, "Number of particles" + defaults(&Setting::particles))
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "Number of steps" + defaults(&Setting::steps))->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed,
                 "Seed of all that is random: initial particles, and data where they are made up")
      ->capture_default_str();
  app.add_option("--methods", options.methods, "Methods to run, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(methods))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads; 0: as many as there are cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  if (more) more(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  repel::set_threads(options.threads);
  const Setting& chosen = options.paper ? paper : quick;
  if (options.particles == 0) options.particles = chosen.particles;
  if (options.steps == 0) options.steps = chosen.steps;
  return std::nullopt;
}

}  // namespace example
