#include "catch.hpp"
#include "support/golden.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/kernel/laplace.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/optim/sgd.hpp>
#include <repel/pairwise/pairs.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/rule/wgd.hpp>
#include <repel/run.hpp>
#include <repel/score/kde.hpp>
#include <repel/space/weight_space.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace kernel_bandwidth_test {

namespace {

using test::Index;
using test::Mat;

template <class Distance>
std::vector<double> all_distances(const Mat& x, const Distance& distance) {
  std::vector<double> out;
  for (Index i = 0; i < x.cols(); ++i)
    for (Index j = 0; j < x.cols(); ++j) out.push_back(distance(x.col(i), x.col(j)));
  return out;
}

template <class Distance>
std::vector<double> pair_distances(const Mat& x, const Distance& distance) {
  std::vector<double> out;
  for (Index i = 0; i < x.cols(); ++i)
    for (Index j = 0; j < i; ++j) out.push_back(distance(x.col(i), x.col(j)));
  return out;
}

struct Negative {
  double operator()(const auto&, auto&) const { return -3; }
};

}  // namespace

TEST_CASE("the median rules agree with sorting, for odd and even counts", "[bandwidth]") {
  for (Index n = 2; n <= 12; ++n)
    for (const Index d : {1, 3, 20}) {
      CAPTURE(n, d);
      const Mat x = Mat::Random(d, n);
      const double log_n = std::log(static_cast<double>(n)), log_n_1 = std::log(static_cast<double>(n) + 1);
      const double all = test::sorted_median(all_distances(x, test::squared_distance));
      const double pairs = test::sorted_median(pair_distances(x, test::squared_distance));
      CHECK(repel::bandwidth(repel::Rbf{}, x) == Approx(all / log_n_1).epsilon(1e-12));
      CHECK(repel::bandwidth(repel::Rbf{repel::MedianLogNBandwidth{}}, x) == Approx(all / log_n).epsilon(1e-12));
      CHECK(repel::bandwidth(repel::Rbf{repel::PairMedianBandwidth{}}, x) == Approx(pairs / log_n).epsilon(1e-12));
      CHECK(repel::bandwidth(repel::Rbf{repel::FixedBandwidth{2.5}}, x) == 2.5);
      // Laplace looks at L1 distances, not squared.
      const double l1 = test::sorted_median(all_distances(x, test::l1_distance));
      CHECK(repel::bandwidth(repel::Laplace{}, x) == Approx(l1 / log_n_1).epsilon(1e-12));
    }
}

TEST_CASE("the median of thousands of distances is exact, however they are distributed", "[bandwidth]") {
  // Above a thousand pairs a sample narrows the search down; it must never change the answer.
  for (const Index n : {46, 47, 101, 150}) {
    Mat random = Mat::Random(2, n), clusters = random * 1e-6, line = Mat::Zero(2, n), few = Mat::Zero(2, n);
    clusters.rightCols(n / 2).array() += 1;
    for (Index j = 0; j < n; ++j) {
      line(0, j) = static_cast<double>(j * j);  // sorted within columns, many scales
      few(0, j) = static_cast<double>(j % 3);   // three distinct values
    }
    for (const Mat& x : {random, clusters, line, few}) {
      CAPTURE(n, x(0, n - 1));
      const double all = test::sorted_median(all_distances(x, test::squared_distance));
      const double pairs = test::sorted_median(pair_distances(x, test::squared_distance));
      CHECK(repel::bandwidth(repel::Rbf{}, x) * std::log(static_cast<double>(n) + 1) == Approx(all).epsilon(1e-14));
      CHECK(repel::bandwidth(repel::Rbf{repel::PairMedianBandwidth{}}, x) * std::log(static_cast<double>(n)) ==
            Approx(pairs).epsilon(1e-14));
    }
  }
}

TEST_CASE("the median rules give the golden bandwidths", "[bandwidth][golden]") {
  for (const std::string set : {"kernel_n8_d3", "kernel_n20_d2"}) {
    const Mat x = test::golden(set + "/X.csv");
    const auto h = [&](const std::string& rule) {
      return test::golden_scalars(set + "/" + rule + "/scalars.csv").at("h");
    };
    CHECK(repel::bandwidth(repel::Rbf{}, x) == Approx(h("median_log_n_plus_1")).epsilon(1e-12));
    CHECK(repel::bandwidth(repel::Rbf{repel::MedianLogNBandwidth{}}, x) == Approx(h("median_log_n")).epsilon(1e-12));
  }
}

TEST_CASE("a zero median falls back to the mean distance, and to 1 where all coincide", "[bandwidth]") {
  for (const Index d : {2, 30}) {  // by coordinates, and by the matrix product
    Mat x = Mat::Constant(d, 10, 0.1);
    CHECK(repel::bandwidth(repel::Rbf{}, x) == 1.0);
    x.col(3) += Mat::Constant(d, 1, 1.0);
    const auto pairs = pair_distances(x, test::squared_distance);
    double mean = 0;
    for (const double r2 : pairs) mean += r2 / static_cast<double>(pairs.size());
    CHECK(repel::bandwidth(repel::Rbf{}, x) == Approx(mean / std::log(11.0)).epsilon(1e-12));
    CHECK(repel::bandwidth(repel::Rbf{repel::PairMedianBandwidth{}}, x) ==
          Approx(mean / std::log(10.0)).epsilon(1e-12));
  }
  const Mat one = Mat::Random(3, 1);
  CHECK(repel::bandwidth(repel::Rbf{}, one) == 1.0);
  CHECK(repel::bandwidth(repel::Rbf{repel::MedianLogNBandwidth{}}, one) == 1.0);
  CHECK(repel::bandwidth(repel::Rbf{repel::PairMedianBandwidth{}}, one) == 1.0);
}

TEST_CASE("a bandwidth must be positive and finite", "[bandwidth]") {
  const Mat x = Mat::Random(2, 5);
  CHECK_THROWS_WITH(repel::bandwidth(repel::Rbf{repel::FixedBandwidth{-1.0}}, x),
                    "repel::FixedBandwidth: h is -1, but must be finite and larger than 0");
  CHECK_THROWS_AS(repel::bandwidth(repel::Rbf{repel::FixedBandwidth{0.0}}, x), std::invalid_argument);
  CHECK_THROWS_AS(repel::bandwidth(repel::Rbf{repel::FixedBandwidth{1e-60}}, x.cast<float>()), std::invalid_argument);
  // A user's rule that goes wrong is told so, too.
  CHECK_THROWS_WITH(repel::gram(repel::Rbf{Negative{}}, x), contains("the rule returned -3"));
}

namespace {

struct SumOfDistances {
  template <class Scalar>
  double operator()(const repel::Matrix<Scalar>& distances, std::vector<Scalar>&) const {
    double sum = 0;
    for (Index j = 0; j < distances.cols(); ++j)
      for (Index i = j + 1; i < distances.rows(); ++i) sum += static_cast<double>(distances(i, j));
    return sum;
  }
};

template <class Rule>
double h_of(const Rule& rule, const Mat& x) {
  const double in_float = repel::bandwidth(repel::Rbf{rule}, x.cast<float>()),
               h = repel::bandwidth(repel::Rbf{rule}, x);
  CHECK(in_float == Approx(h).epsilon(1e-5));
  return h;
}

}  // namespace

TEST_CASE("a factor scales any bandwidth rule, also one that is scaled already", "[bandwidth]") {
  for (const Index d : {2, 20}) {
    const Mat x = Mat::Random(d, 60);
    const auto check = [&](const auto& rule) {
      const double h = h_of(rule, x);
      CHECK(h_of(repel::Scaled{rule, 0.25}, x) == Approx(0.25 * h).epsilon(1e-14));
      CHECK(h_of(repel::Scaled{repel::Scaled{rule, 0.25}, 3}, x) == Approx(0.75 * h).epsilon(1e-14));
    };
    check(repel::MedianBandwidth{});
    check(repel::PairMedianBandwidth{});
    check(repel::SampledMedianBandwidth{20});
    check(repel::FixedBandwidth{2.5});
    check(SumOfDistances{});
    CHECK(h_of(repel::SampledMedianBandwidth{20}, x) != h_of(repel::MedianBandwidth{}, x));
    const Mat same = Mat::Ones(d, 7);  // the floor is not scaled
    CHECK(h_of(repel::Scaled{repel::MedianBandwidth{}, 0.25}, same) == 1);
  }
  CHECK_THROWS_WITH(repel::bandwidth(repel::Rbf{repel::Scaled{repel::MedianBandwidth{}, 0.0}}, Mat::Random(2, 5)),
                    "repel::Scaled: factor is 0, but must be finite and larger than 0");
  CHECK_THROWS_WITH(repel::bandwidth(repel::Rbf{repel::Scaled{repel::FixedBandwidth{-1}, 2}}, Mat::Random(2, 5)),
                    contains("FixedBandwidth: h is -1"));
}

TEST_CASE("a ramp follows the step of the state, wherever it is in the rule", "[bandwidth]") {
  const auto factors = [](const auto& rule, Index start) {
    auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, rule, repel::Sgd{.learning_rate = 1e-9});
    auto state = sampler.init(repel::normal(2, 20, 1));
    state.step = start;
    const double h = repel::bandwidth(repel::Rbf{}, state.particles);
    std::vector<double> seen;
    CHECK(repel::run(sampler, state, 6, [&](const auto&, const repel::StepInfo& info) {
            seen.push_back(std::round(info.bandwidth / h * 1e4) / 1e4);
          }).finished());
    return seen;
  };
  const repel::Ramp ramp{repel::MedianBandwidth{}, 1, 5, 4};
  CHECK(factors(repel::Svgd{repel::Rbf{ramp}}, 0) == std::vector<double>{1, 2, 3, 4, 5, 5});
  CHECK(factors(repel::Wgd{repel::Kde{repel::Rbf{ramp}}}, 2) == std::vector<double>{3, 4, 5, 5, 5, 5});
  CHECK(factors(repel::Svgd{repel::Rbf{repel::Scaled{ramp, 0.5}}}, 0) == std::vector<double>{0.5, 1, 1.5, 2, 2.5, 2.5});
  CHECK(factors(repel::Svgd{repel::Rbf{repel::Ramp{ramp, 1, 2, 2}}}, 0) == std::vector<double>{1, 3, 6, 8, 10, 10});
  CHECK_THROWS_WITH((repel::Ramp{repel::MedianBandwidth{}, 1, 5, 0}.validate()),
                    "repel::Ramp: steps is 0, but must be at least 1");
  CHECK_THROWS_WITH((repel::Ramp{repel::MedianBandwidth{}, -1, 5, 9}.validate()), contains("Ramp: from is -1"));
}

}  // namespace kernel_bandwidth_test
