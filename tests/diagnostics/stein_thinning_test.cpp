#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/diagnostics/ksd.hpp>
#include <repel/diagnostics/stein_thinning.hpp>
#include <repel/kernel/rbf.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace diagnostics_stein_thinning_test {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using repel::Index;
namespace diagnostics = repel::diagnostics;

/// The greedy choice by its definition: all sums over pairs anew for every candidate.
std::vector<Index> plain_thinning(const MatrixXd& u, Index m) {
  std::vector<Index> chosen;
  for (Index step = 0; step < m; ++step) {
    Index best = -1;
    double smallest = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < u.cols(); ++i) {
      std::vector<Index> with = chosen;
      with.push_back(i);
      double sum = 0;
      for (const Index a : with)
        for (const Index b : with) sum += u(a, b);
      if (sum < smallest) smallest = sum, best = i;
    }
    chosen.push_back(best);
  }
  return chosen;
}

double ksd_of(const MatrixXd& x) { return diagnostics::ksd(x, -x, repel::Imq{repel::FixedBandwidth{2.0}}).v; }

MatrixXd at(const MatrixXd& x, const std::vector<Index>& chosen) { return x(Eigen::seqN(0, x.rows()), chosen); }

}  // namespace

TEMPLATE_TEST_CASE("Stein thinning is the greedy choice", "[diagnostics][thinning]", float, double) {
  for (const Index n : {5, 70}) {
    const repel::Matrix<TestType> x = repel::normal<TestType>(2, n, 1, 1.5), s = -x;
    const std::vector<Index> wanted = plain_thinning(diagnostics::stein_matrix(x, s), 12);  // 12 of 5: with repetition
    CHECK(diagnostics::stein_thinning(x, s, 12) == wanted);
    const repel::Rbf<repel::FixedBandwidth> rbf{{1.0}};
    CHECK(diagnostics::stein_thinning(x, s, 12, rbf) == plain_thinning(diagnostics::stein_matrix(x, s, rbf), 12));
  }
}

TEST_CASE("a thinned chain is closer to the target than its beginning and than every k-th draw",
          "[diagnostics][thinning]") {
  MatrixXd x = repel::normal(2, 1000, 2, 1.3);
  x.leftCols(200).array() += 4;  // burn-in, and too wide
  const double thinned = ksd_of(at(x, diagnostics::stein_thinning(x, -x, 20)));
  std::vector<Index> regular;
  for (Index i = 0; i < 1000; i += 50) regular.push_back(i);
  CHECK(thinned < 0.1 * ksd_of(at(x, regular)));
  CHECK(thinned < 0.4 * ksd_of(repel::normal(2, 20, 3)));  // draws from the target itself
}

TEST_CASE("Stein weights minimise the discrepancy over the simplex", "[diagnostics][thinning]") {
  const MatrixXd x = repel::normal(10, 80, 4, 1.5);
  const MatrixXd u = diagnostics::stein_matrix(x, -x);
  const diagnostics::SteinWeights fit = diagnostics::stein_weights(x, -x, {.tolerance = 1e-9});
  REQUIRE(fit.converged);
  CHECK(fit.weights.minCoeff() >= 0);
  CHECK(fit.weights.sum() == Approx(1).epsilon(1e-12));
  CHECK(fit.ksd == Approx(fit.weights.dot(u * fit.weights)).epsilon(1e-9));
  CHECK(fit.ksd < 0.5 * u.mean());
  CHECK(fit.equal_ksd == Approx(u.mean()).epsilon(1e-12));
  CHECK(fit.gap <= 1e-9 * u.mean());
  // The conditions of Karush, Kuhn and Tucker: (Uw)_i = wᵀUw where w_i > 0, and at least that elsewhere.
  const VectorXd gradient = u * fit.weights;
  for (Index i = 0; i < 80; ++i) {
    CHECK(gradient(i) >= fit.ksd * (1 - 1e-7));
    if (fit.weights(i) > 1e-3) CHECK(gradient(i) == Approx(fit.ksd).epsilon(1e-5));
  }
  CHECK((fit.weights.array() == 0).any());
  // A looser tolerance stops earlier, no further above the minimum than its gap says.
  const diagnostics::SteinWeights loose = diagnostics::stein_weights(x, -x, {.tolerance = 0.01});
  CHECK(loose.converged);
  CHECK(loose.iterations < fit.iterations);
  CHECK(loose.ksd > fit.ksd);
  CHECK(loose.ksd - loose.gap <= fit.ksd * (1 + 1e-12));
  const diagnostics::SteinWeights stopped = diagnostics::stein_weights(x, -x, {.tolerance = 1e-9, .iterations = 3});
  CHECK_FALSE(stopped.converged);
  CHECK(stopped.iterations == 3);
}

TEST_CASE("Stein weights correct the mean of draws from elsewhere", "[diagnostics][thinning]") {
  MatrixXd x = repel::normal(2, 300, 5, 1.3);
  x.row(0).array() += 0.5;
  const diagnostics::SteinWeights fit = diagnostics::stein_weights(x, -x);
  CHECK(fit.converged);
  CHECK((x * fit.weights).norm() < 0.05);  // that of the draws is 0.5
  const double squares = (x.array().square().matrix() * fit.weights).mean();
  CHECK(squares == Approx(1).margin(0.1));  // that of the draws is 1.8
  const Eigen::MatrixXf single = x.cast<float>();
  CHECK(test::relative_error((x * diagnostics::stein_weights(single, -single).weights).eval(), x * fit.weights) < 0.2);
}

TEST_CASE("draws that coincide get their weights together", "[diagnostics][thinning]") {
  MatrixXd x(1, 4);
  x << 1, 1, -1, -1;
  const diagnostics::SteinWeights fit = diagnostics::stein_weights(x, -x);
  CHECK(fit.converged);
  CHECK(fit.weights(0) + fit.weights(1) == Approx(0.5).epsilon(1e-6));
  const std::vector<Index> chosen = diagnostics::stein_thinning(x, -x, 2);
  CHECK(chosen == std::vector<Index>{0, 2});
}

TEST_CASE("Stein thinning and weights have the same bits for any number of threads", "[diagnostics][thinning]") {
  const MatrixXd x = repel::normal(10, 700, 6);
  repel::set_threads(1);
  const std::vector<Index> chosen = diagnostics::stein_thinning(x, -x, 30);
  const VectorXd weights = diagnostics::stein_weights(x, -x, {.iterations = 500}).weights;
  for (const Index threads : {2, 3}) {
    repel::set_threads(threads);
    CHECK(diagnostics::stein_thinning(x, -x, 30) == chosen);
    CHECK(diagnostics::stein_weights(x, -x, {.iterations = 500}).weights == weights);
  }
  repel::set_threads(1);
}

TEST_CASE("Stein thinning and weights refuse what they cannot use", "[diagnostics][thinning]") {
  MatrixXd x = repel::normal(2, 5, 7);
  const MatrixXd s = -x;
  CHECK_THROWS_WITH(diagnostics::stein_thinning(x, s, 0), contains("diagnostics::stein_thinning: m is 0"));
  CHECK_THROWS_WITH(diagnostics::stein_thinning(x, s.leftCols(2), 3), contains("scores is 2x2, but must be 2x5"));
  CHECK_THROWS_WITH(diagnostics::stein_thinning(x.leftCols(1), s.leftCols(1), 3), contains("at least 2"));
  CHECK_THROWS_WITH(diagnostics::stein_weights(x, s, {.tolerance = 0}), contains("tolerance is 0"));
  CHECK_THROWS_WITH(diagnostics::stein_weights(x, s, {.iterations = 0}), contains("iterations is 0"));
  x(0, 4) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(diagnostics::stein_weights(x, s), contains("draws(0, 4) is nan"));
}

}  // namespace diagnostics_stein_thinning_test
