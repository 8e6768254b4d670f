// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/network.hpp>
#include <repel/core/check.hpp>
#include <repel/core/description.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// A fully connected network whose weights are the particles: one column of a d×n matrix holds all parameters of one
// network, layer after layer, each as its weights (out×in, row by row, as PyTorch flattens them) and then its biases.

namespace repel {

/// The activation between layers; the last layer has none.
enum class Activation { identity, relu, tanh, gelu };
/// The activations' names, in files and in options.
inline constexpr const char* kActivationNames[] = {"identity", "relu", "tanh", "gelu"};

namespace detail {

/// x ← the activation of x, elementwise. If the derivative cannot be had from the result (GELU), `slopes` gets it.
template <class Scalar>
void activate(Activation activation, Eigen::Ref<Eigen::Array<Scalar, Eigen::Dynamic, 1>> x, Scalar* slopes) {
  switch (activation) {
    case Activation::identity:
      return;
    case Activation::relu:
      x = x.max(Scalar(0));
      return;
    case Activation::tanh:
      if constexpr (std::is_same_v<Scalar, float>)
        x = x.tanh();
      else  // Eigen vectorises exp, but not tanh, in double; exact to 2e-16, though not in relative terms near 0
        x = 1 - 2 / ((2 * x.min(20)).exp() + 1);
      return;
    case Activation::gelu:  // x Φ(x), with the normal distribution function Φ
      for (Index i = 0; i < x.size(); ++i) {
        const Scalar z = x(i), phi = Scalar(0.5) * std::erfc(-z / std::numbers::sqrt2_v<Scalar>);
        const Scalar density =
            std::exp(Scalar(-0.5) * z * z) * std::numbers::inv_sqrtpi_v<Scalar> / std::numbers::sqrt2_v<Scalar>;
        x(i) = z * phi;
        if (slopes != nullptr) slopes[i] = phi + z * density;
      }
      return;
  }
}

/// delta ← delta times the activation's derivative, computed from the activation's value x or taken from `slopes`.
template <class Scalar>
void activate_back(Activation activation, Eigen::Ref<const Eigen::Array<Scalar, Eigen::Dynamic, 1>> x,
                   const Scalar* slopes, Eigen::Ref<Eigen::Array<Scalar, Eigen::Dynamic, 1>> delta) {
  switch (activation) {
    case Activation::identity:
      return;
    case Activation::relu:
      // 1 where x > 0, and 0 where it is 0 (x is never negative here), in a form that Eigen vectorises (select() is a
      // slow branch per value).
      delta *= (x * (1 / std::numeric_limits<Scalar>::min())).min(Scalar(1));
      return;
    case Activation::tanh:
      delta *= 1 - x.square();
      return;
    case Activation::gelu:
      delta *= Eigen::Map<const Eigen::Array<Scalar, Eigen::Dynamic, 1>>(slopes, delta.size());
      return;
  }
}

}  // namespace detail

/// A network of the concept in bnn/network.hpp: repel::Mlp({1, 50, 50, 1}, repel::Activation::relu).
class Mlp {
 public:
  static constexpr bool rounds_by_alignment = true;  ///< see Ensemble::see_aligned()

  /// One layer, and where its parameters are in a particle.
  struct Layer {
    Index in, out;  ///< widths
    Index weights;  ///< offset of the out×in weights, row by row
    Index biases;   ///< offset of the biases
  };

  /// The values of the hidden layers of one particle, layer after layer, and their derivatives if they are kept.
  template <class Scalar>
  struct Tape {
    Vector<Scalar> hidden, slopes;
  };

  /// widths: the inputs, the units of every hidden layer, the outputs.
  explicit Mlp(std::vector<Index> widths, Activation activation = Activation::relu) : activation_(activation) {
    if (widths.size() < 2)
      detail::fail("Mlp", "widths has ", widths.size(), " entries, but needs at least 2: inputs and outputs");
    for (std::size_t l = 0; l < widths.size(); ++l)
      if (widths[l] < 1) detail::fail("Mlp", "widths[", l, "] is ", widths[l], ", but must be at least 1");
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      const Index in = widths[l], out = widths[l + 1];
      constexpr Index most = std::numeric_limits<Index>::max() / 64;  // sizes in bytes, too, can be counted
      if (in >= most || out > (most - parameters_) / (in + 1))
        detail::fail("Mlp", "widths[", l, "] and widths[", l + 1, "] are ", in, " and ", out,
                     ", but a network must have fewer than ", most, " parameters");
      layers_.push_back({in, out, parameters_, parameters_ + in * out});
      parameters_ += (in + 1) * out;
      if (l + 2 < widths.size()) widest_ = std::max(widest_, out);
    }
  }

  /// The same network with a hidden layer, counted from 0, for the kernel to see (view::Features).
  Mlp with_features(Index hidden_layer) const {
    if (hidden_layer < 0 || hidden_layer + 1 >= static_cast<Index>(layers_.size()))
      detail::fail("Mlp::with_features", "hidden_layer is ", hidden_layer, ", but must be at least 0 and below ",
                   layers_.size() - 1, ", the number of hidden layers");
    Mlp copy = *this;
    copy.feature_layer_ = hidden_layer;
    return copy;
  }

  /// In words, for files: widths and activation.
  Description describe() const {
    std::vector<double> widths{static_cast<double>(inputs())};
    for (const Layer& layer : layers_) widths.push_back(static_cast<double>(layer.out));
    return Description("mlp").add("widths", widths).add("activation", kActivationNames[static_cast<int>(activation_)]);
  }
  static Mlp from(const Description& description) {
    detail::require_kind("Mlp", description, "mlp");
    std::vector<Index> widths;
    for (const double width : description.numbers("widths")) {
      if (!(width >= 1 && width < 1e9)) detail::fail("Mlp", "a width is ", width, ", but must be 1 to 1e9");
      widths.push_back(static_cast<Index>(width));
    }
    const std::string name = description.text("activation");
    for (int a = 0; a < 4; ++a)
      if (name == kActivationNames[a]) return Mlp(std::move(widths), static_cast<Activation>(a));
    detail::fail("Mlp", "activation is \"", name, "\", but must be identity, relu, tanh or gelu");
  }

  Index inputs() const { return layers_.front().in; }
  Index outputs() const { return layers_.back().out; }
  Index parameters() const { return parameters_; }
  Index features() const { return feature_layer_ < 0 ? 0 : layers_[static_cast<std::size_t>(feature_layer_)].out; }
  /// The activation of the hidden layers.
  Activation activation() const { return activation_; }
  /// The layers, from the inputs to the outputs.
  const std::vector<Layer>& layers() const { return layers_; }

  std::vector<ParameterBlock> blocks() const {
    std::vector<ParameterBlock> all;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Layer& layer = layers_[l];
      all.push_back({layer.weights, layer.in * layer.out, layer.in, static_cast<Index>(l), false});
      all.push_back({layer.biases, layer.out, layer.in, static_cast<Index>(l), true});
    }
    return all;
  }

  // Weights are stored row by row, so a column-major Eigen map sees their in×out transpose.

  template <class W, class Scalar, class F>
  void forward(const W& w, const Matrix<Scalar>& x, Tape<Scalar>& tape, F& f) const {
    const Index p = x.cols();
    tape.hidden.resize(hidden_size(p));
    tape.slopes.resize(keeps_slopes() ? hidden_size(p) : 0);
    const Scalar* below = x.data();
    Index at = 0;  // where the values of this layer begin
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Layer& layer = layers_[l];
      const bool last = l + 1 == layers_.size();
      Scalar* values = last ? f.data() : tape.hidden.data() + at;
      Eigen::Map<Matrix<Scalar>> out(values, layer.out, p);
      const In<Scalar> transposed(w.data() + layer.weights, layer.in, layer.out), in(below, layer.in, p);
      const Eigen::Map<const Vector<Scalar>> biases(w.data() + layer.biases, layer.out);
      if (layer.in == 1) {  // a product of depth one: not worth packing
        for (Index i = 0; i < p; ++i) out.col(i) = transposed.transpose() * in(0, i) + biases;
      } else {
        for (Index i = 0; i < p; ++i) out.col(i) = biases;  // faster than colwise() after the product
        out.noalias() += transposed.transpose() * in;
      }
      if (!last)
        detail::activate<Scalar>(activation_, detail::array_at(values, layer.out * p),
                                 keeps_slopes() ? tape.slopes.data() + at : nullptr);
      at += padded(layer.out * p);
      below = values;
    }
  }

  template <class W, class Scalar, class V, class G>
  void backward(const W& w, const Matrix<Scalar>& x, const Tape<Scalar>& tape, const V& v, G& g) const {
    go_back<Scalar>(w.data(), x, tape, v.data(), nullptr, g.data());
  }

  /// The hidden layer of with_features(), after its activation, from the forward pass's tape.
  template <class Scalar, class Z>
  void copy_features(const Tape<Scalar>& tape, Z& z) const {
    z = In<Scalar>(tape.hidden.data() + feature_offset(z.cols()), z.rows(), z.cols());
  }
  /// The same with a second slope, u, at the features.
  template <class W, class Scalar, class V, class U, class G>
  void backward(const W& w, const Matrix<Scalar>& x, const Tape<Scalar>& tape, const V& v, const U& u, G& g) const {
    go_back<Scalar>(w.data(), x, tape, v.data(), u.data(), g.data());
  }

 private:
  template <class Scalar>
  using In = Eigen::Map<const Matrix<Scalar>>;

  bool keeps_slopes() const { return activation_ == Activation::gelu; }

  /// Every layer's values start at a multiple of 64 bytes, whatever thread or particle they belong to: Eigen treats
  /// values before the first aligned address one by one, and its exp then differs in the last bit.
  static Index padded(Index size) { return (size + 15) / 16 * 16; }

  /// How many values the first `count` hidden layers have for this many points.
  Index hidden_size(Index points, std::size_t count) const {
    Index size = 0;
    for (std::size_t l = 0; l < count; ++l) size += padded(layers_[l].out * points);
    return size;
  }
  Index hidden_size(Index points) const { return hidden_size(points, layers_.size() - 1); }
  Index feature_offset(Index points) const { return hidden_size(points, static_cast<std::size_t>(feature_layer_)); }

  /// g = Jᵀ v, with u added to the gradient at the feature layer unless it is null.
  template <class Scalar>
  void go_back(const Scalar* w, const Matrix<Scalar>& x, const Tape<Scalar>& tape, const Scalar* v, const Scalar* u,
               Scalar* g) const {
    // Gradients at two neighbouring layers, in memory that stays in the thread's cache from particle to particle.
    static thread_local Vector<Scalar> scratch;
    const Index p = x.cols(), half = padded(widest_ * p);
    if (scratch.size() < 2 * half) scratch.resize(2 * half);
    const Scalar* delta_values = v;
    Index at = hidden_size(p);
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const Layer& layer = layers_[l];
      if (l > 0) at -= padded(layer.in * p);
      const Scalar* below = l == 0 ? x.data() : tape.hidden.data() + at;
      const In<Scalar> delta(delta_values, layer.out, p), in(below, layer.in, p);
      Eigen::Map<Matrix<Scalar>>(g + layer.weights, layer.in, layer.out).noalias() = in * delta.transpose();
      Eigen::Map<Vector<Scalar>>(g + layer.biases, layer.out) = delta.rowwise().sum();
      if (l == 0) return;
      Scalar* next = scratch.data() + (l % 2 == 0 ? 0 : half);  // never the half that holds delta
      const In<Scalar> transposed(w + layer.weights, layer.in, layer.out);
      Eigen::Map<Matrix<Scalar>>(next, layer.in, p).noalias() = transposed * delta;
      if (u != nullptr && static_cast<Index>(l) == feature_layer_ + 1)
        detail::array_at(next, layer.in * p) += detail::array_at(u, layer.in * p);
      detail::activate_back<Scalar>(activation_, detail::array_at(below, layer.in * p),
                                    keeps_slopes() ? tape.slopes.data() + at : nullptr,
                                    detail::array_at(next, layer.in * p));
      delta_values = next;
    }
  }

  Activation activation_;
  std::vector<Layer> layers_;
  Index parameters_ = 0, widest_ = 0, feature_layer_ = -1;
};

}  // namespace repel
