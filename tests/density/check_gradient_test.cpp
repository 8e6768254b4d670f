#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/density/check_gradient.hpp>
#include <repel/density/check_stein.hpp>
#include <repel/density/differentiated.hpp>
#include <repel/density/functions.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <cmath>

namespace density_check_gradient_test {

namespace {

using repel::Index;
using repel::Vector;

/// A regression with unknown scale: y ~ N(a + b t, e^c), on data of size 1000, so that values of log p are large.
struct Regression {
  static constexpr int kPoints = 30;
  double offset = 0;  ///< of log p

  template <class W>
  void log_density(const W& w, Vector<double>& values) const {
    values.resize(w.cols());
    for (Index j = 0; j < w.cols(); ++j) {
      const double a = static_cast<double>(w(0, j)), b = static_cast<double>(w(1, j)), c = static_cast<double>(w(2, j));
      values(j) = offset - 0.5 * (a * a + b * b) / 100 - 0.5 * c * c;
      for (int i = 0; i < kPoints; ++i) {
        const double t = 0.1 * i - 1, r = 1 + 2 * t + std::sin(20.0 * i) - a - b * t;
        values(j) -= 0.5 * r * r * std::exp(-2 * c) + c;
      }
    }
  }
  /// What a person gets wrong.
  double sign = 1, factor = 1, prior = 1, cross = 1;

  template <class W, class G>
  void operator()(const W& w, G& g) const {
    using Scalar = typename G::Scalar;
    for (Index j = 0; j < w.cols(); ++j) {
      const double a = static_cast<double>(w(0, j)), b = static_cast<double>(w(1, j)), c = static_cast<double>(w(2, j));
      double ga = -a / 100 * prior, gb = -b / 100, gc = -c * prior;
      for (int i = 0; i < kPoints; ++i) {
        const double t = 0.1 * i - 1, r = 1 + 2 * t + std::sin(20.0 * i) - a - b * t, p = std::exp(-2 * c);
        ga += r * p;
        gb += r * t * p * factor;
        gc += r * r * p * cross - 1;
      }
      g(0, j) = static_cast<Scalar>(ga);
      g(1, j) = static_cast<Scalar>(gb);
      g(2, j) = static_cast<Scalar>(sign * gc);
    }
  }
};

/// The same without its log density.
auto gradient_only(const Regression& r) {
  return [r](const auto& w, auto& g) { r(w, g); };
}

}  // namespace

TEMPLATE_TEST_CASE("right gradients pass", "[check_gradient]", float, double) {
  const repel::Matrix<TestType> w = repel::normal<TestType>(3, 4, 1);
  const auto with_density = repel::check_gradient(Regression{}, w),
             without = repel::check_gradient(gradient_only({}), w);
  INFO(with_density.message << "; " << without.message);
  CHECK(with_density.passed);
  CHECK(without.passed);
  CHECK_THAT(without.message, contains("cannot be seen without the log density"));
  CHECK(repel::check_gradient(Regression{.offset = 1e6}, w).passed);
}

TEMPLATE_TEST_CASE("planted mistakes are found and named", "[check_gradient]", float, double) {
  const repel::Matrix<TestType> w = repel::normal<TestType>(3, 4, 1);
  const auto sign = repel::check_gradient(Regression{.sign = -1}, w);
  CHECK_FALSE(sign.passed);
  CHECK(sign.coordinate == 2);
  CHECK(sign.value == Approx(-sign.expected).epsilon(1e-4));
  CHECK_THAT(sign.message, contains("coordinate 2 of particle") && contains("a sign error?"));
  const auto factor = repel::check_gradient(Regression{.factor = 1.1}, w);
  CHECK_FALSE(factor.passed);
  CHECK(factor.coordinate == 1);
  const auto missing = repel::check_gradient(Regression{.prior = 0}, w);
  CHECK_FALSE(missing.passed);
  CHECK(missing.coordinate != 1);
  // Without a density: what breaks the symmetry.
  const auto turned = repel::check_gradient(gradient_only({.sign = -1}), w),
             scaled = repel::check_gradient(gradient_only({.factor = 1.1}), w),
             term = repel::check_gradient(gradient_only({.cross = 0.9}), w);
  for (const auto& each : {turned, scaled, term}) {
    INFO(each.message);
    CHECK_FALSE(each.passed);
    CHECK(each.other >= 0);
    CHECK_THAT(each.message, contains("not the gradient of any log density"));
  }
}

TEST_CASE("a parameter that the density does not read is named", "[check_gradient]") {
  const auto density = repel::differentiated([]<class T>(const repel::Vector<T>& x) -> T {
    using std::log;
    return log(x(0)) - x(0);
  });
  const auto message = [](const auto& model) { return repel::check_gradient(model, model.initial(3, 1)).message; };
  CHECK_THAT(message(repel::constrained(density, repel::positive(2))),
             contains("; the derivative of coordinate 1 is 1 at every point (does the log density read it?)"));
  CHECK_THAT(message(repel::constrained(density, repel::positive(), repel::real(2))),
             contains("; the derivative of coordinate 1 is 0 at every point"));
  CHECK(message(repel::constrained(density, repel::positive())) == "the gradient fits the log density");
}

TEST_CASE("gradients are checked at small scales and near the edge of a support", "[check_gradient]") {
  // Gamma(3) in a coordinate of scale 1e-4, far closer to 0 than the first step of the differences.
  const auto log_density = []<class T>(const Vector<T>& w) -> T {
    using std::log;
    return 2 * log(w(0)) - w(0) * 1e4;
  };
  CHECK(repel::check_gradient(repel::differentiated(log_density), Eigen::MatrixXd::Constant(1, 1, 3e-4)).passed);
  auto wrong = repel::with_log_density(
      [](const auto& w, auto& g) { g.array() = 2.2 / w.array() - 1e4; },
      [](const auto& w, auto& values) { values = (2 * w.array().log() - 1e4 * w.array()).matrix().transpose(); });
  CHECK_FALSE(repel::check_gradient(wrong, Eigen::MatrixXd::Constant(1, 1, 3e-4)).passed);
}

TEST_CASE("a check of what cannot be checked is refused", "[check_gradient]") {
  auto negative = repel::differentiated([]<class T>(const Vector<T>& w) -> T {
    using std::log;
    return log(w(0));
  });
  CHECK_THROWS_WITH(repel::check_gradient(negative, Eigen::MatrixXd::Constant(1, 1, -1.0)), contains("must be"));
  CHECK_THROWS_WITH(repel::check_gradient(Regression{}, Eigen::MatrixXd(3, 0)), contains("w"));
  CHECK_THROWS_WITH(repel::check_stein(Regression{}, repel::normal(3, 5, 1)), contains("at least 10"));
}

TEST_CASE("Stein's identities tell samples from others", "[check_gradient]") {
  const Eigen::Matrix2d factor{{1.0, 0.0}, {3.0, 0.5}};
  const Eigen::Matrix2d precision = (factor * factor.transpose()).inverse();
  auto target = [&](const auto& w, auto& g) { g = -precision * w; };
  int passed = 0;
  for (unsigned seed = 0; seed < 40; ++seed)
    passed += repel::check_stein(target, factor * repel::normal(2, 200, seed)).passed;
  CHECK(passed >= 39);  // 99 % of them, and more with the tolerance of a tenth
  const Eigen::MatrixXd draws = factor * repel::normal(2, 200, 1);
  CHECK_FALSE(repel::check_stein(target, 0.7 * draws).passed);
  CHECK_FALSE(repel::check_stein(target, draws.colwise() + Eigen::Vector2d(1, 0)).passed);
  auto other = [&](const auto& w, auto& g) {  // a cross term is missing
    g = -precision * w;
    g.row(0) = -precision(0, 0) * w.row(0);
  };
  const auto found = repel::check_stein(other, draws);
  CHECK_FALSE(found.passed);
  CHECK(found.coordinate == 0);
}

TEST_CASE("two differences of a cubic are extrapolated to its derivative", "[check_gradient]") {
  // x³ + x at 0: the difference for step h is 1 + h², so that two of them are enough.
  repel::detail::RiddersDerivative derivative;
  for (const double h : {0.5, 0.25}) derivative.add(1 + h * h, 0);
  REQUIRE(derivative.value == 1);
}

TEST_CASE("check_gradient names a density that is no number before its gradient", "[check_gradient]") {
  const auto bounded = repel::differentiated([]<class T>(const Vector<T>& w) -> T {
    using std::log;
    return -0.5 * w(0) * w(0) + log(w(1)) - w(1);
  });
  const Eigen::MatrixXd w{{0.5, 0.1}, {1.0, -1.0}};
  CHECK(repel::check_gradient(bounded, w.leftCols(1)).passed);
  CHECK_THROWS_WITH(repel::check_gradient(bounded, w),
                    "repel::check_gradient: the log density of w.col(1) is nan, but must be finite: is there a NaN in "
                    "the data, or a parameter with a bound, which repel::constrained would keep?");
}

}  // namespace density_check_gradient_test
