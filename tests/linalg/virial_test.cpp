#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/core/threads.hpp>
#include <repel/linalg/virial.hpp>

#include <cmath>

namespace linalg_virial_test {

namespace {

/// The definition, by plain loops in double.
template <class X, class S>
Eigen::VectorXd definition(const X& x, const S& s) {
  Eigen::VectorXd t = Eigen::VectorXd::Zero(x.rows());
  for (Eigen::Index k = 0; k < x.rows(); ++k) {
    double mean = 0;
    for (Eigen::Index i = 0; i < x.cols(); ++i) mean += static_cast<double>(x(k, i)) / static_cast<double>(x.cols());
    for (Eigen::Index i = 0; i < x.cols(); ++i)
      t(k) -= (static_cast<double>(x(k, i)) - mean) * static_cast<double>(s(k, i)) / static_cast<double>(x.cols() - 1);
  }
  return t;
}

}  // namespace

TEMPLATE_TEST_CASE("T equals its definition", "[virial]", float, double) {
  using Mat = repel::Matrix<TestType>;
  for (const auto& size : {std::pair{1, 2}, {3, 7}, {15, 40}, {16, 40}, {130, 65}, {300, 130}, {600, 70}}) {
    const int d = size.first, n = size.second;
    const Mat x = repel::normal<TestType>(d, n, 1), s = repel::normal<TestType>(d, n, 2);
    const Eigen::VectorXd expected = definition(x, s);
    CAPTURE(d, n);
    CHECK(test::relative_error(repel::temperatures(x, s), expected) < test::rounding<TestType>());
    CHECK(std::abs(repel::temperature(x, s) - expected.mean()) < test::rounding<TestType>());
  }
}

TEST_CASE("an offset of all particles costs T no digits", "[virial]") {
  for (const int d : {2, 40}) {
    // In float, against the same numbers in double: rounding errors of 4096 · g would be 1e-3 of T.
    const Eigen::MatrixXf x = (repel::normal(d, 50, 1).array() + 4096).matrix().cast<float>(),
                          s = repel::normal(d, 50, 2).cast<float>();
    CHECK(test::relative_error(repel::temperatures(x, s), definition(x, s)) < 1e-5);
  }
}

TEST_CASE("T of particles stored by rows is the same", "[virial]") {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXd x = repel::normal(30, 50, 1), s = repel::normal(30, 50, 2);
  std::vector<repel::detail::VirialSums> sums;
  const double by_rows = repel::detail::temperature_of(RowMajor(x), RowMajor(s), sums);
  CHECK(by_rows == Approx(repel::temperature(x, s)).epsilon(1e-12));
}

TEST_CASE("T is 1 for exact draws", "[virial]") {
  // N(0, I): the standard deviation of T is √(2/(nd)), here 0.0045 and 0.014: 0.05 is beyond three of them.
  const Eigen::MatrixXd many = repel::normal(10, 10000, 3), wide = repel::normal(100, 100, 4);
  CHECK(repel::temperature(many, -many) == Approx(1).margin(0.05));
  CHECK(repel::temperature(wide, -wide) == Approx(1).margin(0.05));
  // Standard logistic, by inversion: s = −tanh(x/2).
  Eigen::MatrixXd logistic(1, 20000);
  repel::Random random(5);
  for (Eigen::Index i = 0; i < logistic.cols(); ++i) {
    const double u = random.uniform();
    logistic(0, i) = std::log(u / (1 - u));
  }
  const Eigen::MatrixXd score = -(logistic.array() / 2).tanh().matrix();
  CHECK(repel::temperature(logistic, score) == Approx(1).margin(0.05));
  CHECK(repel::temperature(0.5 * many, -0.5 * many) == Approx(0.25).margin(0.02));  // too narrow by half
}

TEST_CASE("T has the same bits for any number of threads", "[virial]") {
  const Eigen::MatrixXd x = repel::normal(3000, 200, 1), s = repel::normal(3000, 200, 2);
  const double one = repel::temperature(x, s);
  repel::set_threads(3);
  const double three = repel::temperature(x, s);
  repel::set_threads(1);
  CHECK(one == three);
}

TEST_CASE("T of bad input is refused", "[virial]") {
  const Eigen::MatrixXd x = repel::normal(2, 5, 1);
  CHECK_THROWS_WITH(repel::temperature(x.leftCols(1), x.leftCols(1)), contains("must have at least 2"));
  CHECK_THROWS_WITH(repel::temperature(x, x.leftCols(4)), contains("S is 2x4"));
  Eigen::MatrixXd nan = x;
  nan(1, 2) = std::nan("");
  CHECK_THROWS_WITH(repel::temperature(x, nan), contains("S"));
  CHECK_THROWS_WITH(repel::temperatures(nan, x), contains("X"));
}

}  // namespace linalg_virial_test
