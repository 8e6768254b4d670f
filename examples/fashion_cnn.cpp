// A convolutional network of LibTorch on FashionMNIST, as an ensemble whose members repel in weight or in function space.
#include "common/unsure.hpp"

#include <repel/bnn.hpp>
#include <repel/data.hpp>
#include <repel/metrics.hpp>
#include <repel/repel.hpp>
#include <repel/torch.hpp>

#include <torch/torch.h>
#include <CLI/CLI.hpp>

int main(int argc, char** argv) try {
  namespace nn = torch::nn;
  std::string data = REPEL_DATA_DIR "/fashion-mnist", out = "fashion_cnn-out", space = "function";
  long members = 5, steps = 600;
  CLI::App app{"An ensemble of small convolutional networks on FashionMNIST."};
  app.add_option("--data", data, "Folder with the four IDX files (setup.sh --data)")->capture_default_str();
  app.add_option("--out", out, "Folder for summary.csv and the picture")->capture_default_str();
  app.add_option("--space", space, "Where members repel")
      ->check(CLI::IsMember({"weight", "function"}))
      ->capture_default_str();
  app.add_option("--members", members, "Networks")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--steps", steps, "Steps, 128 pictures each")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  torch::set_num_threads(1);  // the members run in parallel instead
  repel::set_threads(0);
  const auto train = repel::data::read_mnist<float>(data, repel::data::Part::train);
  const auto test = repel::data::read_mnist<float>(data, repel::data::Part::test);
  const auto make = [] {
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 5).stride(2)), nn::ReLU(),
                          nn::Conv2d(nn::Conv2dOptions(8, 16, 5).stride(2)), nn::ReLU(), nn::Flatten(),
                          nn::Linear(256, 10));
  };
  const repel::Bnn posterior(repel::TorchNetwork(make, {1, 28, 28}), repel::CategoricalLikelihood{},
                             repel::NormalPrior{1.0}, train.inputs, train.labels, repel::Minibatch{128, 1});
  const auto trained = [&](auto sampler) {
    auto state = sampler.init(repel::he_draws<float>(posterior.network(), members, /*seed=*/1));
    (void)repel::run(sampler, state, steps, repel::ProgressBar{space}, repel::StopOnInterrupt{});
    return state.particles;
  };
  const repel::Adam adam{.learning_rate = 0.003};
  const auto p =
      posterior.predict(space == "weight" ? trained(weight_space(posterior.target(), repel::Wgd{}, adam))
                                          : trained(function_space(posterior.functions(), repel::Wgd{}, adam)),
                        test.inputs);
  example::Table table({"space", "members", "steps", "accuracy", "NLL", "disagreement"});
  const auto number = [](double value) { return example::fixed(value, 4); };
  table.add({space, std::to_string(members), std::to_string(steps),
             number(repel::metrics::accuracy(p.probabilities, test.labels)),
             number(repel::metrics::nll(p.probabilities, test.labels)),
             number(repel::metrics::disagreement(p.members, 10).mean())});
  table.write(out);
  example::draw_unsure(
      "fashion_cnn", out, test.inputs, test.labels, p.probabilities, repel::metrics::entropy(p.probabilities),
      "What the ensemble is least sure about, and its probabilities of the ten classes (the right one red)");
} catch (const std::exception& error) {
  std::cerr << "fashion_cnn: " << error.what() << '\n';
  return 1;
}
