#include "options.hpp"

#include <repel/core/threads.hpp>
#include <repel/observe/stop_on_interrupt.hpp>

#include <CLI/CLI.hpp>

#include <iostream>

namespace example {

namespace {

/// The options that all examples have; `describe` says what a number is by default.
void add_common(CLI::App& app, const std::string& name, Options& options,
                const std::function<std::string(long Setting::*)>& describe) {
  options.out = name + "-out";
  app.add_option("--out", options.out, "Folder for summary.csv, the picture and its data")->capture_default_str();
  app.add_option("--particles", options.particles, "Number of particles" + describe(&Setting::particles))
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps, "Number of steps" + describe(&Setting::steps))->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed,
                 "Seed of all that is random: initial particles, and data where they are made up")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Threads; 0: as many as there are cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

/// Reads the command line. Gives an exit code if the program should end at once.
std::optional<int> read(CLI::App& app, int argc, char** argv, const Options& options) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  }
  repel::set_threads(options.threads);
  return std::nullopt;
}

void fill_in(const Setting& chosen, Options& options) {
  if (options.particles == 0) options.particles = chosen.particles;
  if (options.steps == 0) options.steps = chosen.steps;
}

}  // namespace

std::optional<int> parse(int argc, char** argv, const std::string& about, const std::string& name, const Setting& quick,
                         const Setting& paper, const std::vector<std::string>& methods, Options& options,
                         const std::function<void(CLI::App&)>& more) {
  CLI::App app{about};
  options.methods = methods;
  add_common(app, name, options, [&](long Setting::*field) {
    return " [" + std::to_string(quick.*field) + ", with --paper " + std::to_string(paper.*field) + "]";
  });
  app.add_flag("--paper", options.paper, "The paper's full setting");
  app.add_option("--methods", options.methods, "Methods to run, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(methods))
      ->capture_default_str();
  if (more) more(app);
  if (const auto code = read(app, argc, argv, options)) return code;
  fill_in(options.paper ? paper : quick, options);
  return std::nullopt;
}

int run_example(int argc, char** argv, const std::string& about, const std::string& name, const Setting& setting,
                const std::function<void(const Options&)>& run) try {
  Options options;
  CLI::App app{about};
  add_common(app, name, options, [&](long Setting::*field) {
    return (field == &Setting::steps ? ", or gradients of each particle for repel::sample [" : " [") +
           std::to_string(setting.*field) + "]";
  });
  app.add_option("--draws", options.draws, "Draws of each chain of NUTS, after as many of warm-up")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  if (const auto code = read(app, argc, argv, options)) return *code;
  fill_in(setting, options);
  run(options);
  return repel::StopOnInterrupt::interrupted() ? 130 : 0;
} catch (const std::exception& error) {
  std::cerr << name << ": " << error.what() << '\n';
  return 1;
}

}  // namespace example
