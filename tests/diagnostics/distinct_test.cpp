#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/diagnostics/distinct.hpp>

#include <Eigen/Eigenvalues>

#include <cmath>
#include <limits>

namespace diagnostics_distinct_test {

using Eigen::MatrixXd;
using repel::Index;
namespace diagnostics = repel::diagnostics;

TEST_CASE("the number of distinct particles is n apart and 1 together", "[diagnostics][distinct]") {
  const MatrixXd x = repel::normal(3, 50, 1);
  CHECK(diagnostics::distinct(x, 1e-4) == Approx(50).epsilon(1e-12));
  CHECK(diagnostics::distinct(x, 1e6) == Approx(1).epsilon(1e-9));
  CHECK(diagnostics::distinct(MatrixXd::Ones(3, 50), 1e-4) == Approx(1).epsilon(1e-12));
  CHECK(diagnostics::distinct(x.leftCols(1), 1.0) == Approx(1).epsilon(1e-12));
  MatrixXd clumps(1, 12);  // four tight clumps
  for (Index i = 0; i < 12; ++i) clumps(i) = 10.0 * static_cast<double>(i % 4);
  CHECK(diagnostics::distinct(clumps, 1.0) == Approx(4).epsilon(1e-12));
}

TEMPLATE_TEST_CASE("the number of distinct particles agrees with loops and eigenvalues", "[diagnostics][distinct]",
                   float, double) {
  for (const Index d : {2, 25}) {
    const repel::Matrix<TestType> x = repel::normal<TestType>(d, 40, 2);
    const double length = 0.8 * std::sqrt(static_cast<double>(d));
    MatrixXd k(40, 40);
    for (Index i = 0; i < 40; ++i)
      for (Index j = 0; j < 40; ++j)
        k(i, j) = std::exp(-(x.col(i) - x.col(j)).template cast<double>().squaredNorm() / (2 * length * length)) / 40;
    const double tolerance = std::is_same_v<TestType, float> ? 1e-6 : 1e-12;  // here differences are rounded to float
    CHECK(diagnostics::distinct(x, length) == Approx(1 / k.squaredNorm()).epsilon(tolerance));
    const Eigen::VectorXd values = Eigen::SelfAdjointEigenSolver<MatrixXd>(k).eigenvalues();
    CHECK(diagnostics::distinct(x, length) == Approx(1 / values.squaredNorm()).epsilon(tolerance));
  }
}

TEST_CASE("a length from the posterior tells a collapse, one from the particles does not", "[diagnostics][distinct]") {
  for (const Index d : {2, 20}) {
    CAPTURE(d);
    const MatrixXd truth = repel::normal(d, 100, 3), healthy = repel::normal(d, 100, 4), collapsed = 0.1 * healthy;
    const double length = diagnostics::distinct_length(truth);
    CHECK(diagnostics::distinct(truth, length) == Approx(50).epsilon(1e-7));
    CHECK(diagnostics::distinct(healthy, length) > 40);
    CHECK(diagnostics::distinct(healthy, length) < 60);
    CHECK(diagnostics::distinct(collapsed, length) < 10);
    CHECK(diagnostics::distinct(collapsed, diagnostics::distinct_length(collapsed)) == Approx(50).epsilon(1e-7));
    const double narrow = diagnostics::distinct_length(truth, 0.9);
    CHECK(diagnostics::distinct(truth, narrow) == Approx(90).epsilon(1e-7));
  }
}

TEST_CASE("the number of distinct particles has the same bits for any number of threads", "[diagnostics][distinct]") {
  const MatrixXd x = repel::normal(30, 500, 5);
  repel::set_threads(1);
  const double reference = diagnostics::distinct(x, 6.0);
  for (const Index threads : {2, 3}) {
    repel::set_threads(threads);
    CHECK(diagnostics::distinct(x, 6.0) == reference);
  }
  repel::set_threads(1);
}

TEST_CASE("the number of distinct particles refuses what it cannot use", "[diagnostics][distinct]") {
  MatrixXd x = repel::normal(2, 10, 6);
  CHECK_THROWS_WITH(diagnostics::distinct(x, 0), contains("diagnostics::distinct: length is 0"));
  CHECK_THROWS_WITH(diagnostics::distinct(x, 1e-200), contains("length is 1e-200"));
  CHECK_THROWS_WITH(diagnostics::distinct(x, std::nan("")), contains("length is nan"));
  CHECK_THROWS_WITH(diagnostics::distinct(MatrixXd(2, 0), 1), contains("particles has 0 columns"));
  CHECK_THROWS_WITH(diagnostics::distinct_length(x, 1), contains("fraction is 1"));
  CHECK_THROWS_WITH(diagnostics::distinct_length(x, 0.1), contains("more than one of 10 members"));
  CHECK_THROWS_WITH(diagnostics::distinct_length(MatrixXd::Ones(2, 10)), contains("are the same"));
  x.rightCols(8).setZero();  // three different ones
  CHECK_THROWS_WITH(diagnostics::distinct_length(x, 0.5), contains("fraction of different columns"));
  x(1, 0) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(diagnostics::distinct(x, 1), contains("particles(1, 0) is nan"));
}

}  // namespace diagnostics_distinct_test
