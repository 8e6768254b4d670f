// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/network.hpp>
#include <repel/core/check.hpp>
#include <repel/core/description.hpp>
#include <repel/core/types.hpp>
#include <repel/torch/module.hpp>

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace repel {

/// Any torch::nn::Module as a network of bnn/network.hpp, in both spaces, float or double:
///
///   const repel::TorchNetwork network([] { return std::make_shared<Net>(); }, {1, 28, 28});
///   const repel::Bnn posterior(network, repel::CategoricalLikelihood{}, repel::NormalPrior{1.0}, x, y);
///
/// from a function that returns a new module (its holder or a std::shared_ptr), or from a module that can be cloned, such
/// as torch::nn::Sequential. The second argument is the shape of a point: a column of X holds its numbers in LibTorch's
/// order, so that X, inputs×p, is a tensor p×1×28×28 as it stands. forward(tensor) of the module must return p×outputs.
///
/// A particle holds the parameters in the order of named_parameters(), one shared by several layers once; those with
/// requires_grad false are no part of it, and keep the values of the first module made. Parameters are used where they
/// lie in the particle, without a copy. Modules run in evaluation mode: dropout does nothing, batch normalisation uses
/// its buffers (which are refused unless TorchBuffers::frozen is given, see torch/module.hpp).
///
/// Each of the passes under way has a module of its own, made when it is first needed: the graph that a forward pass
/// leaves refers to the parameters' variables. A backward pass releases the graph; another one, or one with W or X at
/// another address than in the forward pass, computes it anew. On threads see repel/torch.hpp.
template <class Net>
class TorchNetwork {
 public:
  /// From a module that can be cloned, or from a function that makes one, and the shape of a point.
  template <class Source>
  requires std::is_same_v<detail::TorchNetOf<Source>, Net> TorchNetwork(const Source& module_or_function,
                                                                        std::vector<std::int64_t> input_shape,
                                                                        TorchBuffers buffers = TorchBuffers::refuse)
      : shape_(std::move(input_shape)) {
    if (shape_.empty())
      detail::fail(kWhere, "input_shape is empty, but must be the shape of a point, such as {1, 28, 28}");
    for (const std::int64_t size : shape_) {
      if (size < 1)
        detail::fail(kWhere, "input_shape is ", detail::torch_shape(shape_), ", but all sizes must be at least 1");
      inputs_ *= static_cast<Index>(size);
    }
    modules_ = std::make_shared<const detail::TorchModules<Net>>(module_or_function, buffers);
    try_forward();
  }

  /// A module, and the graph of its last forward pass. Copies have modules of their own.
  template <class Scalar>
  struct Tape {
    Tape() = default;
    Tape(const Tape&) {}
    Tape& operator=(const Tape&) { return *this = Tape(); }
    Tape(Tape&&) noexcept = default;
    Tape& operator=(Tape&&) noexcept = default;
    ~Tape() = default;

    std::shared_ptr<const detail::TorchModules<Net>> maker;  ///< of the module: a tape may go to another network
    typename detail::TorchModules<Net>::Copy own;
    torch::Tensor outputs;  ///< with the graph behind it
    const Scalar* w = nullptr;
    const Scalar* x = nullptr;
    Index points = 0;
  };

  Index inputs() const { return inputs_; }
  Index outputs() const { return outputs_; }
  Index parameters() const { return modules_->count(); }

  /// One for each of the module's parameters, which it has by layer: parameters of one submodule. fan_in is the number of
  /// entries per entry of the first dimension (as LibTorch counts; of a transposed convolution it is the fan-out), for a
  /// bias that of the weights beside it, for other vectors, such as the scales of a normalisation, 1.
  std::vector<ParameterBlock> blocks() const {
    std::vector<ParameterBlock> blocks;
    std::vector<std::string> layers;
    const auto& all = modules_->parameters();
    for (const detail::TorchParameter& parameter : all) {
      const std::string layer = layer_of(parameter.name);
      const auto known = std::find(layers.begin(), layers.end(), layer);
      const auto number = static_cast<Index>(known - layers.begin());
      if (known == layers.end()) layers.push_back(layer);
      const bool bias = parameter.name.find("bias", layer.size()) != std::string::npos;
      Index fan_in = fan_in_of(parameter);
      if (bias && parameter.sizes.size() < 2)
        for (const detail::TorchParameter& other : all)
          if (other.sizes.size() >= 2 && layer_of(other.name) == layer) {
            fan_in = fan_in_of(other);
            break;
          }
      blocks.push_back({parameter.first, parameter.count, fan_in, number, bias});
    }
    return blocks;
  }

  /// The names of the parameters, in the order of blocks().
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const detail::TorchParameter& parameter : modules_->parameters()) names.push_back(parameter.name);
    return names;
  }

  /// The shapes of points and parameters, for files (repel/predictor.hpp). What the module does with them it cannot say:
  /// a file is loaded with the network that it was saved with, Predictor::load(path, network, likelihood).
  Description describe() const {
    const auto numbers = [](const auto& sizes) { return std::vector<double>(sizes.begin(), sizes.end()); };
    Description description("torch");
    description.add("point", numbers(shape_));
    for (const detail::TorchParameter& parameter : modules_->parameters())
      description.add("parameter " + parameter.name, numbers(parameter.sizes));
    return description;
  }

  template <class W, class X, class Scalar, class F>
  void forward(const W& w, const X& x, Tape<Scalar>& tape, F& f) const {
    record(w, x, tape);
    copy_outputs(tape.outputs, f);
  }

  /// forward() without a graph.
  template <class W, class X, class Scalar, class F>
  void evaluate(const W& w, const X& x, Tape<Scalar>& tape, F& f) const {
    const torch::NoGradGuard no_grad;
    copy_outputs(compute(w, x, tape), f);
  }

  template <class W, class X, class Scalar, class V, class G>
  void backward(const W& w, const X& x, Tape<Scalar>& tape, const V& v, G& g) const {
    if (!tape.outputs.defined() || tape.maker != modules_ || tape.w != w.data() || tape.x != x.data() ||
        tape.points != x.cols())
      record(w, x, tape);
    const torch::Tensor outputs = std::exchange(tape.outputs, {});
    prepare_thread();
    require_side_by_side("v", v);
    const auto gradients = detail::with_torch_errors(
        kWhere, [] { return "the module's backward pass failed"; },
        [&] {
          return torch::autograd::grad({outputs}, tape.own.parameters, {detail::torch_view(v.data(), outputs.sizes())},
                                       /*retain_graph=*/false, /*create_graph=*/false, /*allow_unused=*/true);
        });
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const detail::TorchParameter& parameter = modules_->parameters()[i];
      if (gradients[i].defined())
        g.segment(parameter.first, parameter.count) =
            Eigen::Map<const Vector<Scalar>>(gradients[i].contiguous().template data_ptr<Scalar>(), parameter.count);
      else  // not used in this pass
        g.segment(parameter.first, parameter.count).setZero();
    }
  }

  /// The parameters of a module of this kind, such as a pretrained one, as a particle.
  template <class Scalar = float, class Module>
  Vector<Scalar> parameters_of(const Module& module) const {
    Vector<Scalar> w(parameters());
    modules_->for_each(detail::torch_module(module), [&](const torch::Tensor& tensor, const auto& parameter) {
      const torch::Tensor values = tensor.detach().to(torch::kCPU, detail::torch_type<Scalar>()).contiguous();
      w.segment(parameter.first, parameter.count) =
          Eigen::Map<const Vector<Scalar>>(values.template data_ptr<Scalar>(), parameter.count);
    });
    return w;
  }

  /// Copies a particle into a module of this kind, with all that particles share (buffers, parameters that are not
  /// learned): in evaluation mode the module then computes what the network does.
  template <class Module, class W>
  void load(Module& module, const W& w) const {
    require_length(w);
    const Vector<typename W::Scalar> values = w;
    const torch::NoGradGuard no_grad;
    modules_->for_each(detail::torch_module(module), [&](torch::Tensor& tensor, const auto& parameter) {
      tensor.copy_(detail::torch_view(values.data() + parameter.first, parameter.sizes));
    });
    modules_->copy_fixed(const_cast<torch::nn::Module&>(detail::torch_module(std::as_const(module))));
  }

 private:
  static constexpr const char* kWhere = "TorchNetwork";

  /// The name of the submodule that has a parameter.
  static std::string layer_of(const std::string& name) {
    const auto dot = name.rfind('.');
    return dot == std::string::npos ? std::string() : name.substr(0, dot);
  }
  static Index fan_in_of(const detail::TorchParameter& parameter) {
    return parameter.sizes.size() < 2 ? 1 : parameter.count / static_cast<Index>(parameter.sizes[0]);
  }

  std::vector<std::int64_t> shape_of(Index points) const {
    std::vector<std::int64_t> shape{static_cast<std::int64_t>(points)};
    shape.insert(shape.end(), shape_.begin(), shape_.end());
    return shape;
  }

  static torch::Tensor run(Net& module, const torch::Tensor& x) {
    return detail::with_torch_errors(
        kWhere,
        [&] { return "the module's forward pass failed for points of shape " + detail::torch_shape(x.sizes()); },
        [&]() -> torch::Tensor { return module.forward(x); });
  }

  /// A thread that has not used LibTorch before takes over the number of threads set. Not all operations see to that
  /// themselves: oneDNN's convolutions would use all cores, and sum in another order.
  static void prepare_thread() { torch::get_num_threads(); }

  void try_forward() {
    const std::int64_t points = 2;
    auto own = modules_->make(modules_->type());
    const torch::AutoGradMode with_graph(true);
    const torch::Tensor x = torch::zeros(shape_of(points), modules_->type()), f = run(*own.module, x);
    const std::string given = "for points of shape " + detail::torch_shape(x.sizes());
    if (f.dim() != 2 || f.size(0) != points || f.size(1) < 1)
      detail::fail(kWhere, "the module's output ", given, " is ", detail::torch_shape(f.sizes()), ", but must be ",
                   points, "xoutputs: a row per point");
    if (!f.requires_grad())
      detail::fail(kWhere, "the module's output ", given, " does not depend on its parameters, but must");
    if (x._version() != 0)
      detail::fail(kWhere,
                   "the module changes its input, which is the user's data, but must not: its first operation must "
                   "not be one in place");
    outputs_ = static_cast<Index>(f.size(1));
  }

  template <class W, class X, class Scalar>
  void record(const W& w, const X& x, Tape<Scalar>& tape) const {
    const torch::AutoGradMode with_graph(true);
    tape.outputs = compute(w, x, tape);
    tape.w = w.data();
    tape.x = x.data();
    tape.points = x.cols();
  }

  /// The outputs, in a module whose parameters are those of w.
  template <class W, class X, class Scalar>
  torch::Tensor compute(const W& w, const X& x, Tape<Scalar>& tape) const {
    static_assert(std::is_same_v<typename W::Scalar, Scalar> && std::is_same_v<typename X::Scalar, Scalar>,
                  "repel::TorchNetwork: parameters and points must have the scalar type of the tape");
    require_length(w);
    require_side_by_side("w", w);
    require_side_by_side("x", x);
    if (x.rows() != inputs_)
      detail::fail(kWhere, "x has ", x.rows(), " rows, but must have ", inputs_, ", the numbers of a point of shape ",
                   detail::torch_shape(shape_));
    prepare_thread();
    tape.outputs.reset();  // its graph refers to the parameters that now change
    if (tape.maker != modules_) {
      tape.own = modules_->make(detail::torch_type<Scalar>());
      tape.maker = modules_;
    }
    for (std::size_t i = 0; i < tape.own.parameters.size(); ++i) {
      const detail::TorchParameter& parameter = modules_->parameters()[i];
      tape.own.parameters[i].set_data(detail::torch_view(w.data() + parameter.first, parameter.sizes));
    }
    const torch::Tensor f = run(*tape.own.module, detail::torch_view(x.data(), shape_of(x.cols())));
    if (f.dim() != 2 || f.size(0) != static_cast<std::int64_t>(x.cols()) ||
        f.size(1) != static_cast<std::int64_t>(outputs_))
      detail::fail(kWhere, "the module's output for ", x.cols(), " points is ", detail::torch_shape(f.sizes()),
                   ", but must be ", x.cols(), "x", outputs_);
    if (f.scalar_type() != detail::torch_type<Scalar>())
      detail::fail(kWhere, "the module's output is of type ", torch::toString(f.scalar_type()), ", but must be ",
                   torch::toString(detail::torch_type<Scalar>()), " like the particles");
    return f;
  }

  template <class F>
  static void copy_outputs(const torch::Tensor& outputs, F& f) {
    using Scalar = typename F::Scalar;
    const torch::Tensor values = outputs.detach().contiguous();
    f = Eigen::Map<const Matrix<Scalar>>(values.template data_ptr<Scalar>(), f.rows(), f.cols());
  }

  template <class W>
  void require_length(const W& w) const {
    if (w.size() != parameters())
      detail::fail(kWhere, "w has ", w.size(), " numbers, but must have ", parameters(),
                   ", the parameters of the module");
  }

  template <class M>
  static void require_side_by_side(const char* name, const M& matrix) {
    static_assert(!M::IsRowMajor || M::IsVectorAtCompileTime,
                  "repel::TorchNetwork: matrices must be stored by columns");
    if (matrix.innerStride() != 1 || (matrix.cols() > 1 && matrix.outerStride() != matrix.rows()))
      detail::fail(kWhere, name, " has gaps between its columns, but must be contiguous, as tensors are");
  }

  std::vector<std::int64_t> shape_;
  Index inputs_ = 1, outputs_ = 0;
  std::shared_ptr<const detail::TorchModules<Net>> modules_;
};
template <class Source>
TorchNetwork(const Source&, std::vector<std::int64_t>) -> TorchNetwork<detail::TorchNetOf<Source>>;
template <class Source>
TorchNetwork(const Source&, std::vector<std::int64_t>, TorchBuffers) -> TorchNetwork<detail::TorchNetOf<Source>>;

}  // namespace repel
