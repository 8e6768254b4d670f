#include "catch.hpp"

#include <repel/core/random.hpp>

#include <stdexcept>

namespace core_random_test {

TEST_CASE("normal draws have the moments asked for", "[random]") {
  // 40 000 draws: the standard errors of mean and variance are 0.009 and 0.023 at sd = 1.7.
  const Eigen::MatrixXd x = repel::normal(2, 20'000, 42, 1.7);
  REQUIRE(x.rows() == 2);
  REQUIRE(x.cols() == 20'000);
  CHECK(x.mean() == Approx(0).margin(0.04));
  CHECK((x.array() - x.mean()).square().mean() == Approx(1.7 * 1.7).margin(0.1));
  CHECK((x.array().abs() < 1.7).cast<double>().mean() == Approx(0.6827).margin(0.01));
  CHECK((x.row(0).array() * x.row(1).array()).mean() == Approx(0).margin(0.08));  // coordinates are independent
}

TEST_CASE("the same seed gives the same bits, another seed others", "[random]") {
  CHECK(repel::normal(3, 5, 7) == repel::normal(3, 5, 7));
  CHECK(repel::normal(3, 5, 7) != repel::normal(3, 5, 8));
  CHECK(repel::normal<float>(3, 5, 7) == repel::normal(3, 5, 7).cast<float>());
  // A fixed value, so that a change of the stream does not go unnoticed.
  CHECK(repel::normal(1, 1, 42)(0, 0) == Approx(-0.4812176998).epsilon(1e-9));
}

TEST_CASE("bad sizes are refused by name", "[random]") {
  CHECK_THROWS_WITH(repel::normal(0, 3, 1), "repel::normal: dim is 0, but must be at least 1");
  CHECK_THROWS_WITH(repel::normal(2, -1, 1), "repel::normal: count is -1, but must be at least 1");
  CHECK_THROWS_AS(repel::normal(2, 2, 1, -1.0), std::invalid_argument);
  CHECK_THROWS_WITH(repel::normal<float>(2, 2, 1, 1e300), contains("repel::normal: sd is 1e+300, but must be at most"));
}

}  // namespace core_random_test
