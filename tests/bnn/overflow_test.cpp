#include "catch.hpp"

#include <repel/bnn.hpp>
#include <repel/linalg/softmax.hpp>
#include <repel/predictor.hpp>
#include <repel/repel.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

// Networks whose sizes or outputs leave the range of their numbers.

namespace bnn_overflow_test {

using repel::Index;

TEST_CASE("widths whose product cannot be counted are refused", "[mlp][robustness]") {
  constexpr Index huge = Index{1} << 32, most = std::numeric_limits<Index>::max();
  const auto refused = contains("but a network must have fewer than");
  CHECK_THROWS_WITH(repel::Mlp({huge, huge}), refused);
  CHECK_THROWS_WITH(repel::Mlp({1, huge, huge, 1}), refused);
  CHECK_THROWS_WITH(repel::Mlp({most, 1}), refused);
  CHECK_THROWS_WITH(repel::Mlp({1, most}), refused);
  CHECK_THROWS_WITH(repel::Mlp({Index{1} << 28, Index{1} << 28, Index{1} << 28, Index{1} << 28}), refused);
  CHECK(repel::Mlp({1 << 15, 1 << 15, 1}).parameters() == (Index{1} << 30) + 2 * (Index{1} << 15) + 1);
  CHECK_THROWS_WITH(
      repel::Mlp::from(
          repel::Description("mlp").add("widths", std::vector<double>{9e8, 9e8, 9e8}).add("activation", "relu")),
      refused);
}

TEST_CASE("a prior under which outputs overflow is named", "[bnn][robustness]") {
  // Ten layers, each of which multiplies by some 4: with a prior sd of 1 outputs are large, with 1e4 they are out of range.
  const repel::Mlp network({1, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 1}, repel::Activation::relu);
  const Eigen::RowVectorXf x = repel::normal<float>(1, 20, 1), y = x;
  for (const double sd : {1.0, 1e4}) {
    const repel::Bnn posterior(network, repel::GaussianLikelihood{.noise = 0.1}, repel::NormalPrior{sd}, x, y);
    auto sampler = repel::function_space(posterior.functions(), repel::Wgd{repel::Kde{}});
    auto state = sampler.init(repel::normal<float>(network.parameters(), 3, 2, 0.1));
    if (sd == 1.0)
      CHECK(sampler.step(state).finite);
    else
      CHECK_THROWS_WITH(sampler.step(state),
                        contains("ImplicitPrior: a network drawn from the weight prior has an output of") &&
                            contains("take a prior of smaller scale, or FlatPrior{}"));
  }
}

TEMPLATE_TEST_CASE("the softmax of logits of any size", "[softmax][robustness]", float, double) {
  constexpr TestType inf = std::numeric_limits<TestType>::infinity(), big = std::numeric_limits<TestType>::max(),
                     nan = std::numeric_limits<TestType>::quiet_NaN();
  const auto of = [](std::initializer_list<TestType> logits) {
    repel::Matrix<TestType> p(static_cast<Index>(logits.size()), 1);
    std::copy(logits.begin(), logits.end(), p.data());
    const repel::Matrix<TestType> before = p;
    repel::detail::softmax(p);
    for (Index k = 0; k < p.size(); ++k) {
      const double log_p = repel::detail::log_softmax_at(before.col(0), k);
      CHECK((std::isnan(p(k)) ? std::isnan(log_p) : std::exp(log_p) == Approx(p(k)).margin(1e-30)));
    }
    return p;
  };
  const auto is = [](const auto& p, std::initializer_list<double> values) {
    bool same = true;
    Index k = 0;
    for (const double value : values) same = same && std::abs(static_cast<double>(p(k++)) - value) < 1e-6;
    return same;
  };
  CHECK(is(of({big, -big, 0}), {1, 0, 0}));
  CHECK(is(of({inf, 1, 2}), {1, 0, 0}));
  CHECK(is(of({inf, 1, inf, -inf}), {0.5, 0, 0.5, 0}));
  CHECK(is(of({-inf, 0, 0}), {0, 0.5, 0.5}));
  CHECK(is(of({-inf, -inf}), {0.5, 0.5}));
  CHECK(of({nan, 1, 2}).array().isNaN().all());
  CHECK(of({inf, nan, 2}).array().isNaN().all());
}

TEMPLATE_TEST_CASE("predictions where logits overflow", "[predictor][robustness]", float, double) {
  const auto large = static_cast<TestType>(std::sqrt(std::numeric_limits<TestType>::max()) / 1e4);
  // f = (w x, −w x): parameters are the weights of two classes, and their biases.
  repel::Matrix<TestType> w(4, 2);
  w << large, large, -large, -large, 0, 0, 0, 0;
  repel::Predictor predictor(repel::Mlp({1, 2}), repel::CategoricalLikelihood{}, w);
  repel::Matrix<TestType> x(1, 2);
  x << large, -large;
  const auto& even = predictor.predict(x);
  CHECK(even.probabilities.isApprox(repel::Matrix<TestType>::Identity(2, 2)));

  // Two layers multiply three large numbers: infinite logits.
  repel::Matrix<TestType> deep(6, 1);
  deep << large, 0, large, -large, 0, 0;  // h = relu(large x), f = (large h, −large h)
  repel::Predictor two(repel::Mlp({1, 1, 2}), repel::CategoricalLikelihood{}, deep);
  REQUIRE(std::isinf(two.outputs(x)(0, 0)));
  const auto& certain = two.predict(x);
  CHECK(certain.probabilities == (repel::Matrix<TestType>(2, 2) << 1, 0.5, 0, 0.5).finished());
  const auto log_p = two.log_predictive(x, Eigen::RowVector2i(0, 1));
  CHECK(log_p(0) == 0);
  CHECK(log_p(1) == Approx(-std::log(2.0)));
  CHECK(two.log_predictive(x, Eigen::RowVector2i(1, 1))(0) == -std::numeric_limits<double>::infinity());

  // Infinity times 0 is no number: that is said, not returned.
  repel::Matrix<TestType> deeper(8, 1);
  deeper << large, 0, large, 0, 1, 0, 0, 0;
  repel::Predictor none(repel::Mlp({1, 1, 1, 2}), repel::CategoricalLikelihood{}, deeper);
  CHECK_THROWS_WITH(none.predict(x), contains("nan, but must be a number: its parameters or the point"));
  repel::Matrix<TestType> line(4, 1);
  line << large, 0, large, 0;
  repel::Predictor regression(repel::Mlp({1, 1, 1}), repel::GaussianLikelihood{}, line);
  CHECK_THROWS_WITH(regression.predict(x), contains("the output of particle 0 at point 0 is inf, but must be finite"));
}

}  // namespace bnn_overflow_test
