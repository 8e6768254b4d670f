#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

// A fully connected network whose weights are the particles: one column of a d×n matrix holds all parameters of one
// network, layer after layer, each as its weights (out×in, row by row, as PyTorch flattens them) and then its biases.
// All networks are evaluated in one call, in parallel over particles:
//
//   repel::Mlp network({1, 50, 50, 1}, repel::Activation::relu);     // widths, from the inputs to the outputs
//   repel::Mlp::Tape<double> tape;
//   network.forward(W, X, tape, F);           // X: inputs×p, a point per column; F: (outputs p)×n
//   network.backward(W, X, V, tape, G);       // G = Jᵀ V per particle: the vector–Jacobian product at those W and X
//
// Points are columns, so that every layer is one matrix product per particle. Buffers live in the tape: with unchanged
// sizes neither call allocates (but for Eigen's own products, which take memory for large layers).

namespace repel {

/// What stands between the layers; the last layer has none.
enum class Activation { identity, relu, tanh, gelu };

namespace detail {

/// x ← the activation of x, elementwise. Where the derivative cannot be told from the result (GELU), `slopes` receives
/// it.
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

/// delta ← delta times the activation's derivative, told from the activation's value x or from `slopes`.
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

class Mlp {
 public:
  /// One layer, and where its parameters stand in a particle.
  struct Layer {
    Index in, out;
    Index weights;  ///< offset of the out×in weights, row by row
    Index biases;   ///< offset of the biases
  };

  /// What a forward pass leaves for the backward pass, and scratch memory.
  template <class Scalar>
  struct Tape {
    Matrix<Scalar> hidden;  ///< a column per particle: the values of its hidden layers, layer after layer
    Matrix<Scalar> slopes;  ///< the same for their derivatives, where they are kept
    Matrix<Scalar> deltas;  ///< scratch, a column per thread
    Matrix<Scalar> output;  ///< scratch for gradient(), a column per thread
  };

  /// A matrix with a column per point, or per particle; not what Scalar is deduced from, so that anything that converts
  /// to it will do.
  template <class Scalar>
  using Points = std::type_identity_t<Matrix<Scalar>>;

  /// widths: the inputs, the units of every hidden layer, the outputs.
  explicit Mlp(std::vector<Index> widths, Activation activation = Activation::relu) : activation_(activation) {
    if (widths.size() < 2)
      detail::fail("Mlp", "widths has ", widths.size(), " entries, but needs at least 2: inputs and outputs");
    for (std::size_t l = 0; l < widths.size(); ++l)
      if (widths[l] < 1) detail::fail("Mlp", "widths[", l, "] is ", widths[l], ", but must be at least 1");
    for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
      const Index in = widths[l], out = widths[l + 1];
      layers_.push_back({in, out, parameters_, parameters_ + in * out});
      parameters_ += (in + 1) * out;
      if (l + 2 < widths.size()) widest_ = std::max(widest_, out);
    }
  }

  Index inputs() const { return layers_.front().in; }
  Index outputs() const { return layers_.back().out; }
  Index parameters() const { return parameters_; }
  Activation activation() const { return activation_; }
  const std::vector<Layer>& layers() const { return layers_; }

  /// Outputs of every particle at every point: F is (outputs p)×n, the outputs of the first point first. Nothing is
  /// kept for a way back.
  template <class W, class Scalar = typename W::Scalar>
  void evaluate(const W& w, const Points<Scalar>& x, Tape<Scalar>& tape, Matrix<Scalar>& f) const {
    require_fit(w, x);
    tape.hidden.resize(hidden_size(x.cols()), detail::thread_slots());
    f.resize(outputs() * x.cols(), w.cols());
    detail::parallel_for(w.cols(), work(x.cols()), [&](Index j, Index slot) {
      forward_one<Scalar>(w.col(j).data(), x, tape.hidden.col(slot).data(), nullptr, f.col(j).data());
    });
  }

  /// The same, keeping on the tape what backward() needs.
  template <class W, class Scalar = typename W::Scalar>
  void forward(const W& w, const Points<Scalar>& x, Tape<Scalar>& tape, Matrix<Scalar>& f) const {
    require_fit(w, x);
    const Index n = w.cols(), p = x.cols();
    tape.hidden.resize(hidden_size(p), n);
    tape.slopes.resize(keeps_slopes() ? hidden_size(p) : 0, n);
    f.resize(outputs() * p, n);
    detail::parallel_for(n, work(p), [&](Index j) {
      forward_one<Scalar>(w.col(j).data(), x, tape.hidden.col(j).data(), slopes_of(tape, j), f.col(j).data());
    });
  }

  /// G = Jᵀ V per particle, at the W and X of the last forward pass on this tape; V is (outputs p)×n, G is d×n.
  template <class W, class G, class Scalar = typename W::Scalar>
  void backward(const W& w, const Points<Scalar>& x, const Points<Scalar>& v, Tape<Scalar>& tape, G& g) const {
    require_fit(w, x);
    const Index n = w.cols(), p = x.cols();
    if (tape.hidden.rows() != hidden_size(p) || tape.hidden.cols() != n)
      detail::fail("Mlp", "backward was called for ", n, " particles at ", p,
                   " points, but must follow a forward pass on the same tape with the same particles and points");
    if (v.rows() != outputs() * p || v.cols() != n)
      detail::fail("Mlp", "V is ", v.rows(), "x", v.cols(), ", but must be ", outputs() * p, "x", n);
    tape.deltas.resize(2 * padded(widest_ * p), detail::thread_slots());
    g.resize(w.rows(), n);
    detail::parallel_for(n, 2 * work(p), [&](Index j, Index slot) {
      backward_one<Scalar>(w.col(j).data(), x, tape.hidden.col(j).data(), slopes_of(tape, j), v.col(j).data(),
                           tape.deltas.col(slot).data(), g.col(j).data());
    });
  }

  /// Both passes at once, particle by particle, so that a particle's values are still in the cache on the way back:
  /// slope(j, F) turns the outputs of particle j (outputs×p) into what is pulled back, in place; finish(j) may then add
  /// to column j of G.
  template <class W, class Slope, class Finish, class G, class Scalar = typename W::Scalar>
  void gradient(const W& w, const Points<Scalar>& x, Tape<Scalar>& tape, const Slope& slope, const Finish& finish,
                G& g) const {
    require_fit(w, x);
    const Index n = w.cols(), p = x.cols(), slots = detail::thread_slots();
    tape.hidden.resize(hidden_size(p), slots);
    tape.slopes.resize(keeps_slopes() ? hidden_size(p) : 0, slots);
    tape.deltas.resize(2 * padded(widest_ * p), slots);
    tape.output.resize(padded(outputs() * p), slots);
    g.resize(w.rows(), n);
    detail::parallel_for(n, 3 * work(p), [&](Index j, Index slot) {
      Scalar* hidden = tape.hidden.col(slot).data();
      Scalar* output = tape.output.col(slot).data();
      forward_one<Scalar>(w.col(j).data(), x, hidden, slopes_of(tape, slot), output);
      Eigen::Map<Matrix<Scalar>> f(output, outputs(), p);
      slope(j, f);
      backward_one<Scalar>(w.col(j).data(), x, hidden, slopes_of(tape, slot), output, tape.deltas.col(slot).data(),
                           g.col(j).data());
      finish(j);
    });
  }

 private:
  template <class Scalar>
  using In = Eigen::Map<const Matrix<Scalar>>;
  template <class Scalar>
  using Out = Eigen::Map<Matrix<Scalar>>;
  template <class Scalar>
  using Values = Eigen::Map<Eigen::Array<Scalar, Eigen::Dynamic, 1>>;

  bool keeps_slopes() const { return activation_ == Activation::gelu; }

  template <class Scalar>
  Scalar* slopes_of(Tape<Scalar>& tape, Index column) const {
    return keeps_slopes() ? tape.slopes.col(column).data() : nullptr;
  }

  /// Every layer's values start at a multiple of 64 bytes, whatever thread or particle they belong to: Eigen treats
  /// values before the first aligned address one by one, and its exp then differs in the last bit.
  static Index padded(Index size) { return (size + 15) / 16 * 16; }

  /// The room for the values of all hidden layers at so many points.
  Index hidden_size(Index points) const {
    Index size = 0;
    for (std::size_t l = 0; l + 1 < layers_.size(); ++l) size += padded(layers_[l].out * points);
    return size;
  }

  /// Multiply-adds of one forward pass of one particle.
  double work(Index points) const { return static_cast<double>(parameters_) * static_cast<double>(points); }

  template <class W, class X>
  void require_fit(const W& w, const X& x) const {
    static_assert(
        !W::IsRowMajor || W::IsVectorAtCompileTime,
        "repel::Mlp: particles must be stored column by column (Eigen's default), so that a network is contiguous");
    if (w.rows() != parameters_)
      detail::fail("Mlp", "W has ", w.rows(), " rows, but must have ", parameters_, ", the parameters of the network");
    if (x.rows() != inputs())
      detail::fail("Mlp", "X has ", x.rows(), " rows, but must have ", inputs(), ", the inputs of the network");
  }

  // Weights stand row by row, so in Eigen's column-major eyes they are the in×out transpose. Every product of one
  // particle runs within its thread.

  template <class Scalar>
  void forward_one(const Scalar* w, const Matrix<Scalar>& x, Scalar* hidden, Scalar* slopes, Scalar* f) const {
    const Index p = x.cols();
    const Scalar* below = x.data();
    Index room = 0;  // taken by the layers so far
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const Layer& layer = layers_[l];
      const bool last = l + 1 == layers_.size();
      Scalar* values = last ? f : hidden + room;
      Out<Scalar> out(values, layer.out, p);
      const In<Scalar> transposed(w + layer.weights, layer.in, layer.out), in(below, layer.in, p);
      const Eigen::Map<const Vector<Scalar>> biases(w + layer.biases, layer.out);
      if (layer.in == 1) {  // a product of depth one: not worth packing
        for (Index i = 0; i < p; ++i) out.col(i) = transposed.transpose() * in(0, i) + biases;
      } else {
        for (Index i = 0; i < p; ++i) out.col(i) = biases;  // faster than colwise() after the product
        out.noalias() += transposed.transpose() * in;
      }
      if (!last)
        detail::activate<Scalar>(activation_, Values<Scalar>(values, layer.out * p),
                                 slopes == nullptr ? nullptr : slopes + room);
      room += padded(layer.out * p);
      below = values;
    }
  }

  template <class Scalar>
  void backward_one(const Scalar* w, const Matrix<Scalar>& x, const Scalar* hidden, const Scalar* slopes,
                    const Scalar* v, Scalar* scratch, Scalar* g) const {
    const Index p = x.cols();
    const Scalar* delta_values = v;
    Index room = hidden_size(p);
    for (std::size_t l = layers_.size(); l-- > 0;) {
      const Layer& layer = layers_[l];
      if (l > 0) room -= padded(layer.in * p);
      const Scalar* below = l == 0 ? x.data() : hidden + room;
      const In<Scalar> delta(delta_values, layer.out, p), in(below, layer.in, p);
      Out<Scalar> weights(g + layer.weights, layer.in, layer.out);
      weights.noalias() = in * delta.transpose();
      Eigen::Map<Vector<Scalar>>(g + layer.biases, layer.out) = delta.rowwise().sum();
      if (l == 0) return;
      Scalar* next = scratch + (l % 2 == 0 ? 0 : padded(widest_ * p));  // never the one that delta stands in
      const In<Scalar> transposed(w + layer.weights, layer.in, layer.out);
      Out<Scalar>(next, layer.in, p).noalias() = transposed * delta;
      using Array = Eigen::Array<Scalar, Eigen::Dynamic, 1>;
      detail::activate_back<Scalar>(activation_, Eigen::Map<const Array>(below, layer.in * p),
                                    slopes == nullptr ? nullptr : slopes + room, Values<Scalar>(next, layer.in * p));
      delta_values = next;
    }
  }

  Activation activation_;
  std::vector<Layer> layers_;
  Index parameters_ = 0, widest_ = 0;
};

}  // namespace repel
