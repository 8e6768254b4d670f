// The training steps that torch_training.py takes, taken by repel: gradient, repulsion and Adam for an ensemble of
// networks 784-100-100-100-10. Run by compare.py --training; d is the batch.

#include "serve.hpp"

#include <repel/bnn.hpp>
#include <repel/repel.hpp>

namespace {

using repel::Index;

constexpr Index kPictures = 60000;  // as many as FashionMNIST has

peers::Setup training(const std::string& method) {
  return [method](Index members, Index batch) -> peers::Step {
    const repel::Mlp network({784, 100, 100, 100, 10});
    repel::Random random(1);
    Eigen::VectorXi labels(kPictures);
    for (Index i = 0; i < kPictures; ++i) labels(i) = static_cast<int>(10 * random.uniform());
    const Eigen::MatrixXf pictures = Eigen::MatrixXf::Random(784, kPictures).cwiseAbs();
    const repel::Bnn posterior(network, repel::CategoricalLikelihood{}, repel::NormalPrior{1.0}, pictures, labels,
                               repel::Minibatch{batch, 42});
    const auto steps_of = [&](auto sampler) -> peers::Step {
      auto state = sampler.init(repel::pytorch_draws<float>(network, members, 42));
      return [sampler, state]() mutable { sampler.step(state); };
    };
    const repel::Adam adam{.learning_rate = 1e-3};
    if (method == "SVGD") return steps_of(repel::weight_space(posterior.target(), repel::Svgd{}, adam));
    if (method == "kde-WGD") return steps_of(repel::weight_space(posterior.target(), repel::Wgd{repel::Kde{}}, adam));
    if (method == "kde-fWGD")
      return steps_of(repel::function_space(posterior.functions(repel::FlatPrior{}), repel::Wgd{repel::Kde{}}, adam));
    return steps_of(repel::weight_space(posterior.target(), repel::PlainEnsemble{}, adam));  // DE
  };
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, peers::Setup> setups;
  for (const std::string method : {"DE", "SVGD", "kde-WGD", "kde-fWGD"}) setups[method + " float"] = training(method);
  peers::serve(argc, argv, setups);
}
