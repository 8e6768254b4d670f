#include <torch/torch.h>

#include <repel/torch.hpp>
#undef CHECK  // of LibTorch's logging; Catch2's is meant
#include "catch.hpp"
#include "support/folder.hpp"
#include "support/tolerance.hpp"

#include <repel/bnn.hpp>
#include <repel/checkpoint.hpp>
#include <repel/hmc.hpp>
#include <repel/metrics.hpp>
#include <repel/predictor.hpp>
#include <repel/repel.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace adapters_torch_test {

namespace {

using repel::Index;
using repel::Matrix;
using repel::Vector;
namespace nn = torch::nn;

nn::Sequential mlp() {
  return nn::Sequential(nn::Linear(3, 8), nn::Tanh(), nn::Linear(8, 5), nn::Tanh(), nn::Linear(5, 4));
}
repel::Mlp same_mlp() { return repel::Mlp({3, 8, 5, 4}, repel::Activation::tanh); }

/// A module that cannot be cloned.
struct Convolutional : nn::Module {
  nn::Conv2d convolution{nullptr}, mixing{nullptr};
  nn::Linear last{nullptr};
  Convolutional() {
    convolution = register_module("convolution", nn::Conv2d(nn::Conv2dOptions(2, 3, 3).stride(1)));
    mixing =
        register_module("mixing", nn::Conv2d(nn::Conv2dOptions(3, 3, 1)));  // its graph holds the weights themselves
    last = register_module("last", nn::Linear(3 * 3 * 2, 3));
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return last->forward(mixing(torch::tanh(convolution(x))).tanh().flatten(1));
  }
};
auto convolutional() {
  return repel::TorchNetwork([] { return std::make_shared<Convolutional>(); }, {2, 5, 4});
}

/// Something whose forward pass is any function, with one parameter and what `build` adds.
struct Any : nn::Module {
  using Forward = std::function<torch::Tensor(Any&, const torch::Tensor&)>;
  Forward pass;
  torch::Tensor scale;
  explicit Any(Forward f, const std::function<void(Any&)>& build = {}) : pass(std::move(f)) {
    scale = register_parameter("scale", torch::ones({1}));
    if (build) build(*this);
  }
  torch::Tensor forward(const torch::Tensor& x) { return pass(*this, x); }
};
auto any(Any::Forward pass, std::function<void(Any&)> build = {}) {
  return [pass, build] { return std::make_shared<Any>(pass, build); };
}
const auto kScaled = [](Any& self, const torch::Tensor& x) { return x * self.scale; };

template <class Scalar, class N>
auto classifier(const N& network, Index points = 12) {
  Eigen::VectorXi labels(points);
  for (Index i = 0; i < points; ++i) labels(i) = static_cast<int>(i % network.outputs());
  return repel::Bnn(network, repel::CategoricalLikelihood{}, repel::NormalPrior{1.0},
                    repel::normal<Scalar>(network.inputs(), points, 1), labels, repel::Minibatch{8, 3});
}

template <class Scalar>
struct Passes {
  Matrix<Scalar> evaluated, outputs, gradient;
};
template <class Scalar, class N>
Passes<Scalar> passes(const N& network, const Matrix<Scalar>& w, const Matrix<Scalar>& x) {
  repel::Ensemble<N, Scalar> ensemble(network);
  Passes<Scalar> p;
  ensemble.evaluate(w, x, p.evaluated);
  ensemble.forward(w, x, p.outputs);
  ensemble.backward(w, x, repel::normal<Scalar>(p.outputs.rows(), w.cols(), 5), p.gradient);
  return p;
}

template <class Sampler, class P>
P after(Sampler sampler, const P& start, Index steps) {
  auto state = sampler.init(start);
  const repel::Report report = repel::run(sampler, state, steps);
  CHECK(report.finished());
  return state.particles;
}

}  // namespace

TEMPLATE_TEST_CASE("a torch module is the network that Mlp is with the same weights", "[torch]", float, double) {
  const repel::TorchNetwork network(mlp(), {3});
  const repel::Mlp reference = same_mlp();
  REQUIRE(network.inputs() == 3);
  REQUIRE(network.outputs() == 4);
  REQUIRE(network.parameters() == reference.parameters());
  const auto blocks = network.blocks(), expected = reference.blocks();
  REQUIRE(blocks.size() == expected.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    CHECK(blocks[i].first == expected[i].first);
    CHECK(blocks[i].count == expected[i].count);
    CHECK(blocks[i].fan_in == expected[i].fan_in);
    CHECK(blocks[i].layer == expected[i].layer);
    CHECK(blocks[i].bias == expected[i].bias);
  }
  const double rounding = test::rounding<TestType>();
  const Matrix<TestType> w = repel::normal<TestType>(network.parameters(), 6, 2), x = repel::normal<TestType>(3, 9, 3);
  const auto ours = passes(reference, w, x), theirs = passes(network, w, x);
  CHECK(test::relative_error(theirs.evaluated, ours.evaluated) < rounding);
  CHECK(theirs.outputs == theirs.evaluated);
  CHECK(test::relative_error(theirs.gradient, ours.gradient) < rounding);

  const auto posterior = classifier<TestType>(network);
  const auto posterior_of_ours = classifier<TestType>(reference);
  const repel::Sgd sgd{.learning_rate = 0.01};
  const auto in_weights = [&](const auto& p) { return after(weight_space(p.target(), repel::Svgd{}, sgd), w, 3); };
  const auto in_functions = [&](const auto& p) {
    return after(function_space(p.functions(), repel::Wgd{repel::Kde{}}, sgd, {}, repel::view::Probabilities{}), w, 3);
  };
  CHECK(test::relative_error(in_weights(posterior), in_weights(posterior_of_ours)) < 10 * rounding);
  CHECK(test::relative_error(in_functions(posterior), in_functions(posterior_of_ours)) < 10 * rounding);
  CHECK(posterior.prior_draws(3, 4) == posterior_of_ours.prior_draws(3, 4));
  const auto seen = posterior.predict(w, x), seen_by_ours = posterior_of_ours.predict(w, x);
  CHECK(test::relative_error(seen.probabilities, seen_by_ours.probabilities) < rounding);
  const Eigen::VectorXi labels = Eigen::VectorXi::LinSpaced(9, 0, 8).unaryExpr([](int i) { return i % 4; });
  CHECK(repel::metrics::nll_of_mean_probability(seen.probabilities, labels) ==
        Approx(repel::metrics::nll_of_mean_probability(seen_by_ours.probabilities, labels)).epsilon(rounding));
}

TEST_CASE("a convolutional network's gradients are those of its log density", "[torch]") {
  const auto network = convolutional();
  CHECK(network.inputs() == 40);
  CHECK(network.names() == std::vector<std::string>{"convolution.weight", "convolution.bias", "mixing.weight",
                                                    "mixing.bias", "last.weight", "last.bias"});
  const auto blocks = network.blocks();
  CHECK(blocks[1].fan_in == 18);  // the bias has the inputs of its filters: 2 channels of 3×3
  CHECK(blocks[0].fan_in == 18);
  CHECK(blocks[2].layer == 1);
  CHECK(repel::layer_blocks(network) == std::vector<Index>{57, 12, 57});
  Eigen::VectorXi labels{{0, 1, 2, 2, 1, 0}};
  const repel::Bnn posterior(network, repel::CategoricalLikelihood{}, repel::NormalPrior{1.0}, repel::normal(40, 6, 1),
                             labels);
  const auto check = repel::check_gradient(posterior.target(), repel::normal(network.parameters(), 2, 2));
  INFO(check.message);
  CHECK(check.passed);
}

TEST_CASE("a point's numbers are in torch's order: channels, rows, columns", "[torch]") {
  const repel::TorchNetwork network(
      any([](Any& self, const torch::Tensor& x) { return x.select(1, 1).select(1, 2).slice(1, 0, 2) * self.scale; }),
      {2, 3, 2});
  Matrix<float> f(2, 2), x = Eigen::VectorXf::LinSpaced(24, 0, 23).reshaped(12, 2);
  repel::Ensemble<repel::TorchNetwork<Any>, float>(network).evaluate(Matrix<float>::Ones(1, 1), x, f);
  CHECK(f == Eigen::Vector4f(10, 11, 22, 23));
}

TEMPLATE_TEST_CASE("tapes of several particles live at once, and follow memory that moves", "[torch]", float, double) {
  const auto network = convolutional();
  using N = std::remove_const_t<decltype(network)>;
  Matrix<TestType> w = repel::normal<TestType>(network.parameters(), 5, 2), x = repel::normal<TestType>(40, 7, 3);
  const Matrix<TestType> v = repel::normal<TestType>(21, 5, 4), all = [&] {
    Matrix<TestType> g(w.rows(), w.cols()), f, one;
    for (Index j = 0; j < w.cols(); ++j) {
      repel::Ensemble<N, TestType> single(network);
      single.forward(w.col(j), x, f);
      single.backward(w.col(j), x, v.col(j), one);
      g.col(j) = one;
    }
    return g;
  }();
  repel::Ensemble<N, TestType> ensemble(network);
  Matrix<TestType> f, g;
  ensemble.forward(w, x, f);
  ensemble.backward(w, x, v, g);
  CHECK(g == all);
  g.setZero();
  ensemble.backward(w, x, v, g);  // again
  CHECK(g == all);

  // What was where the forward pass found it is gone.
  const Matrix<TestType> w_moved = w, x_moved = x;
  for (const bool of_w : {true, false}) {
    ensemble.forward(w, x, f);
    repel::Ensemble<N, TestType> copy = ensemble;
    (of_w ? w : x).setConstant(std::numeric_limits<TestType>::quiet_NaN());
    ensemble.backward(of_w ? w_moved : w, of_w ? x : x_moved, v, g);
    CHECK(g == all);
    copy.backward(w_moved, x_moved, v, g);
    CHECK(g == all);
    w = w_moved;
    x = x_moved;
  }

  // A tape used for something else in between.
  typename N::template Tape<TestType> tape;
  const Vector<TestType> first = w_moved.col(0), second = w_moved.col(1);
  Matrix<TestType> out(3, 7);
  Vector<TestType> slope(first.size());
  const Matrix<TestType> pulled = v.col(0).reshaped(3, 7);
  network.forward(first, x_moved, tape, out);
  network.evaluate(second, x_moved, tape, out);
  network.backward(first, x_moved, tape, pulled, slope);
  CHECK(slope == all.col(0));
}

TEST_CASE("evaluating keeps no graph, and a caller's NoGradGuard does no harm", "[torch]") {
  bool graph = false;
  const repel::TorchNetwork network(any([&](Any& self, const torch::Tensor& x) {
                                      graph = torch::GradMode::is_enabled();
                                      return x * self.scale;
                                    }),
                                    {1});
  repel::Ensemble<repel::TorchNetwork<Any>, double> ensemble(network);
  Matrix<double> f, g, w = Matrix<double>::Constant(1, 1, 3), x = Matrix<double>::Constant(1, 2, 5);
  ensemble.evaluate(w, x, f);
  CHECK_FALSE(graph);
  CHECK(f == Eigen::Vector2d(15, 15));
  const torch::NoGradGuard no_grad;
  ensemble.forward(w, x, f);
  CHECK(graph);
  ensemble.backward(w, x, f, g);
  CHECK(g(0, 0) == 150);
}

TEST_CASE("with torch on one thread there are the same bits for any number of repel's", "[torch][threads]") {
  torch::set_num_threads(1);
  const auto run = [](auto&& sampler, Index threads) {
    repel::set_threads(threads);
    auto state = sampler.init(repel::normal<float>(convolutional().parameters(), 7, 2));
    const repel::Report report = repel::run(sampler, state, 5);
    repel::set_threads(1);
    CHECK(report.finished());
    return state.particles;
  };
  const auto posterior = classifier<float>(convolutional(), 300);
  const repel::Bnn all(posterior.network(), repel::CategoricalLikelihood{}, repel::NormalPrior{1.0}, posterior.inputs(),
                       posterior.targets(), repel::Minibatch{250, 1});
  const auto in_weights = [&](Index threads) {
    return run(repel::weight_space(all.target(), repel::Svgd{}, repel::Adam{}), threads);
  };
  const auto in_functions = [&](Index threads) {
    return run(repel::function_space(all.functions(), repel::Wgd{repel::Kde{}}, repel::Adam{}), threads);
  };
  const Eigen::MatrixXf weights = in_weights(1), functions = in_functions(1);
  for (const Index threads : {2, 3, 8}) {
    CHECK(in_weights(threads) == weights);
    CHECK(in_functions(threads) == functions);
  }
}

TEST_CASE("a thread that begins with any pass keeps to torch's number of threads", "[torch][threads]") {
  torch::set_num_threads(1);
  const auto network = convolutional();
  using N = std::remove_const_t<decltype(network)>;
  const Vector<float> w = repel::normal<float>(network.parameters(), 1, 1);
  const Matrix<float> x = repel::normal<float>(40, 250, 2), v = repel::normal<float>(3, 250, 3);
  struct Result {
    N::Tape<float> tape;
    Matrix<float> outputs = Matrix<float>(3, 250), evaluated = outputs;
    Vector<float> gradient;
  };
  Result here, there;
  here.gradient.resize(w.size());
  there.gradient.resize(w.size());
  network.forward(w, x, here.tape, here.outputs);
  network.backward(w, x, here.tape, v, here.gradient);
  std::thread([&] { network.forward(w, x, there.tape, there.outputs); }).join();
  std::thread([&] { network.backward(w, x, there.tape, v, there.gradient); }).join();
  std::thread([&] { network.evaluate(w, x, there.tape, there.evaluated); }).join();
  CHECK(there.outputs == here.outputs);
  CHECK(there.evaluated == here.outputs);
  CHECK(there.gradient == here.gradient);
}

TEST_CASE("a state with a module's particles goes on from its checkpoint", "[torch]") {
  const test::Folder folder;
  auto sampler = repel::weight_space(classifier<float>(convolutional()).target(), repel::Svgd{}, repel::Adam{});
  auto whole = sampler.init(repel::he_draws<float>(convolutional(), 4, 1));
  auto parts = whole;
  REQUIRE(repel::run(sampler, whole, 10).finished());
  REQUIRE(repel::run(sampler, parts, 4).finished());
  repel::save_checkpoint(folder.path / "state", parts, "settings");
  auto again = sampler.init(repel::normal<float>(convolutional().parameters(), 4, 9));
  repel::resume_checkpoint(folder.path / "state", again, "settings");
  REQUIRE(again.step == 4);
  auto other = repel::weight_space(classifier<float>(convolutional()).target(), repel::Svgd{}, repel::Adam{});
  REQUIRE(repel::run(other, again, 6).finished());
  CHECK(again.particles == whole.particles);
}

TEST_CASE("an ensemble of modules ships, and goes with its own network only", "[torch][predictor]") {
  const test::Folder folder;
  const auto network = convolutional();
  const Eigen::MatrixXf w = repel::he_draws<float>(network, 4, 1), x = repel::normal<float>(40, 3, 2);
  repel::Predictor predictor(network, repel::CategoricalLikelihood{}, w);
  predictor.save(folder.path / "e.repel");
  using Loaded = decltype(predictor);
  Loaded loaded = Loaded::load(folder.path / "e.repel", convolutional(), repel::CategoricalLikelihood{});
  CHECK(loaded.predict(x).probabilities == predictor.predict(x).probabilities);
  using Other = repel::Predictor<repel::TorchNetwork<nn::SequentialImpl>, repel::CategoricalLikelihood, float>;
  CHECK_THROWS_WITH(
      Other::load(folder.path / "e.repel", repel::TorchNetwork(mlp(), {3}), repel::CategoricalLikelihood{}),
      contains("has another network: its point is \"2 5 4\", but this program's is \"3\""));
}

TEST_CASE("particles come from modules and go back into them", "[torch]") {
  const auto network = convolutional();
  auto module = std::make_shared<Convolutional>(), other = std::make_shared<Convolutional>();
  const Eigen::VectorXf w = network.parameters_of(module);
  CHECK(w.tail(3) == Eigen::Map<Eigen::Vector3f>(module->last->bias.data_ptr<float>()));
  CHECK(network.parameters_of<double>(*module).cast<float>() == w);
  network.load(other, w);
  CHECK(network.parameters_of(other) == w);
  const Eigen::MatrixXf x = repel::normal<float>(40, 3, 1);
  const torch::Tensor f = other->forward(torch::from_blob(const_cast<float*>(x.data()), {3, 2, 5, 4}));
  Eigen::MatrixXf ours;
  repel::Ensemble<repel::TorchNetwork<Convolutional>, float>(network).evaluate(w, x, ours);
  CHECK(ours == Eigen::Map<Eigen::MatrixXf>(f.contiguous().data_ptr<float>(), 9, 1));
  CHECK(other->last->bias.requires_grad());

  nn::Sequential holder = mlp();  // holders as well; and a network does not change with the module it was made from
  const repel::TorchNetwork of_holder(holder, {3});
  const Eigen::VectorXd ones = Eigen::VectorXd::Ones(of_holder.parameters());
  of_holder.load(holder, ones);
  CHECK(of_holder.parameters_of<double>(holder) == ones);
  CHECK_THROWS_WITH(of_holder.load(holder, w), contains("w has 126 numbers, but must have 101"));
  CHECK_THROWS_WITH(network.parameters_of(nn::Linear(2, 3)), contains("the module has 2 parameters, but must have 6"));
  CHECK_THROWS_WITH(repel::TorchNetwork(nn::Sequential(nn::Linear(3, 9), nn::Linear(9, 4), nn::Linear(4, 4)), {3})
                        .parameters_of(holder),
                    contains("the module's parameter 0.weight is 8x3, but must be 9x3"));
}

TEST_CASE("buffers are refused, or frozen by request", "[torch]") {
  const auto normalised = [] {
    nn::Sequential module(nn::Linear(2, 3), nn::BatchNorm1d(3), nn::Dropout(0.5), nn::Linear(3, 2));
    module[1]->as<nn::BatchNorm1d>()->running_mean.uniform_();  // other values in every module that is made
    return module;
  };
  CHECK_THROWS_WITH(
      repel::TorchNetwork(normalised, {2}),
      contains("the module has the buffer 1.running_mean, but must have none") && contains("TorchBuffers::frozen"));
  const repel::TorchNetwork network(normalised, {2}, repel::TorchBuffers::frozen);
  const auto blocks = network.blocks();
  REQUIRE(blocks.size() == 6);
  CHECK(blocks[2].fan_in == 1);  // the scales of the normalisation
  CHECK_FALSE(blocks[2].bias);
  CHECK(blocks[3].bias);
  CHECK(blocks[3].layer == 1);
  using N = std::remove_const_t<decltype(network)>;
  const Matrix<float> w = repel::normal<float>(network.parameters(), 1, 1).replicate(1, 3),
                      x = repel::normal<float>(2, 9, 2);
  repel::Ensemble<N, float> ensemble(network);
  Matrix<float> f, g, later;
  ensemble.forward(w, x, f);  // three modules
  CHECK(f.col(1) == f.col(0));
  CHECK(f.col(2) == f.col(0));
  ensemble.backward(w, x, f, g);
  ensemble.forward(w, x, later);
  CHECK(later == f);  // no pass has changed the buffers, none has dropped out
  Matrix<double> in_double;
  repel::Ensemble<N, double>(network).evaluate(w.cast<double>(), x.cast<double>(), in_double);
  CHECK(test::relative_error(f, in_double) < test::rounding<float>());
  nn::Sequential module = normalised();
  module->eval();
  network.load(module, w.col(0));
  const torch::Tensor theirs = module->forward(torch::from_blob(const_cast<float*>(x.data()), {9, 2}));
  CHECK(f.col(0) == Eigen::Map<Eigen::VectorXf>(theirs.contiguous().data_ptr<float>(), 18));
}

TEST_CASE("parameters that are not learnt stay out of a particle, shared ones are in it once", "[torch]") {
  const auto some = [] {
    nn::Sequential module = mlp();
    module[0]->as<nn::Linear>()->weight.set_requires_grad(false);
    return module;
  };
  const auto check = [](const auto& network) {
    CHECK(network.parameters() == 101 - 24);
    CHECK(network.names().front() == "0.bias");
    repel::Ensemble<repel::TorchNetwork<nn::SequentialImpl>, double> ensemble(network);
    const Matrix<double> w = repel::normal(77, 1, 1).replicate(1, 2), x = repel::normal(3, 5, 1);
    Matrix<double> f, g;
    ensemble.forward(w, x, f);
    CHECK(f.col(0) == f.col(1));
    ensemble.backward(w, x, f, g);
    CHECK(g.col(0) == g.col(1));
  };
  check(repel::TorchNetwork(some, {3}));

  const repel::TorchNetwork tied(any([](Any& self, const torch::Tensor& x) { return x * self.scale * self.scale; },
                                     [](Any& self) { self.register_parameter("again", self.scale); }),
                                 {1});
  CHECK(tied.names() == std::vector<std::string>{"scale"});
  const auto p = passes<double>(tied, Matrix<double>::Constant(1, 1, 3), Matrix<double>::Constant(1, 1, 2));
  CHECK(p.outputs(0, 0) == 18);
  CHECK(p.gradient(0, 0) == Approx(12 * repel::normal(1, 1, 5)(0, 0)));

  const repel::TorchNetwork unused(any(kScaled, [](Any& self) { self.register_parameter("idle", torch::ones({2})); }),
                                   {1});
  CHECK(passes<double>(unused, Matrix<double>::Ones(3, 1), Matrix<double>::Ones(1, 1)).gradient.bottomRows(2).isZero());
}

TEST_CASE("modules that cannot be networks are refused with the reason", "[torch]") {
  using repel::TorchNetwork;
  CHECK_THROWS_WITH(TorchNetwork(mlp(), {}), contains("input_shape is empty"));
  CHECK_THROWS_WITH(TorchNetwork(mlp(), {3, 0}), contains("input_shape is 3x0, but all sizes must be at least 1"));
  CHECK_THROWS_WITH(TorchNetwork(nn::Sequential(nn::Tanh()), {3}), contains("the module has no parameters"));
  CHECK_THROWS_WITH(TorchNetwork(std::shared_ptr<Convolutional>(), {3}), contains("the module is empty"));
  CHECK_THROWS_WITH(TorchNetwork([] { return std::shared_ptr<Convolutional>(); }, {3}), contains("returned none"));
  CHECK_THROWS_WITH(TorchNetwork(std::make_shared<Convolutional>(), {2, 5, 4}),
                    contains("the module cannot be copied; give a function that makes one instead"));
  // What LibTorch says reaches the user as a sentence, without the list of its functions.
  CHECK_THROWS_AS(TorchNetwork(mlp(), {7}), std::invalid_argument);
  CHECK_THROWS_WITH(TorchNetwork(mlp(), {7}),
                    contains("repel::TorchNetwork: the module's forward pass failed for points of shape 2x7: mat1 and "
                             "mat2 shapes cannot be multiplied (2x7 and 3x8)") &&
                        !contains("frame #"));
  CHECK_THROWS_WITH(TorchNetwork(mlp(), {4, 3}), contains("for points of shape 2x4x3 is 2x4x4, but must be 2xoutputs"));
  CHECK_THROWS_WITH(TorchNetwork(any([](Any& self, const torch::Tensor& x) { return (x * self.scale).sum(); }), {3}),
                    contains("is a single number, but must be 2xoutputs"));
  CHECK_THROWS_WITH(TorchNetwork(any([](Any&, const torch::Tensor& x) { return x * 2; }), {3}),
                    contains("does not depend on its parameters"));
  CHECK_THROWS_WITH(TorchNetwork(any([](Any& self, const torch::Tensor& x) {
                                   torch::Tensor(x).relu_();
                                   return x * self.scale;
                                 }),
                                 {3}),
                    contains("the module changes its input"));
  CHECK_THROWS_WITH(
      TorchNetwork(
          any(kScaled, [](Any& self) { self.register_parameter("index", torch::ones({2}, torch::kLong), false); }),
          {3}),
      contains("the parameter index is of type Long, but must be of a floating-point type"));
  CHECK_THROWS_WITH(TorchNetwork(any(kScaled,
                                     [](Any& self) {
                                       self.register_parameter("turned", torch::ones({2, 3}).t());
                                     }),
                                 {3}),
                    contains("the parameter turned of 3x2 is not contiguous"));
  CHECK_THROWS_WITH(TorchNetwork(any([](Any& self, const torch::Tensor& x) { return x * self.scale; },
                                     [made = std::make_shared<int>(0)](Any& self) {
                                       if (++*made > 1) self.register_parameter("more", torch::ones({1}));
                                     }),
                                 {3}),
                    contains("the module has 2 parameters, but must have 1"));

  // Later: passes that do not fit.
  const TorchNetwork network(mlp(), {3});
  TorchNetwork<nn::SequentialImpl>::Tape<float> tape;
  Matrix<float> f(4, 2), x = Matrix<float>::Ones(3, 2), wide = Matrix<float>::Ones(6, 2);
  Vector<float> w = Vector<float>::Ones(101);
  CHECK_THROWS_WITH(network.forward(w.head(100), x, tape, f), contains("w has 100 numbers, but must have 101"));
  CHECK_THROWS_WITH(network.forward(w, wide, tape, f), contains("x has 6 rows, but must have 3"));
  CHECK_THROWS_WITH(network.forward(w, wide.topRows(3), tape, f), contains("x has gaps between its columns"));
  const TorchNetwork moody(any([](Any& self, const torch::Tensor& x_) {
                             return x_.size(0) == 2 ? x_ * self.scale : (x_ * self.scale).flatten();
                           }),
                           {1});
  TorchNetwork<Any>::Tape<float> other;
  const Vector<float> one = Vector<float>::Ones(1);
  Matrix<float> three = Matrix<float>::Ones(1, 3), out(1, 3);
  CHECK_THROWS_WITH(moody.forward(one, three, other, out),
                    contains("the module's output for 3 points is 3, but must be 3x1"));
  const TorchNetwork always_double(
      any([](Any& self, const torch::Tensor& x_) { return (x_ * self.scale).to(torch::kDouble); }), {1});
  CHECK_THROWS_WITH(always_double.forward(one, three, other, out),
                    contains("the module's output is of type Double, but must be Float"));
}

// --- log densities on tensors --------------------------------------------------------------------------------------

namespace {

struct Gaussian {
  Eigen::Vector2d mean{-0.7, 0.8};
  Eigen::Matrix2d covariance{{1.1, 0.8}, {0.8, 3.4}};

  auto target() const {
    const Eigen::Matrix2d p = covariance.inverse();
    const torch::Tensor m = torch::tensor({mean(0), mean(1)}, torch::kDouble),
                        precision = torch::tensor({{p(0, 0), p(0, 1)}, {p(1, 0), p(1, 1)}}, torch::kDouble);
    return repel::torch_target([m, precision](const torch::Tensor& w) {
      const torch::Tensor r = w - m.to(w.dtype());
      return -0.5 * (r.matmul(precision.to(w.dtype())) * r).sum(1);
    });
  }
};

}  // namespace

TEMPLATE_TEST_CASE("a log density on tensors has the gradient of its Gaussian", "[torch]", float, double) {
  const Gaussian gaussian;
  auto target = gaussian.target();
  const Matrix<TestType> w = repel::normal<TestType>(2, 9, 1, 2);
  const Eigen::MatrixXd r = w.template cast<double>().colwise() - gaussian.mean, e = gaussian.covariance.inverse() * r;
  const Eigen::VectorXd log_p = -0.5 * r.cwiseProduct(e).colwise().sum().transpose();
  Matrix<TestType> g, again;
  Eigen::VectorXd values, both;
  target(w, g);
  target.log_density(w, values);
  target.value_and_gradient(w, again, both);
  CHECK(test::relative_error(g, -e) < test::rounding<TestType>());
  CHECK(test::relative_error(values, log_p) < test::rounding<TestType>());
  CHECK(again == g);
  CHECK(both == values);
  CHECK(repel::check_gradient(target, w.leftCols(2)).passed);
  const Matrix<TestType> wide = w.replicate(2, 1);  // columns with gaps, and rows
  target(wide.topRows(2), again);
  CHECK(again == g);
  const Eigen::Matrix<TestType, 2, Eigen::Dynamic, Eigen::RowMajor> by_rows = w;
  target(by_rows, again);
  CHECK(again == g);
  const torch::NoGradGuard no_grad;
  target(w, again);
  CHECK(again == g);
}

TEST_CASE("particles and NUTS sample a density on tensors", "[torch]") {
  const Gaussian gaussian;
  const auto compare = [&](const Eigen::MatrixXd& draws, double allowed) {
    const Eigen::Vector2d mean = draws.rowwise().mean();
    const Eigen::MatrixXd c = draws.colwise() - mean;
    CHECK((mean - gaussian.mean).norm() < allowed);
    CHECK(test::relative_error(c * c.transpose() / static_cast<double>(draws.cols() - 1), gaussian.covariance) <
          allowed);
  };
  const auto result = repel::sample(gaussian.target(), 2, repel::SampleOptions{.particles = 100, .seed = 1});
  INFO(result.report.message);
  compare(result.particles, 0.05);
  const auto chains = repel::nuts(gaussian.target(), repel::normal(2, 4, 2), repel::Nuts{.samples = 1000});
  compare(chains.draws, 0.15);
  const auto positive = repel::constrained(
      repel::torch_target([](const torch::Tensor& x) { return (x.log() - x).sum(1); }), repel::positive());  // Γ(2)
  CHECK(repel::sample(positive, 1).particles.array().exp().mean() == Approx(2).epsilon(0.05));
}

namespace {

struct Batches {
  double centre = 0;
  void begin_step(Index step) { centre = static_cast<double>(step); }
  torch::Tensor operator()(const torch::Tensor& w) const { return -0.5 * (w - centre).square().sum(1); }
};

}  // namespace

TEST_CASE("a density on tensors is told of steps, and its mistakes have names", "[torch]") {
  Batches batches;
  for (const bool by_reference : {false, true}) {
    const auto walk = [](auto target) {
      auto sampler = repel::weight_space(target, repel::PlainEnsemble{}, repel::Sgd{.learning_rate = 1.0});
      auto state = sampler.init(Eigen::MatrixXd::Constant(1, 3, 100.0));
      for (int step = 0; step < 4; ++step) {
        sampler.step(state);
        CHECK(state.particles.isApproxToConstant(step));
      }
    };
    if (by_reference)
      walk(repel::torch_target(std::ref(batches)));
    else
      walk(repel::torch_target(Batches{}));
  }
  CHECK(batches.centre == 3);

  Eigen::MatrixXd g(2, 3);
  Eigen::VectorXd values;
  const Eigen::MatrixXd w{{1.0, 2.0, -1.0}, {1.0, 1.0, 1.0}};
  auto log = repel::torch_target([](const torch::Tensor& x) { return x.log().sum(1); });
  log.value_and_gradient(w, g, values);
  CHECK(g.leftCols(2) == Eigen::MatrixXd{{1.0, 0.5}, {1.0, 1.0}});
  CHECK(std::isnan(g(0, 2)));
  CHECK(std::isnan(values(2)));
  auto sampler = repel::weight_space(log, repel::Svgd{});
  auto state = sampler.init(w);
  CHECK_FALSE(repel::run(sampler, state, 5).finished());

  const auto wrong = [&](auto density) {
    auto target = repel::torch_target(density);
    target(w, g);
  };
  using torch::Tensor;
  CHECK_THROWS_WITH(wrong([](const Tensor& x) { return x.square().sum(); }),
                    contains("returned a single number for w of 3x2, but must return 3 numbers"));
  CHECK_THROWS_WITH(wrong([](const Tensor& x) { return x.square().sum(0); }), contains("returned 2 for w of 3x2"));
  CHECK_THROWS_WITH(wrong([](const Tensor& x) { return x.square().sum(1, true); }), contains("returned 3x1"));
  CHECK_THROWS_WITH(wrong([](const Tensor& x) { return torch::zeros({x.size(0)}); }), contains("does not depend on w"));
  CHECK_THROWS_WITH(wrong([](const Tensor& x) { return torch::ones({x.size(0)}).set_requires_grad(true) * 2; }),
                    contains("does not depend on w"));
  CHECK_THROWS_WITH(wrong([](const Tensor& x) { return (x > 0).sum(1); }), contains("numbers of type Long"));
  CHECK_THROWS_WITH(wrong([](const Tensor& x) { return x.matmul(torch::ones({3}, torch::kDouble)); }),
                    contains("repel::torch_target: the log density failed for 3x2 (particles x dimension): ") &&
                        !contains("frame #"));
}

}  // namespace adapters_torch_test
