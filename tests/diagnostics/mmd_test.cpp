#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/diagnostics/mmd.hpp>
#include <repel/kernel/imq.hpp>
#include <repel/kernel/laplace.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace diagnostics_mmd_test {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using repel::Index;
namespace diagnostics = repel::diagnostics;
using Fixed = repel::FixedBandwidth;

/// Not a kernel of a distance, with a diagonal that is not constant.
struct Linear {
  Fixed bandwidth{1.3};
  auto value(const auto& x, const auto& y, auto h) const { return 1 + x.dot(y) / h; }
  auto gradient(const auto&, const auto& y, auto h) const { return y / h; }
};

test::OracleKernel oracle_linear() {
  return {[](const VectorXd& x, const VectorXd& y, double h) { return 1 + x.dot(y) / h; }, {}};
}

template <class Scalar, class K>
void compare_with_loops(const K& kernel, const test::OracleKernel& oracle) {
  for (const Index d : {1, 3, 20}) {
    CAPTURE(d);
    const repel::Matrix<Scalar> x = repel::normal<Scalar>(d, 30, 1), y = repel::normal<Scalar>(d, 70, 2, 1.2);
    const MatrixXd a = x.template cast<double>(), b = y.template cast<double>();
    const MatrixXd xx = test::oracle_gram(oracle, a, a, 1.3), yy = test::oracle_gram(oracle, b, b, 1.3),
                   xy = test::oracle_gram(oracle, a, b, 1.3);
    const double u = (xx.sum() - xx.trace()) / (30.0 * 29) + (yy.sum() - yy.trace()) / (70.0 * 69) - 2 * xy.mean();
    const double v = xx.mean() + yy.mean() - 2 * xy.mean(), scale = xx.cwiseAbs().maxCoeff();
    const diagnostics::MmdStatistic value = diagnostics::mmd(x, y, kernel);
    CHECK(std::abs(value.u - u) < 1e-12 * scale);
    CHECK(std::abs(value.v - v) < 1e-12 * scale);
    CHECK(value.bandwidth == 1.3);
    const diagnostics::MmdResult tested = diagnostics::mmd_test(x, y, {.permutations = 9}, kernel);
    CHECK(std::abs(tested.u - u) < 1e-12 * scale);
    CHECK(std::abs(tested.v - v) < 1e-12 * scale);
  }
}

double acceptance(double shift, int runs) {
  int accepted = 0;
  for (int run = 0; run < runs; ++run) {
    const auto seed = static_cast<std::uint64_t>(run);
    const MatrixXd x = repel::normal(2, 50, repel::stream_seed(1, seed)).array() + shift;
    const MatrixXd y = repel::normal(2, 80, repel::stream_seed(2, seed));
    accepted += diagnostics::mmd_test(x, y, {.permutations = 99, .seed = seed}).p_value > 0.05 ? 1 : 0;
  }
  return 100.0 * accepted / runs;
}

}  // namespace

TEST_CASE("MMD agrees with plain loops for every kind of kernel", "[diagnostics][mmd]") {
  compare_with_loops<double>(repel::Rbf{Fixed{1.3}}, test::oracle_rbf());
  compare_with_loops<float>(repel::Rbf{Fixed{1.3}}, test::oracle_rbf());
  compare_with_loops<double>(repel::Imq{Fixed{1.3}}, test::oracle_imq());
  compare_with_loops<double>(repel::Laplace{Fixed{1.3}}, test::oracle_laplace());
  compare_with_loops<double>(Linear{}, oracle_linear());
  compare_with_loops<float>(Linear{}, oracle_linear());
}

TEST_CASE("MMD takes the median of both samples together", "[diagnostics][mmd]") {
  const MatrixXd x = MatrixXd{{0, 1}}, y = MatrixXd{{3, 7}};  // squared distances 1, 4, 9, 16, 36, 49
  CHECK(diagnostics::mmd(x, y).bandwidth == Approx(12.5));
}

TEST_CASE("the permutation test of MMD keeps its level, and finds a shift", "[diagnostics][mmd]") {
  const double accepted = acceptance(0, 400);
  CHECK(accepted >= 93);
  CHECK(accepted <= 97);
  CHECK(acceptance(0.7, 50) < 20);
}

TEST_CASE("all divisions of the points are equally likely", "[diagnostics][mmd]") {
  const std::vector<double> points{0, 1, 3, 7, 8};
  const auto statistic = [&](const std::vector<Index>& first, Index permutations) {
    MatrixXd x(1, 2), y(1, 3);
    Index in_x = 0, in_y = 0;
    for (Index i = 0; i < 5; ++i)
      (i == first[0] || i == first[1] ? x(in_x++) : y(in_y++)) = points[static_cast<std::size_t>(i)];
    return diagnostics::mmd_test(x, y, {.permutations = permutations, .seed = 8});
  };
  std::vector<std::vector<Index>> all;
  for (Index i = 0; i < 5; ++i)
    for (Index j = i + 1; j < 5; ++j) all.push_back({i, j});
  for (const std::vector<Index>& one : all) {
    CAPTURE(one);
    const diagnostics::MmdResult value = statistic(one, 20000);
    const auto reached = std::count_if(all.begin(), all.end(),
                                       [&](const auto& other) { return statistic(other, 1).u >= value.u - 1e-12; });
    CHECK(value.p_value == Approx(static_cast<double>(reached) / 10).margin(0.012));  // three standard errors or more
  }
}

TEST_CASE("a sample is at no distance from itself", "[diagnostics][mmd]") {
  const MatrixXd x = repel::normal(2, 40, 3);
  const diagnostics::MmdResult same = diagnostics::mmd_test(x, x, {.permutations = 99});
  CHECK(std::abs(same.v) < 1e-14);
  CHECK(same.u < 0);
  CHECK(same.p_value == 1);
  const MatrixXd one = MatrixXd::Ones(2, 5);  // every division is a tie
  CHECK(diagnostics::mmd_test(one, one, {.permutations = 99}).p_value == 1);
}

TEST_CASE("MMD is reproducible, with the same bits for any number of threads", "[diagnostics][mmd]") {
  for (const Index d : {2, 30}) {
    const MatrixXd x = repel::normal(d, 150, 4), y = repel::normal(d, 200, 5);
    const auto run = [&](std::uint64_t seed) {
      return diagnostics::mmd_test(x, y, {.permutations = 200, .seed = seed});
    };
    repel::set_threads(1);
    const diagnostics::MmdResult reference = run(1);
    CHECK(run(2).p_value != reference.p_value);
    for (const Index threads : {1, 2, 3}) {
      repel::set_threads(threads);
      const diagnostics::MmdResult again = run(1);
      CHECK((again.u == reference.u && again.v == reference.v && again.p_value == reference.p_value));
    }
    repel::set_threads(1);
  }
}

TEST_CASE("MMD refuses what it cannot use", "[diagnostics][mmd]") {
  MatrixXd x = repel::normal(2, 5, 6);
  const MatrixXd y = repel::normal(2, 6, 7);
  CHECK_THROWS_WITH(diagnostics::mmd(x, y.topRows(1)),
                    contains("diagnostics::mmd: reference has 1 rows, but must have 2 like particles"));
  CHECK_THROWS_WITH(diagnostics::mmd(x, y.leftCols(1)), contains("reference has 1 columns, but needs at least 2"));
  CHECK_THROWS_WITH(diagnostics::mmd(MatrixXd(2, 0), y), contains("particles has 0 columns"));
  CHECK_THROWS_WITH(diagnostics::mmd(x, y, repel::Rbf{Fixed{0}}), contains("h is 0"));
  CHECK_THROWS_WITH(diagnostics::mmd_test(x, y, {.permutations = 0}), contains("permutations is 0"));
  x(0, 2) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(diagnostics::mmd_test(x, y), contains("particles(0, 2) is inf, but must be finite"));
}

}  // namespace diagnostics_mmd_test
