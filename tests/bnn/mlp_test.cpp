#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/bnn/ensemble.hpp>
#include <repel/bnn/mlp.hpp>
#include <repel/core/random.hpp>

#include <cmath>

namespace bnn_mlp_test {

namespace {

using repel::Activation;
using repel::Index;

double activate(Activation a, double z) {
  switch (a) {
    case Activation::identity:
      return z;
    case Activation::relu:
      return z > 0 ? z : 0;
    case Activation::tanh:
      return std::tanh(z);
    case Activation::gelu:
      return 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
  }
  return 0;
}

/// The outputs of one particle at one point, by plain loops over the layout that the header promises.
Eigen::VectorXd plain_forward(const std::vector<Index>& widths, Activation a, const Eigen::VectorXd& w,
                              Eigen::VectorXd x) {
  Index at = 0;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const Index in = widths[l], out = widths[l + 1];
    Eigen::VectorXd z(out);
    for (Index o = 0; o < out; ++o) {
      z(o) = w(at + in * out + o);
      for (Index i = 0; i < in; ++i) z(o) += w(at + o * in + i) * x(i);
      if (l + 2 < widths.size()) z(o) = activate(a, z(o));
    }
    at += (in + 1) * out;
    x = z;
  }
  return x;
}

/// All outputs of all particles, (outputs p)×n.
Eigen::MatrixXd plain_outputs(const std::vector<Index>& widths, Activation a, const Eigen::MatrixXd& w,
                              const Eigen::MatrixXd& x) {
  Eigen::MatrixXd f(widths.back() * x.cols(), w.cols());
  for (Index j = 0; j < w.cols(); ++j)
    for (Index i = 0; i < x.cols(); ++i)
      f.col(j).segment(i * widths.back(), widths.back()) = plain_forward(widths, a, w.col(j), x.col(i));
  return f;
}

/// The dense Jacobian of one particle, by central differences: (outputs p)×d. Steps of 1e-6 leave about 1e-9; ReLU is
/// smooth but on a set that random weights do not hit.
Eigen::MatrixXd jacobian(const std::vector<Index>& widths, Activation a, const Eigen::VectorXd& w,
                         const Eigen::MatrixXd& x) {
  Eigen::MatrixXd out(widths.back() * x.cols(), w.size());
  for (Index k = 0; k < w.size(); ++k) {
    Eigen::VectorXd up = w, down = w;
    up(k) += 1e-6;
    down(k) -= 1e-6;
    out.col(k) = (plain_outputs(widths, a, up, x) - plain_outputs(widths, a, down, x)) / 2e-6;
  }
  return out;
}

template <class Scalar>
void check_passes(const std::vector<Index>& widths, Activation activation) {
  const repel::Mlp network(widths, activation);
  const Index n = 4, p = 7;
  const Eigen::MatrixXd w = repel::normal(network.parameters(), n, 1, 0.7), x = repel::normal(widths.front(), p, 2);
  const Eigen::MatrixXd v = repel::normal(widths.back() * p, n, 3);
  const repel::Matrix<Scalar> ws = w.cast<Scalar>(), xs = x.cast<Scalar>(), vs = v.cast<Scalar>();
  CAPTURE(static_cast<int>(activation), widths.size(), sizeof(Scalar));

  repel::Ensemble<repel::Mlp, Scalar> ensemble(network), other(network);
  repel::Matrix<Scalar> f, g, f_only, g_both;
  ensemble.forward(ws, xs, f);
  CHECK(test::relative_error(f, plain_outputs(widths, activation, w, x)) < test::rounding<Scalar>());

  ensemble.backward(ws, xs, vs, g);
  Eigen::MatrixXd expected(network.parameters(), n);
  for (Index j = 0; j < n; ++j) expected.col(j) = jacobian(widths, activation, w.col(j), x).transpose() * v.col(j);
  CHECK(test::relative_error(g, expected) < (sizeof(Scalar) == 4 ? 2e-5 : 1e-8));

  // Both passes at once and the forward pass alone give the same bits.
  other.evaluate(ws, xs, f_only);
  CHECK(f_only == f);
  other.gradient(
      ws, xs, [&](Index j, auto& outputs) { outputs = vs.col(j).reshaped(outputs.rows(), outputs.cols()); },
      [](Index) {}, g_both);
  CHECK(g_both == g);
}

}  // namespace

TEST_CASE("a network and its Jacobian products agree with plain loops and finite differences", "[bnn]") {
  for (const auto activation : {Activation::identity, Activation::relu, Activation::tanh, Activation::gelu}) {
    for (const auto& widths : {std::vector<Index>{3, 2}, {1, 5, 1}, {2, 9, 6, 3}, {3, 4, 8, 5, 2}}) {
      check_passes<double>(widths, activation);
      check_passes<float>(widths, activation);
    }
  }
}

TEST_CASE("activations hold at extreme values", "[bnn]") {
  for (const auto activation : {Activation::relu, Activation::tanh, Activation::gelu}) {
    const repel::Mlp network({1, 1, 1}, activation);
    for (const double z : {-1e4, -40.0, -1e-3, 0.0, 1e-300, 1e-3, 40.0, 1e4}) {
      Eigen::MatrixXd w(4, 1), f, g, v = Eigen::MatrixXd::Ones(1, 1);
      w << 1, 0, 1, 0;  // f = activation(x)
      repel::Ensemble<repel::Mlp, double> ensemble(network);
      ensemble.forward(w, Eigen::MatrixXd::Constant(1, 1, z), f);
      CAPTURE(static_cast<int>(activation), z);
      CHECK(f(0) == Approx(activate(activation, z)).margin(1e-16).epsilon(1e-12));
      ensemble.backward(w, Eigen::MatrixXd::Constant(1, 1, z), v, g);
      CHECK(g.allFinite());
      if (activation == Activation::relu) CHECK(g(1) == (z > 0 ? Approx(1).margin(z < 1e-290 ? 1 : 0) : Approx(0)));
    }
  }
}

TEST_CASE("a network that cannot be is refused", "[bnn]") {
  CHECK_THROWS_WITH(repel::Mlp({3}), contains("widths has 1 entries, but needs at least 2"));
  CHECK_THROWS_WITH(repel::Mlp({3, 0, 1}), contains("widths[1] is 0, but must be at least 1"));
  repel::Ensemble<repel::Mlp, double> ensemble(repel::Mlp({2, 3, 1}));
  Eigen::MatrixXd f, g;
  const Eigen::MatrixXd w = repel::normal(13, 2, 1), x = repel::normal(2, 5, 1);
  CHECK_THROWS_WITH(ensemble.forward(repel::normal(5, 2, 1), x, f), contains("W has 5 rows, but must have 13"));
  CHECK_THROWS_WITH(ensemble.forward(w, repel::normal(3, 5, 1), f), contains("X has 3 rows, but must have 2"));
  CHECK_THROWS_WITH(ensemble.backward(w, x, f, g), contains("must follow forward()"));
  ensemble.forward(w, x, f);
  CHECK_THROWS_WITH(ensemble.backward(w, x, repel::normal(4, 2, 1), g), contains("V is 4x2, but must be 5x2"));
  CHECK_THROWS_WITH(repel::Mlp({2, 3, 1}).with_features(1),
                    contains("hidden_layer is 1, but must be at least 0 and below 1"));
}

TEST_CASE("blocks name every parameter once, with its layer and fan-in", "[bnn]") {
  const repel::Mlp network({3, 4, 2});
  std::vector<int> seen(static_cast<std::size_t>(network.parameters()), 0);
  for (const repel::ParameterBlock& block : network.blocks()) {
    for (Index i = block.first; i < block.first + block.count; ++i) ++seen[static_cast<std::size_t>(i)];
    CHECK(block.fan_in == (block.layer == 0 ? 3 : 4));
    CHECK(block.count == (block.layer == 0 ? 4 : 2) * (block.bias ? 1 : block.fan_in));
  }
  for (const int times : seen) CHECK(times == 1);
  CHECK(repel::layers_of(network) == 2);
}

namespace {

struct Blocks {
  std::vector<repel::ParameterBlock> all;
  Index count;
  std::vector<repel::ParameterBlock> blocks() const { return all; }
  Index parameters() const { return count; }
};

}  // namespace

TEST_CASE("layer_blocks gives the size of each layer, in the order of a particle", "[bnn]") {
  using Sizes = std::vector<Index>;
  CHECK(repel::layer_blocks(repel::Mlp({3, 4, 2})) == Sizes{16, 10});
  CHECK(repel::layer_blocks(repel::Mlp({1, 50, 50, 1})) == Sizes{100, 2550, 51});
  // Named in another order than a particle's, and with a layer in two parts.
  CHECK(repel::layer_blocks(Blocks{{{4, 2, 1, 1}, {0, 3, 1, 0}, {3, 1, 1, 0, true}}, 6}) == Sizes{4, 2});
  CHECK(repel::layer_blocks(Blocks{{{0, 2, 1, 0}, {2, 3, 1, 1}, {5, 1, 1, 0, true}}, 6}) == Sizes{2, 3, 1});
  CHECK_THROWS_WITH(repel::layer_blocks(Blocks{{{0, 2, 1, 0}, {3, 3, 1, 1}}, 6}),
                    contains("each of its 6 parameters once, but do not from parameter 2 on"));
  CHECK_THROWS_WITH(repel::layer_blocks(Blocks{{{0, 2, 1, 0}}, 6}), contains("from parameter 2 on"));
  CHECK_THROWS_WITH(repel::layer_blocks(Blocks{{{0, 2, 1, 0}, {1, 5, 1, 1}}, 6}), contains("from parameter 2 on"));
}

TEST_CASE("a network shows the features of a hidden layer, and takes gradients there", "[bnn]") {
  // Features of the second hidden layer beside the outputs: against the same network cut off there, and finite
  // differences.
  for (const auto activation : {Activation::relu, Activation::tanh, Activation::gelu}) {
    const repel::Mlp whole({2, 5, 4, 3}, activation), shows = whole.with_features(1);
    const Eigen::MatrixXd w = repel::normal(whole.parameters(), 3, 1), x = repel::normal(2, 6, 2);
    REQUIRE(repel::features_of(shows) == 4);
    repel::Ensemble<repel::Mlp, double> ensemble(shows), plain(whole);
    Eigen::MatrixXd f, outputs, up, down, g;
    ensemble.forward(w, x, f);
    plain.evaluate(w, x, outputs);
    REQUIRE(f.rows() == 6 * (3 + 4));
    CHECK(f.topRows(18) == outputs);
    for (Index j = 0; j < 3; ++j)
      for (Index i = 0; i < 6; ++i) {
        const Eigen::VectorXd before = plain_forward({2, 5, 4}, activation, w.col(j).head(15 + 24), x.col(i));
        for (Index k = 0; k < 4; ++k)
          CHECK(f(18 + 4 * i + k, j) == Approx(activate(activation, before(k))).margin(1e-14));
      }
    const Eigen::MatrixXd v = repel::normal(f.rows(), 3, 3), t = repel::normal(w.rows(), 3, 4);
    ensemble.backward(w, x, v, g);
    plain.evaluate(w, x, outputs);
    repel::Ensemble<repel::Mlp, double> moved(shows);
    moved.evaluate(w + 1e-6 * t, x, up);
    moved.evaluate(w - 1e-6 * t, x, down);
    CHECK(t.cwiseProduct(g).sum() == Approx(v.cwiseProduct(up - down).sum() / 2e-6).epsilon(1e-7));
  }
}

}  // namespace bnn_mlp_test
