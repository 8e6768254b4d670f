// The field's standard regression table: nine UCI sets, one hidden layer of 50 units (100 for protein), learned noise.

#include "report.hpp"

#include <repel/core/threads.hpp>
#include <repel/observe/stop_on_interrupt.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace {

namespace fs = std::filesystem;

std::string describe(const uci::Settings& s) {
  std::ostringstream text;
  text << s.members << " members, " << (s.steps > 0 ? std::to_string(s.steps) : "2000+") << " steps, batch " << s.batch
       << ", rate " << s.learning_rate << ", prior scale " << s.prior_scale << ", seed " << s.seed << ", NUTS "
       << s.chains << " chains of " << s.warmup << "+" << s.draws << " with depth " << s.depth;
  return text.str();
}

}  // namespace

int main(int argc, char** argv) try {
  uci::Settings s;
  fs::path out = "uci-out", folder = fs::path(REPEL_DATA_DIR) / "uci";
  std::vector<std::string> sets, methods = uci::methods();
  long splits = 3, nuts_splits = 1, threads = 0;
  bool paper = false, resume = false;
  CLI::App app{
      "Ensembles of networks with one hidden layer and learned noise on the UCI regression sets: test RMSE and "
      "log-likelihood beside what others published. Ctrl-C loses at most the run it stops: --resume goes on."};
  app.add_option("--data", folder, "Folder of the sets, a folder each [where setup.sh --data puts Boston]");
  app.add_option("--out", out, "Folder for tables, picture and results")->capture_default_str();
  app.add_flag("--paper", paper, "All splits of every set, NUTS on three of each small one");
  app.add_option("--sets", sets, "Sets, separated by commas [those that are in the folder]")
      ->delimiter(',')
      ->check(CLI::IsMember(uci::names()));
  app.add_option("--methods", methods, "Methods, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(uci::methods()))
      ->capture_default_str();
  auto* splits_option = app.add_option("--splits", splits, "Splits of each set, the first ones [3, with --paper all]")
                            ->check(CLI::PositiveNumber);
  auto* nuts_option = app.add_option("--nuts-splits", nuts_splits,
                                     "Splits for NUTS [1, with --paper 3], on sets of at most 2000 points")
                          ->check(CLI::NonNegativeNumber);
  app.add_option("--members", s.members, "Networks in an ensemble")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--steps", s.steps, "Steps of training; 0: 2000, or 40 passes over the data where that is more")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--batch", s.batch, "Points per step")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--learning-rate", s.learning_rate, "Of Adam, at first; it falls to 0 along a cosine")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--prior-scale", s.prior_scale, "Size of functions drawn from the prior, in the target's sds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--chains", s.chains, "Chains of NUTS")->check(CLI::Range(2, 64))->capture_default_str();
  app.add_option("--warmup", s.warmup, "Iterations of its warm-up")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--draws", s.draws, "Draws of each chain")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--depth", s.depth, "Depth of its trees at most")->check(CLI::Range(1, 12))->capture_default_str();
  app.add_option("--seed", s.seed, "Seed of all that is random")->capture_default_str();
  app.add_option("--threads", threads, "Threads; 0: as many as there are cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--resume", resume, "Go on with the run in the --out folder");
  CLI11_PARSE(app, argc, argv);
  repel::set_threads(threads);
  if (paper && splits_option->count() == 0) splits = 1000;
  if (paper && nuts_option->count() == 0) nuts_splits = 3;
  if (sets.empty())
    for (const std::string& name : uci::names())
      if (fs::exists(folder / name)) sets.push_back(name);
  if (sets.empty())
    throw std::runtime_error(
        "no set found in " + folder.string() +
        ". Please run  cmake/setup.sh --data  in repel's folder, which fetches Boston, or give the "
        "folder of the sets by --data");

  std::vector<uci::Dataset> data;
  for (const std::string& name : sets) data.push_back(uci::read(folder, name));
  fs::create_directories(out);
  const fs::path file = out / "results.csv";
  if (!resume && fs::exists(file))
    throw std::runtime_error(file.string() + " is of an earlier run: give --resume to go on with it, or another --out");
  std::vector<uci::Result> results = uci::read_results(file, describe(s));
  const auto done = [&](const std::string& set, std::size_t split, const std::string& method) {
    return std::any_of(results.begin(), results.end(),
                       [&](const uci::Result& r) { return r.set == set && r.split == split && r.method == method; });
  };

  bool good = true;
  for (const uci::Dataset& set : data) {
    if (!set.standard_splits)
      std::cout << set.name << ": random splits, since there are no standard ones beside the data\n";
    for (std::size_t split = 0; split < set.splits.size() && split < static_cast<std::size_t>(splits); ++split)
      for (const std::string& method : methods) {
        if (repel::StopOnInterrupt::interrupted()) break;
        if (done(set.name, split, method)) continue;
        if (method == "NUTS" && (split >= static_cast<std::size_t>(nuts_splits) || set.inputs.cols() > 2000)) continue;
        const uci::Outcome outcome = uci::run(s, set, split, method);
        if (!outcome.complete) {
          if (!repel::StopOnInterrupt::interrupted())
            std::cerr << "uci: " << set.name << " " << split << " " << method << ": " << outcome.message << '\n';
          good = false;
          continue;
        }
        results.push_back({set.name, split, method, outcome});
        uci::write_results(file, describe(s), results);
        std::cout << set.name << " " << split << " " << method << ": RMSE " << outcome.rmse << ", log-likelihood "
                  << outcome.log_likelihood << ", " << outcome.seconds << " s" << std::endl;
      }
  }
  if (!results.empty()) {
    std::cout << uci::write_tables(out, data, results) << "tables: " << (out / "table.md").string()
              << ", summary.csv, results.csv\n";
    uci::draw(out, data, results);
  }
  if (!repel::StopOnInterrupt::interrupted()) return good ? 0 : 1;
  std::cout << "interrupted; to go on, give the same command with --resume\n";
  return 130;
} catch (const std::exception& error) {
  std::cerr << "uci: " << error.what() << '\n';
  return 1;
}
