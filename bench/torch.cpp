// What a particle's forward and backward pass takes through repel (TorchNetwork in an Ensemble) and with LibTorch alone, on
// the same module, batch and threads, measured alternately: ResNet32 at batch 128. And for a small convolutional network
// with eight particles, which threads to use: repel's or LibTorch's.
//
//   torch_bench [--quick]

#include "../examples/common/resnet.hpp"

#include <repel/bnn.hpp>
#include <repel/repel.hpp>
#include <repel/torch.hpp>

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

namespace {

using repel::Index;
using Clock = std::chrono::steady_clock;

template <class Work>
double seconds(const Work& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Both passes with the sum of all outputs as the loss: what differs is repel's part, not a likelihood.
void compare(int blocks, Index batch, int rounds) {
  const repel::TorchNetwork network([=] { return example::ResNet(blocks); }, {3, 32, 32});
  using N = std::remove_const_t<decltype(network)>;
  const Eigen::MatrixXf w = repel::he_draws<float>(network, 1, 1), x = repel::normal<float>(network.inputs(), batch, 2),
                        ones = Eigen::MatrixXf::Ones(10 * batch, 1);
  repel::Ensemble<N, float> ensemble(network);
  Eigen::MatrixXf f, g;

  example::ResNet alone(blocks);
  network.load(alone, w.col(0));
  alone->eval();
  const torch::Tensor points = torch::from_blob(const_cast<float*>(x.data()), {batch, 3, 32, 32}).clone();
  const std::vector<torch::Tensor> parameters = alone->parameters();
  double difference = 0;

  std::vector<double> by_repel, by_torch, ratios;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    std::vector<torch::Tensor> gradients;
    torch::Tensor outputs;
    const auto ours = [&] {
      ensemble.forward(w, x, f);
      ensemble.backward(w, x, ones, g);
    };
    const auto theirs = [&] {
      outputs = alone->forward(points);
      gradients = torch::autograd::grad({outputs}, parameters, {torch::ones_like(outputs)});
    };
    double mine = 0, other = 0;
    if (round % 2 == 0)
      mine = seconds(ours), other = seconds(theirs);
    else
      other = seconds(theirs), mine = seconds(ours);
    Index first = 0;
    for (const torch::Tensor& gradient : gradients) {
      const Eigen::Map<const Eigen::VectorXf> expected(gradient.contiguous().data_ptr<float>(), gradient.numel());
      difference =
          std::max<double>(difference, (g.col(0).segment(first, expected.size()) - expected).cwiseAbs().maxCoeff() /
                                           expected.cwiseAbs().maxCoeff());
      first += expected.size();
    }
    if (round < 0) continue;
    by_repel.push_back(mine);
    by_torch.push_back(other);
    ratios.push_back(mine / other);
  }
  std::printf(
      "ResNet%d, %td weights, batch %td, %d of LibTorch's threads: repel %.1f ms, LibTorch alone %.1f ms, ratio "
      "%.3f (median of %d rounds; %.3f to %.3f), largest difference of gradients %.1e\n",
      6 * blocks + 2, network.parameters(), batch, torch::get_num_threads(), 1e3 * median(by_repel),
      1e3 * median(by_torch), median(ratios), rounds, *std::min_element(ratios.begin(), ratios.end()),
      *std::max_element(ratios.begin(), ratios.end()), difference);
}

/// A step of eight small networks with different threads.
void threads(int rounds) {
  const auto small = [] {
    namespace nn = torch::nn;
    return nn::Sequential(nn::Conv2d(nn::Conv2dOptions(1, 8, 5).stride(2)), nn::ReLU(),
                          nn::Conv2d(nn::Conv2dOptions(8, 16, 5).stride(2)), nn::ReLU(), nn::Flatten(),
                          nn::Linear(256, 10));
  };
  const repel::TorchNetwork network(small, {1, 28, 28});
  const Eigen::MatrixXf w = repel::he_draws<float>(network, 8, 1), x = repel::normal<float>(784, 128, 2);
  const Eigen::VectorXi labels = Eigen::VectorXi::LinSpaced(128, 0, 127).unaryExpr([](int i) { return i % 10; });
  const repel::Bnn posterior(network, repel::CategoricalLikelihood{}, repel::NormalPrior{1.0}, x, labels);
  struct Setting {
    int torch;
    Index repel;
    std::vector<double> times, processor;
  };
  std::vector<Setting> settings{{1, 1, {}, {}}, {2, 1, {}, {}}, {1, 2, {}, {}}, {2, 2, {}, {}}};
  for (int round = -1; round < rounds; ++round)
    for (Setting& setting : settings) {
      torch::set_num_threads(setting.torch);
      repel::set_threads(setting.repel);
      auto target = posterior.target();
      Eigen::MatrixXf g;
      target(w, g);  // its modules are made
      const std::clock_t begin = std::clock();
      const double time = seconds([&] {
        for (int i = 0; i < 5; ++i) target(w, g);
      });
      if (round < 0) continue;
      setting.times.push_back(time / 5);
      setting.processor.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / 5);
    }
  std::printf(
      "gradients of 8 convolutional networks of %td weights, batch 128:\n"
      "| LibTorch's threads | repel's | ms | the fastest | processor time, ms |\n| --- | --- | --- | --- | --- |\n",
      network.parameters());
  for (const Setting& setting : settings)
    std::printf("| %d | %td | %.1f | %.1f | %.1f |\n", setting.torch, setting.repel, 1e3 * median(setting.times),
                1e3 * *std::min_element(setting.times.begin(), setting.times.end()), 1e3 * median(setting.processor));
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  repel::set_threads(1);
  torch::set_num_threads(1);
  compare(quick ? 1 : 5, quick ? 16 : 128, quick ? 3 : 11);
  threads(quick ? 3 : 15);
}
