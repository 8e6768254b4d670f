#pragma once

#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>

// Residual networks for CIFAR's 3×32×32 pictures (He et al. 2016, section 4.2) without batch normalisation, whose running
// means are no parameters of a posterior: 3 stages of 16, 32 and 64 channels.

namespace example {

/// x + two 3×3 convolutions of x. Where the number of channels grows and the picture shrinks, x is taken at every other
/// pixel and filled up by zeros, which takes no parameters (the paper's option A).
struct ResidualBlockImpl : torch::nn::Module {
  torch::nn::Conv2d first{nullptr}, second{nullptr};
  std::int64_t stride, added;

  ResidualBlockImpl(std::int64_t in, std::int64_t out, std::int64_t step) : stride(step), added(out - in) {
    first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).stride(step).padding(1)));
    second = register_module("second", torch::nn::Conv2d(torch::nn::Conv2dOptions(out, out, 3).padding(1)));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    torch::Tensor same = x;
    if (stride > 1) same = same.slice(2, 0, {}, stride).slice(3, 0, {}, stride);
    if (added > 0) same = torch::constant_pad_nd(same, {0, 0, 0, 0, added / 2, added - added / 2});
    return torch::relu(second(torch::relu(first(x))) + same);
  }
};
TORCH_MODULE(ResidualBlock);

/// blocks: in each stage; 1 is ResNet8, 3 ResNet20, 5 ResNet32.
struct ResNetImpl : torch::nn::Module {
  torch::nn::Conv2d first{nullptr};
  torch::nn::Sequential stages;
  torch::nn::Linear last{nullptr};

  explicit ResNetImpl(int blocks, std::int64_t classes = 10) {
    first = register_module("first", torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 16, 3).padding(1)));
    std::int64_t in = 16;
    for (const std::int64_t out : {16, 32, 64})
      for (int block = 0; block < blocks; ++block) {
        stages->push_back(ResidualBlock(in, out, block == 0 && out > 16 ? 2 : 1));
        in = out;
      }
    register_module("stages", stages);
    last = register_module("last", torch::nn::Linear(in, classes));
  }
  torch::Tensor forward(const torch::Tensor& x) { return last(stages->forward(torch::relu(first(x))).mean({2, 3})); }
};
TORCH_MODULE(ResNet);

}  // namespace example
