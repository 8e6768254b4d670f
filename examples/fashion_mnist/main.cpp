// The paper's table on FashionMNIST, with MNIST as data from elsewhere: ten ways to train an ensemble and calibrated ones,
// and every figure of the table.

#include "../common/processes.hpp"
#include "../images/experiment.hpp"
#include "../images/options.hpp"
#include "../images/posterior.hpp"

#include <repel/bnn.hpp>
#include <repel/data.hpp>

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

namespace fs = std::filesystem;

const repel::Mlp& network() {
  static const repel::Mlp mlp({784, 100, 100, 100, images::kClasses}, repel::Activation::relu);
  return mlp;
}

images::Problem problem() {
  images::Problem p;
  p.name = "fashion_mnist";
  p.data_name = "FashionMNIST";
  p.side = 28;
  p.roc_corner = true;
  p.start = [](const images::Settings& s, std::uint64_t seed) {
    return s.init == "prior" ? repel::prior_draws<float>(network(), repel::NormalPrior{s.prior_sd}, s.members, seed)
                             : repel::pytorch_draws<float>(network(), s.members, seed);
  };
  p.posterior = [](const images::Settings& s, const std::vector<double>& scales, const images::Images& data,
                   std::uint64_t seed) {
    return images::both_spaces(
        s, repel::Bnn(network(), repel::CategoricalLikelihood{.log_floor = s.log_floor},
                      repel::ParticleNormalPrior{scales}, data.inputs, data.labels, repel::Minibatch{s.batch, seed}));
  };
  p.logits = [](const repel::Matrix<float>& members, const repel::Matrix<float>& inputs) {
    repel::Matrix<float> f;
    repel::Ensemble<repel::Mlp, float>(network()).evaluate(members, inputs, f);
    return f;
  };
  p.learning_rate = [](const std::string& method) {  // the appendix
    return !example::in_function_space(method) && method.find("WGD") != std::string::npos ? 0.001 : 0.0025;
  };
  return p;
}

}  // namespace

int main(int argc, char** argv) try {
  const example::Processes processes(argc, argv);
  images::Settings s;
  s.out = "fashion_mnist-out";
  fs::path data_folder, ood_folder, ood2_folder;
  CLI::App app{
      "Ensembles of networks 784-100-100-100-10 on FashionMNIST by the paper's ten methods and calibrated ones; MNIST "
      "is "
      "what they should not be sure about. Ctrl-C loses nothing: --resume goes on."};
  app.add_option("--data", data_folder, "Folder with FashionMNIST's four IDX files [where setup.sh --data puts them]");
  app.add_option("--ood", ood_folder, "Folder with MNIST's files [the same]");
  app.add_option(
      "--ood2", ood2_folder,
      "Folder with the files t10k-* of a second set from elsewhere; none: no such set [QuickDraw where setup.sh "
      "--data has put it, unless --ood is given]");
  images::Options options(app, s,
                          {.quick = {.members = 5, .steps = 200, .batch = 256, .train = 10000, .test = 1000},
                           .paper = {.members = 50, .steps = 50000, .batch = 256, .train = 0, .test = 0},
                           .inits = {"pytorch", "prior"},
                           .rates = "0.001 for WGD in weight space and 0.0025 for the others"});
  CLI11_PARSE(app, argc, argv);
  options.settle();

  using repel::data::Part;
  const fs::path usual = REPEL_DATA_DIR;
  const std::string train_file = "train-images-idx3-ubyte", test_file = "t10k-images-idx3-ubyte";
  const fs::path data_from =
      images::require_folder(data_folder, "--data", {usual / "fashion-mnist", "/usr/share/datasets/fashion-mnist"},
                             train_file, "the four IDX files");
  const fs::path ood_from =
      images::require_folder(ood_folder, "--ood", {usual / "mnist"}, train_file, "the four IDX files");
  const auto read = [](const fs::path& folder, Part part, long count) {
    return images::first(repel::data::read_mnist<float>(folder, part), count);
  };
  // Of a set from elsewhere: that of its folder.
  const auto name_of = [](const fs::path& folder) {
    const std::string name = fs::absolute(folder / "").lexically_normal().parent_path().filename().string();
    return name == "mnist" ? "MNIST" : name == "quickdraw" ? "QuickDraw" : name;
  };
  images::Data data{read(data_from, Part::train, s.train),
                    read(data_from, Part::test, s.test),
                    {{name_of(ood_from), read(ood_from, Part::test, s.test)}}};
  if (ood2_folder != "none") {
    const auto by_default = ood_folder.empty() ? std::vector<fs::path>{usual / "quickdraw"} : std::vector<fs::path>{};
    const fs::path from = images::find_folder(ood2_folder, by_default, test_file);
    if (!from.empty()) data.ood.push_back({name_of(from), read(from, Part::test, s.test)});
  }
  return images::run_experiment(s, problem(), data);
} catch (const std::exception& error) {
  std::cerr << "fashion_mnist: " << error.what() << '\n';
  return 1;
}
