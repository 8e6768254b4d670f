// The paper's table on FashionMNIST, with MNIST as data from elsewhere: ten ways to train an ensemble, and every figure
// of the table.

#include "../common/view.hpp"
#include "report.hpp"
#include "training.hpp"

#include <repel/core/float_mode.hpp>
#include <repel/data.hpp>
#include <repel/observe/stop_on_interrupt.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// A folder given by hand, or the first of the usual ones that is there.
fs::path find_data(const fs::path& given, const std::string& option, const std::vector<fs::path>& usual) {
  if (!given.empty()) return given;
  for (const fs::path& folder : usual)
    if (fs::exists(folder / "train-images-idx3-ubyte") || fs::exists(folder / "train-images-idx3-ubyte.gz"))
      return folder;
  std::string looked;
  for (const fs::path& folder : usual) looked += "\n  " + folder.string();
  throw std::runtime_error(
      "no data found. Please run  cmake/setup.sh --data  in repel's folder, or give the folder of the "
      "four IDX files by " +
      option + ". Looked in:" + looked);
}

/// Twice the same seed would give a standard error of 0.
template <class Values>
void require_distinct(const std::string& option, Values values) {
  std::sort(values.begin(), values.end());
  if (std::adjacent_find(values.begin(), values.end()) != values.end())
    throw std::runtime_error(option + " names something twice");
}

}  // namespace

int main(int argc, char** argv) try {
  fashion::Settings s;
  fs::path data, ood_data;
  bool paper = false;
  long members = 0, steps = 0, train_count = -1, test_count = -1;
  CLI::App app{
      "Ensembles of networks 784-100-100-100-10 on FashionMNIST by the paper's ten methods; MNIST is what they "
      "should not be sure about. Ctrl-C loses nothing: --resume goes on."};
  app.add_option("--out", s.out, "Folder for tables, pictures and checkpoints")->capture_default_str();
  app.add_option("--data", data, "Folder with FashionMNIST's four IDX files [where setup.sh --data puts them]");
  app.add_option("--ood", ood_data, "Folder with MNIST's files [the same]");
  app.add_flag("--paper", paper, "The paper's setting: 50 members, 50000 steps, all data");
  app.add_option("--members", members, "Networks in an ensemble [5, with --paper 50]")->check(CLI::PositiveNumber);
  app.add_option("--steps", steps, "Steps of training [200, with --paper 50000]")->check(CLI::PositiveNumber);
  app.add_option("--train", train_count, "Training pictures; 0: all [10000, with --paper all]")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--test", test_count, "Test pictures of either set; 0: all [1000, with --paper all]")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--batch", s.batch, "Pictures per step")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--seeds", s.seeds, "Seeds, separated by commas; several give standard errors")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--methods", s.methods, "Methods, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember(fashion::kMethods))
      ->capture_default_str();
  app.add_option("--view", s.view, example::kViewHelp)->check(CLI::IsMember(example::kViews))->capture_default_str();
  app.add_option("--init", s.init, "Where members start: as PyTorch initialises layers, or at draws from the prior")
      ->check(CLI::IsMember({"pytorch", "prior"}))
      ->capture_default_str();
  app.add_option("--function-prior", s.function_prior, "Prior over functions: implicit (of the weight prior) or flat")
      ->check(CLI::IsMember({"implicit", "flat"}))
      ->capture_default_str();
  app.add_option("--prior-sd", s.prior_sd, "Standard deviation of the weight prior")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--learning-rate", s.learning_rate,
                 "Of Adam; 0: the paper's, 0.001 for WGD in weight space and 0.0025 for the others")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--search-steps", s.search_steps, "Steps of hyper-DE's search; 0: a fifth of the steps")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--checkpoint-seconds", s.checkpoint_seconds, "Seconds between checkpoints")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  long threads = 0;
  app.add_option("--threads", threads, "Threads; 0: as many as there are cores")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--resume", s.resume, "Go on with the run in the --out folder");
  CLI11_PARSE(app, argc, argv);
  repel::set_threads(threads);
  s.members = members > 0 ? members : paper ? 50 : 5;
  s.steps = steps > 0 ? steps : paper ? 50000 : 200;
  if (train_count < 0) train_count = paper ? 0 : 10000;
  if (test_count < 0) test_count = paper ? 0 : 1000;
  for (long* count : {&train_count, &test_count})
    if (*count == 0) *count = std::numeric_limits<long>::max();  // all
  require_distinct("--seeds", s.seeds);
  require_distinct("--methods", s.methods);
  if (!s.resume && fashion::has_checkpoints(s))
    throw std::runtime_error(s.out.string() +
                             " has checkpoints of an earlier run: give --resume to go on with it, or another --out");

  using repel::data::Part;
  const fs::path data_folder =
      find_data(data, "--data", {fs::path(REPEL_DATA_DIR) / "fashion-mnist", "/usr/share/datasets/fashion-mnist"});
  const fs::path ood_folder = find_data(ood_data, "--ood", {fs::path(REPEL_DATA_DIR) / "mnist"});
  const fashion::Images train_set =
      fashion::first(repel::data::read_mnist<float>(data_folder, Part::train), train_count);
  const fashion::Images test_set = fashion::first(repel::data::read_mnist<float>(data_folder, Part::test), test_count);
  const fashion::Images ood_set = fashion::first(repel::data::read_mnist<float>(ood_folder, Part::test), test_count);
  if (train_set.inputs.rows() != 784 || test_set.inputs.rows() != 784 || ood_set.inputs.rows() != 784)
    throw std::runtime_error("the pictures must have 28x28 pixels");
  std::cout << train_set.inputs.cols() << " training pictures of " << data_folder.string() << ", "
            << test_set.inputs.cols() << " test pictures, " << ood_set.inputs.cols() << " of " << ood_folder.string()
            << '\n';

  fashion::require_enough(s, train_set);
  std::vector<fashion::Evaluation> all;
  std::string table;
  bool good = true;
  for (const std::uint64_t seed : s.seeds)
    for (const std::string& method : s.methods) {
      if (repel::StopOnInterrupt::interrupted()) break;
      try {
        const fashion::Trained trained = fashion::train(s, method, seed, train_set, test_set);
        if (!trained.remark.empty()) std::cout << method << ": " << trained.remark << '\n';
        if (trained.steps < s.steps) continue;  // interrupted, or not finite: not for the table
        all.push_back(fashion::evaluate(method, seed, trained, test_set, ood_set));
        const fashion::Evaluation& e = all.back();
        std::cout << method << " (seed " << seed << "): accuracy " << e.accuracy << " %, AUROC(H) "
                  << e.by_entropy.auroc << ", " << e.seconds << " s"
                  << std::endl;  // at once, also into a file: the next method takes long
        table = fashion::write_tables(s.out, all);
      } catch (const std::exception& error) {  // the others are not to suffer
        std::cerr << "fashion_mnist: " << method << " (seed " << seed << "): " << error.what() << '\n';
        good = false;
      }
    }
  if (!all.empty()) {
    std::cout << table << "tables: " << (s.out / "table.md").string() << ", table.csv\n";
    fashion::draw(s.out, all, test_set, ood_set);
  }
  if (!repel::StopOnInterrupt::interrupted()) return good ? 0 : 1;
  std::cout << "interrupted; to go on, give the same command with --resume\n";
  return 130;
} catch (const std::exception& error) {
  std::cerr << "fashion_mnist: " << error.what() << '\n';
  return 1;
}
