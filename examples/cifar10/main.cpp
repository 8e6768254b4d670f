// The paper's table on CIFAR-10, with SVHN as data from elsewhere: residual networks of LibTorch, by the paper's ten
// methods and calibrated ones.

#include "../common/processes.hpp"
#include "../common/resnet.hpp"
#include "../images/experiment.hpp"
#include "../images/options.hpp"
#include "../images/posterior.hpp"
#include "augmentation.hpp"
#include "data.hpp"

#include <repel/bnn.hpp>
#include <repel/torch.hpp>

#include <torch/torch.h>
#include <CLI/CLI.hpp>

#include <iostream>
#include <map>
#include <memory>

namespace {

namespace fs = std::filesystem;

using Network = repel::TorchNetwork<example::ResNetImpl>;

/// Residual blocks in each of the three stages.
const std::map<std::string, int> kBlocks{{"resnet8", 1}, {"resnet20", 3}, {"resnet32", 5}};

images::Problem problem(const std::string& name, const std::vector<std::string>& augment, const cifar10::Channels& of) {
  const Network network([blocks = kBlocks.at(name)] { return example::ResNet(blocks); },
                        {3, cifar10::kSide, cifar10::kSide});
  const cifar10::FlipAndCrop change = cifar10::FlipAndCrop::from(augment);
  images::Problem p;
  p.name = "cifar10";
  p.data_name = "CIFAR-10";
  p.identity = ", " + name;
  if (change.flip) p.identity += ", flipped";
  if (change.crop) p.identity += ", cropped";
  p.side = cifar10::kSide;
  p.channels = 3;
  p.chunk = 250;
  p.start = [network](const images::Settings& s, std::uint64_t seed) {
    if (s.init == "prior") return repel::prior_draws<float>(network, repel::NormalPrior{s.prior_sd}, s.members, seed);
    return s.init == "he" ? repel::he_draws<float>(network, s.members, seed)
                          : repel::pytorch_draws<float>(network, s.members, seed);
  };
  p.posterior = [network, change](const images::Settings& s, const std::vector<double>& scales,
                                  const images::Images& data, std::uint64_t seed) {
    const repel::Bnn posterior(network, repel::CategoricalLikelihood{.log_floor = s.log_floor},
                               repel::ParticleNormalPrior{scales}, data.inputs, data.labels,
                               repel::Minibatch{s.batch, seed});
    return images::both_spaces(s, change.any() ? posterior.augmented(change) : posterior);
  };
  p.logits = [ensemble = std::make_shared<repel::Ensemble<Network, float>>(network)](
                 const repel::Matrix<float>& members, const repel::Matrix<float>& inputs) {
    repel::Matrix<float> f;
    ensemble->evaluate(members, inputs, f);
    return f;
  };
  p.learning_rate = [](const std::string& method) {  // the appendix
    return example::in_function_space(method) ? 0.00025 : 0.0005;
  };
  p.pixel = [of](float value, repel::Index row) { return of.pixel(value, row); };
  return p;
}

}  // namespace

int main(int argc, char** argv) try {
  const example::Processes processes(argc, argv);
  torch::set_num_threads(
      1);  // the members run in parallel instead; and with one thread the same bits come out every time
  images::Settings s;
  s.out = "cifar10-out";
  s.prior_sd = std::sqrt(0.1);  // N(0, 0.1 I)
  fs::path data_folder, ood_file, human_file;
  std::string network;
  std::vector<std::string> augment;
  std::vector<std::string> networks;
  for (const auto& [name, blocks] : kBlocks) networks.push_back(name);
  CLI::App app{
      "Ensembles of residual networks on CIFAR-10 by the paper's ten methods and calibrated ones; SVHN is what they "
      "should "
      "not be sure about. Ctrl-C loses nothing: --resume goes on."};
  app.add_option(
      "--data", data_folder,
      "Folder with CIFAR-10's six binary files, data_batch_1.bin and so on [where setup.sh --data puts them]");
  app.add_option(
      "--ood", ood_file,
      "File with SVHN's test pictures in the layout of CIFAR-10's: a byte for the label, 3072 for the picture");
  app.add_option("--human", human_file, "CIFAR-10H's cifar10h-probs.npy: how people's answers are distributed");
  app.add_option("--network", network, "resnet8, resnet20 or resnet32 [resnet8, with --paper resnet32]")
      ->check(CLI::IsMember(networks));
  app.add_option("--augment", augment, "How training pictures are changed, at random: flip, crop or both, as flip,crop")
      ->delimiter(',')
      ->check(CLI::IsMember({"flip", "crop"}));
  images::Options options(app, s,
                          {.quick = {.members = 3, .steps = 60, .batch = 32, .train = 2000, .test = 200},
                           .paper = {.members = 20, .steps = 50000, .batch = 128, .train = 0, .test = 0},
                           .inits = {"he", "pytorch", "prior"},
                           .rates = "0.00025 in function space and 0.0005 for the others"});
  CLI11_PARSE(app, argc, argv);
  options.settle();
  if (network.empty()) network = options.paper() ? "resnet32" : "resnet8";

  const fs::path usual = REPEL_DATA_DIR;
  const fs::path from = images::require_folder(data_folder, "--data", {usual / "cifar10"}, "data_batch_1.bin",
                                               "the six binary files of CIFAR-10");
  images::Data data{cifar10::read_training(from, s.train),
                    cifar10::read_test(from, s.test),
                    {cifar10::read_foreign(ood_file, usual, s.test)}};
  if (!human_file.empty()) data.human = cifar10::read_human(human_file, from, data.test.inputs.cols());
  const auto channels = cifar10::Channels::of(data.train);
  for (images::Images* set : {&data.train, &data.test, &data.ood[0].pictures}) channels.standardise(*set);
  return images::run_experiment(s, problem(network, augment, channels), data);
} catch (const std::exception& error) {
  std::cerr << "cifar10: " << error.what() << '\n';
  return 1;
}
