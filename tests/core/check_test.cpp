#include "catch.hpp"

#include <repel/core/check.hpp>

#include <cmath>
#include <limits>

namespace core_check_test {

using repel::detail::all_usable;
using repel::detail::largest_coordinate;

TEMPLATE_TEST_CASE("values whose squares cannot be summed are not usable", "[check]", float, double) {
  using M = repel::Matrix<TestType>;
  for (const auto& [rows, cols] : {std::pair{1, 1}, {3, 7}, {17, 5}}) {
    M m = M::Random(rows, cols);
    CHECK(all_usable(m));
    for (const TestType bad : {std::numeric_limits<TestType>::quiet_NaN(), std::numeric_limits<TestType>::infinity(),
                               -std::numeric_limits<TestType>::infinity(), std::numeric_limits<TestType>::max(),
                               -2 * largest_coordinate<TestType>()}) {
      for (repel::Index j = 0; j < m.cols(); ++j) {
        M broken = m;
        broken(rows - 1, j) = bad;
        CHECK_FALSE(all_usable(broken));
        CHECK(repel::detail::first_unusable_column(broken) == j);
      }
    }
    m(0, 0) = largest_coordinate<TestType>();
    CHECK(all_usable(m));
  }
}

TEST_CASE("messages name the function, the argument, its value and the rule", "[check]") {
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(3, 20);
  m(2, 17) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(repel::detail::require_points("weight_space", "particles", m),
                    "repel::weight_space: particles(2, 17) is nan, but must be finite");
  CHECK_THROWS_WITH(repel::detail::require_points("weight_space", "particles", Eigen::MatrixXd(3, 0)),
                    "repel::weight_space: particles has 0 columns, but needs at least 1 (one per particle)");
  CHECK_THROWS_WITH(repel::detail::require_points("weight_space", "particles", Eigen::MatrixXd(0, 3)),
                    "repel::weight_space: particles has 0 rows, but needs at least 1 (the dimension)");
  Eigen::MatrixXf large = Eigen::MatrixXf::Constant(1, 1, 1e30f);
  CHECK_THROWS_WITH(repel::detail::require_points("gram", "X", large),
                    "repel::gram: X(0, 0) is 1e+30, but must be at most 2.2518e+15 in magnitude: its square would "
                    "overflow 32-bit arithmetic");
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK(repel::detail::concat(nan, ' ', -nan, ' ', std::copysign(nan, -1.0), ' ', inf, ' ', -inf) ==
        "nan nan nan inf -inf");  // whatever the standard library says
}

}  // namespace core_check_test
