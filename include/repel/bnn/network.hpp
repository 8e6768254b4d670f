// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <concepts>
#include <vector>

// What a network is. A particle holds all parameters of one network, a vector; a network is a value that knows how to
// use them, one particle at a time (the library runs the particles in parallel, so its members are const and may be
// called from several threads). It has
//
//   inputs(), outputs()                 numbers per point, in and out
//   parameters()                        the length of a particle
//   blocks()                            a std::vector<ParameterBlock>: its layers, for priors and initial draws
//   template <class Scalar> struct Tape     what a forward pass leaves for the backward pass, and any scratch memory
//   forward(w, x, tape, f)              f, outputs×p, from the parameters w and the points x, inputs×p
//   backward(w, x, tape, v, g)          g = Jᵀ v, a vector like w, at the w and x of the last forward pass on this tape
//
// all on Eigen types with a column per point. A network whose hidden layer the kernel may see (view::Features) also has
//
//   features()                          numbers per point of that layer, 0 for none
//   copy_features(tape, z)              their values after a forward pass, features×p
//   backward(w, x, tape, v, u, g)       backward() with u, features×p, added to the gradient at that layer
//
// and one for which it is worth while
//
//   evaluate(w, x, tape, f)             forward() that leaves nothing for a backward pass
//
// docs/extending.md has a complete example with shared weights.

namespace repel {

/// Some parameters that belong together: the weights or the biases of a layer.
struct ParameterBlock {
  Index first, count;  ///< where they are in a particle
  Index fan_in;        ///< how many inputs a unit of the layer has
  Index layer;         ///< counted from 0
  bool bias = false;   ///< biases, not weights
};

/// A network: its forward and backward pass for one particle, and how its parameters are laid out.
template <class N, class Scalar>
concept Network = requires(const N& network, typename N::template Tape<Scalar>& tape,
                           const Eigen::Map<const Vector<Scalar>>& w, const Matrix<Scalar>& x,
                           Eigen::Map<Matrix<Scalar>>& f, const Eigen::Map<const Matrix<Scalar>>& v,
                           Eigen::Map<Vector<Scalar>>& g) {
  { network.inputs() } -> std::convertible_to<Index>;
  { network.outputs() } -> std::convertible_to<Index>;
  { network.parameters() } -> std::convertible_to<Index>;
  { network.blocks() } -> std::convertible_to<std::vector<ParameterBlock>>;
  network.forward(w, x, tape, f);
  network.backward(w, x, tape, v, g);
};

/// The number of features per point that a network exposes; 0 if it exposes none.
template <class N>
Index features_of(const N& network) {
  if constexpr (requires { network.features(); })
    return network.features();
  else
    return 0;
}

/// How many layers a network's blocks belong to.
template <class N>
Index layers_of(const N& network) {
  Index layers = 0;
  for (const ParameterBlock& block : network.blocks()) layers = block.layer >= layers ? block.layer + 1 : layers;
  return layers;
}

/// How many parameters each layer has, weights and biases together, in the order of a particle:
///
///   Calibrated{Kde{}, Calibration::blocks, 1.0, layer_blocks(network)}
///
/// A layer whose parameters are not side by side counts once for each of its parts.
template <class N>
std::vector<Index> layer_blocks(const N& network) {
  std::vector<ParameterBlock> blocks = network.blocks();
  std::sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Index> sizes;
  Index end = 0, layer = -1;
  for (const ParameterBlock& block : blocks) {
    if (block.first != end) break;
    if (block.layer != layer) sizes.push_back(0);
    sizes.back() += block.count;
    end += block.count;
    layer = block.layer;
  }
  if (end != network.parameters())
    detail::fail("layer_blocks", "the network's blocks must name each of its ", network.parameters(),
                 " parameters once, but do not from parameter ", end, " on");
  return sizes;
}

}  // namespace repel
