#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/optim/sgd.hpp>
#include <repel/pairwise/heat_bandwidth.hpp>
#include <repel/pairwise/pairs.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/run.hpp>
#include <repel/space/weight_space.hpp>

#include <cmath>
#include <vector>

namespace kernel_heat_bandwidth_test {

using repel::HeatBandwidth;
using test::Index;
using test::Mat;
using test::Vec;

namespace {

double density(const Mat& x, const Vec& at, double h) {
  double sum = 0;
  for (Index j = 0; j < x.cols(); ++j) sum += std::exp(-test::squared_distance(at, x.col(j)) / h);
  return sum;
}

/// The definition, with Δp and ∂p/∂t by finite differences.
double oracle(const Mat& x, double h) {
  const Index d = x.rows(), n = x.cols();
  const double e = 1e-4 * std::sqrt(h), dt = 1e-5 * h;
  const Mat s = test::oracle_kde(test::oracle_rbf(), x, x, h);
  double total = 0;
  for (Index i = 0; i < n; ++i) {
    const double p = density(x, x.col(i), h);
    double laplacian = 0;
    for (Index k = 0; k < d; ++k) {
      Vec up = x.col(i), down = x.col(i);
      up(k) += e;
      down(k) -= e;
      laplacian += (density(x, up, h) - 2 * p + density(x, down, h)) / (e * e);
    }
    const double change = (density(x - dt * s, x.col(i), h) - density(x + dt * s, x.col(i), h)) / (2 * dt);
    total += std::pow(h * (laplacian - change) / p, 2) / static_cast<double>(n);
  }
  return total;
}

}  // namespace

TEST_CASE("the heat bandwidth's objective is its definition", "[bandwidth][heat]") {
  for (const Index d : {1, 3, 20})
    for (const double factor : {0.1, 1.0, 8.0}) {
      CAPTURE(d, factor);
      const Mat x = (repel::normal(d, 15, 1).array() + 10).matrix();
      const double h = factor * repel::bandwidth(repel::Rbf{}, x);
      CHECK(HeatBandwidth::objective(x, h) == Approx(oracle(x, h)).epsilon(1e-5));
      CHECK(HeatBandwidth::objective(x.cast<float>(), h) == Approx(oracle(x, h)).epsilon(1e-3));
      CHECK(HeatBandwidth::objective(5 * x, 25 * h) ==
            Approx(HeatBandwidth::objective(x, h)).epsilon(1e-9));  // no units
    }
  const Mat x = repel::normal(3, 15, 1);
  CHECK(HeatBandwidth::objective(x, 1e-6) == Approx(36));  // both limits are 4d²
  CHECK(HeatBandwidth::objective(x, 1e6) == Approx(36).epsilon(1e-3));
}

TEMPLATE_TEST_CASE("the heat bandwidth minimises its objective", "[bandwidth][heat]", float, double) {
  Mat clusters = repel::normal(2, 40, 3);
  clusters.rightCols(20).array() += 30;
  for (const Mat& x :
       {Mat(repel::normal(1, 60, 1)), Mat(repel::normal(2, 60, 2)), clusters, Mat(repel::normal(20, 30, 4))}) {
    CAPTURE(x.rows());
    const double found = repel::bandwidth(repel::Rbf{HeatBandwidth{}}, x.cast<TestType>());
    const double median = repel::bandwidth(repel::Rbf{}, x);
    double least = 1e300, best = 0;
    for (double exponent = -8; exponent <= 4; exponent += 0.01) {
      const double h = median * std::exp2(exponent), value = HeatBandwidth::objective(x, h);
      if (value < least) {
        least = value;
        best = h;
      }
    }
    CHECK(found == Approx(best).epsilon(0.03));
    CHECK(HeatBandwidth::objective(x, found) < least * 1.001);
  }
  const Mat one = Mat::Ones(3, 1), same = Mat::Ones(3, 5);
  CHECK(repel::bandwidth(repel::Rbf{HeatBandwidth{}}, one.cast<TestType>()) == 1);
  CHECK(repel::bandwidth(repel::Rbf{HeatBandwidth{}}, same.cast<TestType>()) == 1);
}

TEST_CASE("the heat bandwidth in a sampler: kept for some steps, scaled, and a wider ensemble", "[bandwidth][heat]") {
  const auto target = [](const auto& w, auto& g) { g = -w; };
  const auto bandwidths = [&](const auto& rule, Index begin, Index steps) {
    auto sampler = repel::weight_space(target, rule, repel::Sgd{.learning_rate = 0.1});
    auto state = sampler.init(repel::normal(2, 30, 1, 2));
    state.step = begin;
    std::vector<double> h;
    CHECK(repel::run(sampler, state, steps, [&](const auto&, const auto& info) {
            h.push_back(info.bandwidth);
          }).finished());
    return h;
  };
  const auto kept = bandwidths(repel::Svgd{repel::Rbf{HeatBandwidth{4}}}, 2, 7);  // steps 2 … 8
  CHECK(kept[1] == kept[0]);
  CHECK(kept[2] != kept[1]);
  CHECK(kept[5] == kept[2]);
  CHECK(kept[6] != kept[5]);
  const auto each = bandwidths(repel::Svgd{repel::Rbf{HeatBandwidth{}}}, 0, 2);
  CHECK(each[1] != each[0]);
  const auto half = bandwidths(repel::Svgd{repel::Rbf{repel::Scaled{HeatBandwidth{}, 0.5}}}, 0, 1);
  CHECK(half[0] == Approx(each[0] / 2).epsilon(1e-14));
  CHECK_THROWS_WITH(HeatBandwidth{0}.validate(), "repel::HeatBandwidth: every is 0, but must be at least 1");

  // On a Gaussian the particles of SVGD are too narrow; less so with this bandwidth.
  const auto variance = [&](const auto& rule) {
    auto sampler = repel::weight_space(target, rule, repel::Sgd{.learning_rate = 0.1});
    auto state = sampler.init(repel::normal(5, 20, 1));
    CHECK(repel::run(sampler, state, 200).finished());
    return state.particles.squaredNorm() / 100;
  };
  const double by_median = variance(repel::Svgd{}), by_heat = variance(repel::Svgd{repel::Rbf{HeatBandwidth{10}}});
  CAPTURE(by_median, by_heat);
  CHECK(by_median < by_heat - 0.05);
  CHECK(by_heat < 1);
}

}  // namespace kernel_heat_bandwidth_test
