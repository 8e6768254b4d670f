#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/density/differentiated.hpp>
#include <repel/density/functions.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <cmath>
#include <limits>

namespace density_differentiated_test {

namespace {

using repel::Vector;

/// Every function that a density may use, in d coordinates that depend on each other.
struct Everything {
  Eigen::MatrixXd design = repel::normal(7, 40, 5);

  template <class T>
  T operator()(const Vector<T>& w) const {
    using std::abs, std::cos, std::exp, std::log, std::pow, std::sin, std::sqrt, std::tanh;
    const Vector<T> eta = design.leftCols(w.size()) * w;
    T sum = -0.5 * w.squaredNorm();
    for (Eigen::Index i = 0; i < eta.size(); ++i) sum -= repel::log1p_exp(eta(i));
    sum += repel::log_sum_exp(eta) + repel::log_gamma(T(2 + exp(w(0)))) - log(1 + w(0) * w(0));
    sum += sin(eta(0)) * cos(eta(1)) + tanh(eta(2)) - sqrt(1 + abs(eta(3))) + pow(eta(4), 3) / 10;
    return sum - (w(0) > 0 ? T(w(0) * w(0)) : T(3 * w(0) * w(0)));
  }
};

/// Central differences; in double a step of 1e-5 leaves some 1e-9.
Eigen::VectorXd by_differences(const Everything& f, const Eigen::VectorXd& w) {
  Eigen::VectorXd g(w.size());
  for (Eigen::Index k = 0; k < w.size(); ++k) {
    Eigen::VectorXd up = w, down = w;
    up(k) += 1e-5;
    down(k) -= 1e-5;
    g(k) = (f(up) - f(down)) / 2e-5;
  }
  return g;
}

}  // namespace

namespace {

template <class T>
concept CanPow = requires(T a, T b) {
  repel::pow(a, b);
};

}  // namespace

TEST_CASE("functions for densities against the standard library's", "[differentiated]") {
  for (const double x : {1e-6, 0.1, 0.5, 1.0, 2.0, 7.3, 8.0, 100.0, 1e6})
    CHECK(repel::log_gamma(x) == Approx(std::lgamma(x)).epsilon(1e-13).margin(1e-13));
  for (const double x : {-800.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0})
    CHECK(repel::log1p_exp(x) == Approx(std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)))).margin(1e-15));
  CHECK(repel::log_sum_exp(Eigen::VectorXd(Eigen::Vector3d(1000, 999, -1000))) ==
        Approx(1000 + std::log1p(std::exp(-1.0))));
  CHECK(repel::log_sum_exp(1000.0, 999.0) == Approx(1000 + std::log1p(std::exp(-1.0))));
  CHECK(repel::log_sum_exp(-1000.0, 3) == 3);
  constexpr double infinity = std::numeric_limits<double>::infinity();  // −∞ is the logarithm of a weight of 0
  CHECK(repel::log_sum_exp(-infinity, 3.0) == 3);
  CHECK(repel::log_sum_exp(3.0, -infinity) == 3);
  CHECK(repel::log_sum_exp(-infinity, -infinity) == -infinity);
  CHECK(repel::log_sum_exp(infinity, 3.0) == infinity);
  CHECK(std::isnan(repel::log_sum_exp(std::nan(""), infinity)));
  CHECK(repel::log_sum_exp(Eigen::VectorXd(Eigen::Vector3d(-infinity, 3, -infinity))) == 3);
  CHECK(repel::log_sum_exp(Eigen::VectorXd(Eigen::Vector2d(-infinity, -infinity))) == -infinity);
  STATIC_REQUIRE(!CanPow<int>);  // where `using namespace repel` would let it win over std::pow
  STATIC_REQUIRE(CanPow<repel::Dual>);
  for (const double exponent : {-2.5, 0.0, 0.3, 4.0})
    CHECK(repel::pow(1.7, exponent) == Approx(std::pow(1.7, exponent)).epsilon(1e-14));
  const repel::Dual power = repel::pow(repel::Dual(1.7, 8, 0), repel::Dual(2.5, 8, 1));
  CHECK(power.derivatives()(0) == Approx(2.5 * std::pow(1.7, 1.5)));
  CHECK(power.derivatives()(1) == Approx(std::pow(1.7, 2.5) * std::log(1.7)));
  CHECK(repel::pow(repel::Dual(1.7, 8, 0), 3).derivatives()(0) == Approx(3 * 1.7 * 1.7));
  // The derivative at the kinks of |x|, of which these functions are made: the logistic function and a softmax.
  const repel::Dual zero(0.0, 8, 0);
  CHECK(repel::Dual(repel::log1p_exp(zero)).derivatives()(0) == 0.5);
  Vector<repel::Dual> equal(2);
  equal << repel::Dual(1.0, 8, 0), repel::Dual(1.0, 8, 1);
  CHECK(repel::log_sum_exp(equal).derivatives().head(2).isApproxToConstant(0.5));
  CHECK(repel::Dual(repel::log_sum_exp(equal(0), equal(1))).derivatives().head(2).isApproxToConstant(0.5));
}

TEMPLATE_TEST_CASE("differentiated densities against finite differences", "[differentiated]", float, double) {
  const Everything f;
  for (const int d : {1, 5, 8, 9, 40}) {
    CAPTURE(d);
    auto target = repel::differentiated(f);
    const repel::Matrix<TestType> w = repel::normal<TestType>(d, 6, 3, 0.3);
    repel::Matrix<TestType> g(d, 6), again(d, 6);
    Eigen::VectorXd values, both;
    target(w, g);
    target.log_density(w, values);
    target.value_and_gradient(w, again, both);
    CHECK(again == g);
    CHECK(test::relative_error(both, values) < 1e-13);
    for (int j = 0; j < 6; ++j) {
      const Eigen::VectorXd x = w.col(j).template cast<double>();
      CHECK(values(j) == f(x));
      // The gradient is computed in double and rounded once.
      CHECK(test::relative_error(g.col(j).template cast<double>(), by_differences(f, x)) <
            (sizeof(TestType) == 4 ? 1e-6 : 1e-8));
    }
  }
}

TEST_CASE("differentiated densities give the same bits for any number of threads", "[differentiated]") {
  const Eigen::MatrixXd w = repel::normal(40, 30, 3, 0.3);
  Eigen::MatrixXd one(40, 30), many(40, 30);
  auto target = repel::differentiated(Everything{});
  repel::set_threads(1);
  target(w, one);
  repel::set_threads(3);
  target(w, many);
  repel::set_threads(0);
  CHECK(one == many);
}

TEST_CASE("a density alone is enough for samplers and HMC", "[differentiated]") {
  const auto log_density = []<class T>(const Vector<T>& w) -> T {
    return -0.5 * (w(0) - 1) * (w(0) - 1) - 0.125 * (w(1) - w(0)) * (w(1) - w(0));
  };
  auto by_hand = [](const auto& w, auto& g) {
    g.row(1) = -0.25 * (w.row(1) - w.row(0));
    g.row(0) = 1 - w.row(0).array() - g.row(1).array();
  };
  const auto particles_of = [](auto sampler) {
    auto state = sampler.init(repel::normal(2, 50, 1));
    CHECK(repel::run(sampler, state, 100).finished());
    return state.particles;
  };
  const Eigen::MatrixXd hand = particles_of(repel::weight_space(by_hand, repel::Svgd{})),
                        automatic =
                            particles_of(repel::weight_space(repel::differentiated(log_density), repel::Svgd{}));
  CHECK(test::relative_error(automatic, hand) < 1e-10);

  // x ~ N(1, 1), y ~ N(x, 2): 4000 draws are good for 0.03 of a mean and 0.15 of a variance of 5, three times over.
  const auto chains = repel::hmc(repel::differentiated(log_density), repel::normal(2, 4, 1),
                                 repel::Hmc{.warmup = 300, .samples = 1000, .leapfrog_steps = 10, .seed = 1});
  CHECK(chains.draws.row(1).mean() == Approx(1).margin(0.2));
  CHECK((chains.draws.row(1).array() - 1).square().mean() == Approx(5).margin(0.7));
}

namespace {

struct Batches {
  double centre = 0;
  void begin_step(repel::Index step) { centre = static_cast<double>(step); }
  template <class T>
  T operator()(const Vector<T>& w) const {
    return -0.5 * (w(0) - centre) * (w(0) - centre);
  }
};

}  // namespace

/// Reads three parameters, and says so.
struct Three {
  repel::Index dim() const { return 3; }
  template <class T>
  T operator()(const Vector<T>& w) const {
    return -0.5 * (w(0) * w(0) + w(1) * w(1) + w(2) * w(2));
  }
};

TEST_CASE("a density that says how many parameters it reads gets as many", "[differentiated]") {
  auto target = repel::differentiated(Three{});
  CHECK(target.dim() == 3);
  Eigen::MatrixXd g;
  Eigen::VectorXd values;
  target(repel::normal(3, 5, 1), g);
  CHECK(g.rows() == 3);
  for (const int rows : {2, 4}) {
    const Eigen::MatrixXd w = repel::normal(rows, 5, 1);
    CHECK_THROWS_WITH(target(w, g), contains("rows, but must have 3, the log density's dim"));
    CHECK_THROWS_WITH(target.log_density(w, values), contains("must have 3"));
    CHECK_THROWS_WITH(target.value_and_gradient(w, g, values), contains("must have 3"));
  }
  CHECK_THROWS_WITH(repel::sample(target, 2), contains("w has 2 rows, but must have 3"));
  const auto lambda = []<class T>(const Vector<T>& w) -> T { return -w.squaredNorm(); };
  CHECK(repel::differentiated(lambda).dim() == 0);
  CHECK(repel::differentiated(lambda, 2).dim() == 2);
  CHECK_THROWS_WITH(repel::differentiated(lambda, 0), contains("dim is 0, but must be at least 1"));
}

TEST_CASE("a density that draws minibatches hears of every step", "[differentiated]") {
  auto sampler =
      repel::weight_space(repel::differentiated(Batches{}), repel::PlainEnsemble{}, repel::Sgd{.learning_rate = 1.0});
  auto state = sampler.init(Eigen::MatrixXd::Constant(1, 3, 100.0));
  for (int step = 0; step < 4; ++step) {
    sampler.step(state);
    CHECK(state.particles.isApproxToConstant(step));  // one step of 1 goes all the way to the centre
  }
}

TEST_CASE("a density that is not a number is reported, and nothing moves", "[differentiated]") {
  auto target = repel::differentiated([]<class T>(const Vector<T>& w) -> T {
    using std::log;
    return log(w(0)) - w(0);
  });
  auto sampler = repel::weight_space(target, repel::Svgd{});
  auto state = sampler.init(Eigen::MatrixXd::Constant(1, 3, -1.0));
  const repel::Report report = repel::run(sampler, state, 10);
  CHECK(report.stop == repel::Report::Stop::not_finite);
  CHECK(state.particles.isApproxToConstant(-1.0));
  CHECK_THROWS_WITH(repel::hmc(target, Eigen::MatrixXd::Constant(1, 3, -1.0)),
                    contains("the log density of initial.col(0) is") && contains("nan, but must be finite"));
}

}  // namespace density_differentiated_test
