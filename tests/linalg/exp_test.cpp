#include "catch.hpp"

#include <repel/linalg/exp.hpp>

#include <cmath>
#include <limits>

namespace linalg_exp_test {

namespace {

/// The largest error over many arguments, in units in the last place of the exact result.
template <class Scalar>
double worst_ulp(double from, double to, double step) {
  double worst = 0;
  constexpr int length = 16;
  for (double start = from; start < to; start += length * step) {
    Eigen::Array<Scalar, length, 1> u;
    for (int i = 0; i < length; ++i) u(i) = static_cast<Scalar>(std::min(to, start + i * step));
    const Eigen::Array<Scalar, length, 1> got = repel::exp_minus(u);
    for (int i = 0; i < length; ++i) {
      const long double exact = std::exp(-static_cast<long double>(u(i)));
      const auto nearest = static_cast<Scalar>(exact);
      const auto unit = static_cast<long double>(std::nextafter(nearest, Scalar(2)) - nearest);
      worst = std::max(worst, static_cast<double>(std::abs(static_cast<long double>(got(i)) - exact) / unit));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("exp_minus is within 1 unit in the last place wherever the result is a normal number", "[exp]") {
  // Without a fused multiply-add (no -march) a few more roundings add up: 1.5 units.
  CHECK(worst_ulp<double>(0, 1, 1.37e-6) < 1.5);
  CHECK(worst_ulp<double>(1, 708.39, 1.71e-3) < 1.5);
  CHECK(worst_ulp<float>(0, 87.33, 1.13e-4) < 1.5);
#ifdef __FMA__
  CHECK(worst_ulp<double>(0, 708.39, 1.7e-3) < 1.0);
  CHECK(worst_ulp<float>(0, 87.33, 1.1e-4) < 1.0);
#endif
}

TEMPLATE_TEST_CASE("exp_minus at the ends of its range", "[exp]", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const auto at = [](TestType u) {
    Eigen::Array<TestType, 8, 1> all = repel::exp_minus(Eigen::Array<TestType, 8, 1>::Constant(u));
    CHECK(((all == all(0)).all() || std::isnan(all(0))));  // every lane alike
    return all(0);
  };
  CHECK(at(0) == 1);
  CHECK(at(Limits::denorm_min()) == 1);
  const TestType last = -std::log(Limits::min());
  CHECK(at(last * TestType(0.9999)) > 0);
  CHECK(at(last * TestType(1.001)) == 0);  // no result below the normal numbers
  CHECK(at(10000) == 0);
  CHECK(at(Limits::max()) == 0);
  CHECK(at(Limits::infinity()) == 0);
  CHECK(std::isnan(at(Limits::quiet_NaN())));
}

TEMPLATE_TEST_CASE("exp_minus has the same bits for a single number and in an array", "[exp]", float, double) {
  const Eigen::Array<TestType, Eigen::Dynamic, 1> u = Eigen::Array<TestType, Eigen::Dynamic, 1>::LinSpaced(1003, 0, 50);
  const Eigen::Array<TestType, Eigen::Dynamic, 1> all = repel::exp_minus(u), shifted = repel::exp_minus(u.tail(1002));
  for (Eigen::Index i = 0; i < u.size(); ++i) CHECK(repel::detail::ExpMinus<TestType>{}(u(i)) == all(i));
  CHECK((shifted == all.tail(1002)).all());
}

}  // namespace linalg_exp_test
