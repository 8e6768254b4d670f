#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/repel.hpp>

#include <cmath>

namespace rule_langevin_test {

namespace {

using repel::Langevin;
using repel::Sgd;

const auto standard_normal = [](const auto& w, auto& g) { g = -w; };

template <class Sampler, class P>
P after(Sampler sampler, const P& start, int steps) {
  auto state = sampler.init(start);
  const repel::Report report = repel::run(sampler, state, steps);
  REQUIRE(report.finished());
  return state.particles;
}

}  // namespace

TEST_CASE("Langevin noise has the variance that it should", "[langevin]") {
  // No force, so that nothing but noise moves: n independent random walks of variance 2 β ε a step.
  const auto flat = [](const auto& w, auto& g) { g.setZero(w.rows(), w.cols()); };
  const double beta = 0.3, rate = 0.05;
  const Eigen::MatrixXd zero = Eigen::MatrixXd::Zero(600, 200);
  const auto variance = [&](const auto& optimiser, int steps) {
    const Eigen::MatrixXd x =
        after(repel::weight_space(flat, Langevin{repel::PlainEnsemble{}, beta, 5}, optimiser), zero, steps);
    return x.squaredNorm() / static_cast<double>(x.size());
  };
  // 120 000 draws: the relative standard deviation of a variance is 0.4 %.
  CHECK(variance(Sgd{.learning_rate = rate}, 1) == Approx(2 * beta * rate).epsilon(0.02));
  CHECK(variance(Sgd{.learning_rate = rate}, 7) == Approx(7 * 2 * beta * rate).epsilon(0.02));
  CHECK(variance(Sgd{.learning_rate = rate, .momentum = 0.5}, 1) == Approx(2 * beta * rate / 0.5).epsilon(0.02));
  const repel::Scheduled halved{Sgd{.learning_rate = rate}, repel::schedule::Step{.every = 1, .factor = 0.5}};
  CHECK(variance(halved, 2) == Approx(1.5 * 2 * beta * rate).epsilon(0.02));
  CHECK(variance(repel::Clipped{Sgd{.learning_rate = rate}, 1.0}, 1) == Approx(2 * beta * rate).epsilon(0.02));
}

TEST_CASE("step sizes are what an optimiser multiplies a direction by", "[langevin]") {
  // After steps with a constant direction Adam's, RMSProp's and AdaGrad's next move is its step size times that.
  const Eigen::MatrixXd direction = repel::normal(4, 3, 2);
  const auto check = [&](const auto& optimiser) {
    Eigen::MatrixXd x = Eigen::MatrixXd::Zero(4, 3), before;
    auto memory = optimiser.init(x);
    for (int t = 1; t <= 4; ++t) {
      before = x;
      optimiser.update(memory, t, direction, x);
    }
    Eigen::MatrixXd sizes(4, 3);
    optimiser.step_sizes(memory, 4, 0, 12, 1.0, sizes.data());
    CHECK(test::relative_error(Eigen::MatrixXd(sizes.cwiseProduct(direction)), Eigen::MatrixXd(x - before)) < 1e-6);
  };
  check(repel::Adam{.learning_rate = 0.1});
  check(repel::RmsProp{.learning_rate = 0.1});
  check(repel::AdaGrad{.learning_rate = 0.1});
  check(Sgd{.learning_rate = 0.1});
}

TEMPLATE_TEST_CASE("noise keeps particles apart where SVGD alone collapses", "[langevin]", float, double) {
  // N(0, I) in 50 dimensions: SVGD by itself has the variance 0.1. An Euler step ε of Langevin dynamics adds about β ε/2.
  using Mat = repel::Matrix<TestType>;
  const auto rule = Langevin{repel::Svgd{}, 1.0, 3};
  const Mat x = after(repel::weight_space(standard_normal, rule, Sgd{.learning_rate = 0.05}),
                      Mat(repel::normal<TestType>(50, 100, 1)), 400);
  // 5000 numbers, of which some 2500 are independent: the standard deviation of their variance is 3 %.
  CHECK(static_cast<double>(x.squaredNorm()) / 5000 == Approx(1).margin(0.12));
}

TEST_CASE("Langevin with β = 0 is the rule itself", "[langevin]") {
  const Eigen::MatrixXd start = repel::normal(3, 20, 1);
  CHECK(after(repel::weight_space(standard_normal, Langevin{repel::Svgd{}, 0.0, 3}, repel::Adam{}), start, 20) ==
        after(repel::weight_space(standard_normal, repel::Svgd{}, repel::Adam{}), start, 20));
}

TEST_CASE("noise has the same bits for any number of threads, and from any step", "[langevin]") {
  const Eigen::MatrixXd start = repel::normal(700, 64, 1);
  const auto sampler = [] {
    return repel::weight_space(standard_normal, Langevin{repel::Wgd{repel::Kde{}}, 0.2, 3}, Sgd{.learning_rate = 0.1});
  };
  const Eigen::MatrixXd one = after(sampler(), start, 6);
  repel::set_threads(3);
  const Eigen::MatrixXd three = after(sampler(), start, 6);
  repel::set_threads(1);
  CHECK(one == three);
  auto first = sampler(), second = sampler();
  auto state = first.init(start);
  REQUIRE(repel::run(first, state, 4).finished());
  REQUIRE(repel::run(second, state, 2).finished());
  CHECK(state.particles == one);
  const auto other =
      repel::weight_space(standard_normal, Langevin{repel::Wgd{repel::Kde{}}, 0.2, 4}, Sgd{.learning_rate = 0.1});
  CHECK(after(other, start, 6) != one);  // another seed
}

TEST_CASE("a step says how much noise it had", "[langevin]") {
  auto sampler = repel::weight_space(standard_normal, Langevin{repel::Svgd{}, 0.25, 3}, Sgd{});
  auto state = sampler.init(repel::normal(2, 10, 1));
  CHECK(sampler.step(state).noise == 0.25);
  CHECK_THROWS_WITH(repel::weight_space(standard_normal, Langevin{repel::Svgd{}, -1.0}, Sgd{}), contains("beta is -1"));
}

}  // namespace rule_langevin_test
