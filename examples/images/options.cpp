#include "options.hpp"

#include "../common/view.hpp"

#include <repel/core/threads.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace images {

namespace fs = std::filesystem;

namespace {

/// Why a method cannot be run; empty if it can.
std::string fault_of_method(const std::string& text) {
  std::string method;
  try {
    method = example::split_temperature(text).first;
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  std::string all;
  for (const auto* names : {&kMethods, &kCalibratedMethods})
    for (const std::string& name : *names) {
      if (name == method) return {};
      all += (all.empty() ? "" : ", ") + name;
    }
  return "no method is called " + method + "; there are " + all +
         ", and calibrated ones at a temperature, as cal-kde-WGD@0.1";
}

/// Twice the same seed would give a standard error of 0.
template <class Values>
void require_distinct(const std::string& option, Values values) {
  std::sort(values.begin(), values.end());
  if (std::adjacent_find(values.begin(), values.end()) != values.end())
    throw std::runtime_error(option + " names something twice");
}

std::string size_text(long quick, long paper) {
  const auto text = [](long value) { return value == 0 ? std::string("all") : std::to_string(value); };
  return " [" + text(quick) + (quick == paper ? "]" : ", with --paper " + text(paper) + "]");
}

}  // namespace

Options::Options(CLI::App& app, Settings& s, const Defaults& defaults) : s_(s), defaults_(defaults) {
  const Size &quick = defaults_.quick, &paper = defaults_.paper;
  s.init = defaults_.inits.front();
  app.add_option("--out", s.out, "Folder for tables, pictures and checkpoints")->capture_default_str();
  app.add_flag("--paper", paper_,
               "The paper's setting: " + std::to_string(paper.members) + " members, " + std::to_string(paper.steps) +
                   " steps, all data");
  app.add_option("--members", given_.members, "Networks in an ensemble" + size_text(quick.members, paper.members))
      ->check(CLI::PositiveNumber);
  app.add_option("--steps", given_.steps, "Steps of training" + size_text(quick.steps, paper.steps))
      ->check(CLI::PositiveNumber);
  app.add_option("--batch", given_.batch, "Pictures per step" + size_text(quick.batch, paper.batch))
      ->check(CLI::PositiveNumber);
  app.add_option("--train", given_.train, "Training pictures; 0: all" + size_text(quick.train, paper.train))
      ->check(CLI::NonNegativeNumber);
  app.add_option("--test", given_.test, "Test pictures of either set; 0: all" + size_text(quick.test, paper.test))
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seeds", s.seeds, "Seeds, separated by commas; several give standard errors")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option(
         "--methods", s.methods,
         "Methods, separated by commas: the paper's ten, or calibrated ones, cal-kde-WGD, cal-kde-WGD-coordinates, "
         "cal-kde-WGD-layers, cal-sge-WGD, cal-kde-fWGD, cal-sge-fWGD, each also at a temperature, as "
         "cal-kde-WGD@0.1")
      ->delimiter(',')
      ->check(CLI::Validator(fault_of_method, "METHOD"))
      ->capture_default_str();
  app.add_option("--view", s.view, example::kViewHelp)->check(CLI::IsMember(example::kViews))->capture_default_str();
  app.add_option("--init", s.init,
                 "Where members start: as PyTorch or He et al. initialise layers, or at draws from the prior")
      ->check(CLI::IsMember(defaults_.inits))
      ->capture_default_str();
  app.add_option("--function-prior", s.function_prior, "Prior over functions: implicit (of the weight prior) or flat")
      ->check(CLI::IsMember({"implicit", "flat"}))
      ->capture_default_str();
  app.add_option("--prior-sd", s.prior_sd, "Standard deviation of the weight prior")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--learning-rate", s.learning_rate, "Of Adam; 0: the paper's, " + defaults_.rates)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--decay", s.decay, "Of the learning rate over the run: none, or cosine, from all of it to nothing")
      ->check(CLI::IsMember({"none", "cosine"}))
      ->capture_default_str();
  app.add_option("--search-steps", s.search_steps, "Steps of hyper-DE's search; 0: a fifth of the steps")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option(
         "--anneal", s.anneal,
         "A factor on the gradient of the log posterior that grows from 0 to 1 over the run, so that the members "
         "spread first: none, linear, hyper (off for the first half) or cyclic (five times)")
      ->check(CLI::IsMember({"none", "linear", "hyper", "cyclic"}))
      ->capture_default_str();
  app.add_option("--log-floor", s.log_floor,
                 "With --view probability-space: the likelihood is log(p + this); the authors' code has 1e-15")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--bandwidth-factor", s.bandwidth_factor, "A factor on the kernel's median bandwidth")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--checkpoint-seconds", s.checkpoint_seconds, "Seconds between checkpoints")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", threads_, "Threads; 0: as many as there are cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--resume", s.resume, "Go on with the run in the --out folder");
}

void Options::settle() {
  const Size& usual = paper_ ? defaults_.paper : defaults_.quick;
  const auto all = [](long count) { return count == 0 ? std::numeric_limits<long>::max() : count; };
  s_.members = given_.members > 0 ? given_.members : usual.members;
  s_.steps = given_.steps > 0 ? given_.steps : usual.steps;
  s_.batch = given_.batch > 0 ? given_.batch : usual.batch;
  s_.train = all(given_.train >= 0 ? given_.train : usual.train);
  s_.test = all(given_.test >= 0 ? given_.test : usual.test);
  require_distinct("--seeds", s_.seeds);
  require_distinct("--methods", s_.methods);
  if (s_.log_floor != kLogFloor && s_.view != "probability-space")
    throw std::runtime_error("--log-floor goes with --view probability-space only, but --view is " + s_.view);
  if (s_.anneal != "none" && s_.steps < 5)
    throw std::runtime_error("--anneal " + s_.anneal + " needs at least 5 steps, but --steps is " +
                             std::to_string(s_.steps));
  repel::set_threads(threads_);
}

fs::path find_folder(const fs::path& given, const std::vector<fs::path>& usual, const std::string& file) {
  if (!given.empty()) return given;
  for (const fs::path& folder : usual)
    if (fs::exists(folder / file) || fs::exists(folder / (file + ".gz"))) return folder;
  return {};
}

fs::path require_folder(const fs::path& given, const std::string& option, const std::vector<fs::path>& usual,
                        const std::string& file, const std::string& what) {
  const fs::path found = find_folder(given, usual, file);
  if (!found.empty()) return found;
  std::string looked;
  for (const fs::path& folder : usual) looked += "\n  " + folder.string();
  throw std::runtime_error(
      "no data found. Please run  cmake/setup.sh --data  in repel's folder, or give the folder of " + what + " by " +
      option + ". Looked in:" + looked);
}

}  // namespace images
