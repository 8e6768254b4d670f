#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/adolc.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <cmath>

namespace adapters_adolc_test {

namespace {

using repel::Vector;

struct Density {
  Eigen::MatrixXd design = repel::normal(7, 60, 5);

  template <class T>
  T operator()(const Vector<T>& w) const {
    using std::cos, std::exp, std::log, std::pow, std::sin, std::sqrt, std::tanh;
    const Vector<T> eta = design.leftCols(w.size()) * w;
    T sum = -0.5 * w.squaredNorm();
    for (Eigen::Index i = 0; i < eta.size(); ++i) sum -= repel::log1p_exp(eta(i));
    sum += repel::log_sum_exp(eta) + repel::log_gamma(T(2 + exp(w(0)))) - log(1 + w(0) * w(0));
    return sum + sin(eta(0)) * cos(eta(1)) + tanh(eta(2)) - sqrt(1 + eta(3) * eta(3)) + pow(eta(4), 3) / 10;
  }
};

struct Branching {
  template <class T>
  T operator()(const Vector<T>& w) const {
    if (w(0) > 0) return -0.5 * w(0) * w(0);
    return -2.0 * w(0) * w(0);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("ADOL-C's gradients are those of forward mode", "[adolc]", float, double) {
  for (const int d : {1, 9, 60}) {
    const repel::Matrix<TestType> w = repel::normal<TestType>(d, 8, 3, 0.3);
    auto forward = repel::differentiated(Density{});
    auto reverse = repel::adolc::differentiated(Density{});
    repel::Matrix<TestType> f(d, 8), r(d, 8), again(d, 8);
    Eigen::VectorXd values, both;
    forward(w, f);
    reverse(w, r);
    reverse.log_density(w, values);
    reverse.value_and_gradient(w, again, both);
    CHECK(test::relative_error(r, f) < test::rounding<TestType>());
    CHECK(again == r);
    CHECK(test::relative_error(both, values) < 1e-13);
    CHECK(reverse.recordings() == 1);
    auto copy = reverse;  // with a tape of its own
    copy(w, again);
    CHECK(again == r);
    CHECK(repel::check_gradient(reverse, w.leftCols(2)).passed);
  }
}

TEST_CASE("a tape whose branch changed is noticed", "[adolc]") {
  const Eigen::MatrixXd w{{1.0, 2.0, -1.0}};
  Eigen::MatrixXd g(1, 3);
  auto refusing = repel::adolc::differentiated(Branching{});
  CHECK_THROWS_WITH(refusing(w, g), contains("takes another branch at particle 2"));
  auto recording = repel::adolc::differentiated(Branching{}, repel::adolc::Branches::record_again);
  recording(w, g);
  CHECK(g == Eigen::MatrixXd{{-1.0, -2.0, 4.0}});
  CHECK(recording.recordings() == 2);
}

TEST_CASE("tapes serve samplers with constraints, on any number of threads", "[adolc]") {
  const auto log_density = []<class T>(const Vector<T>& x) -> T {
    using std::log;
    return 2 * log(x(0)) - 2 * x(0) - 0.5 * (x(1) - x(0)) * (x(1) - x(0));
  };
  const auto particles_of = [&](auto target, repel::Index threads) {
    repel::set_threads(threads);
    auto sampler = repel::weight_space(repel::constrained(target, repel::positive(), repel::real()), repel::Svgd{});
    auto state = sampler.init(repel::normal(2, 40, 1));
    CHECK(repel::run(sampler, state, 50).finished());
    repel::set_threads(0);
    return state.particles;
  };
  const Eigen::MatrixXd one = particles_of(repel::adolc::differentiated(log_density), 1);
  CHECK(one == particles_of(repel::adolc::differentiated(log_density), 3));
  CHECK(test::relative_error(one, particles_of(repel::differentiated(log_density), 1)) < 1e-9);
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

TEST_CASE("new data make a new tape, and what is not a number has no gradient", "[adolc]") {
  auto sampler = repel::weight_space(repel::adolc::differentiated(Batches{}), repel::PlainEnsemble{},
                                     repel::Sgd{.learning_rate = 1.0});
  auto state = sampler.init(Eigen::MatrixXd::Constant(1, 3, 100.0));
  for (int step = 0; step < 4; ++step) {
    sampler.step(state);
    CHECK(state.particles.isApproxToConstant(step));
  }
  auto log = repel::adolc::differentiated([]<class T>(const Vector<T>& w) -> T {
    using std::log;
    return log(w(0));
  });
  Eigen::MatrixXd g(1, 2);
  log(Eigen::MatrixXd{{2.0, -1.0}}, g);
  CHECK(g(0, 0) == 0.5);
  CHECK(std::isnan(g(0, 1)));
}

}  // namespace adapters_adolc_test
