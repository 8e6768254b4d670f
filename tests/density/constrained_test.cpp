#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <Eigen/LU>

#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <vector>

namespace density_constrained_test {

namespace {

using repel::Index;
using repel::Vector;

/// df/dt at 0 by central differences of eighth order with wide steps, which leave 1e-9 and keep digits: in long double,
/// since x may be 1e-13 away from a bound of size 1.
template <class F>
auto derivative(const F& f) {
  constexpr long double h = 0.02L;
  const auto slope = [&](int step) { return (f(step * h) - f(-step * h)).eval(); };
  return ((672.0L * slope(1) - 168.0L * slope(2) + 32.0L * slope(3) - 3.0L * slope(4)) / (840.0L * h)).eval();
}

using Long = Eigen::Matrix<long double, Eigen::Dynamic, 1>;

/// x at z + t e_k, and log |det| in the last row.
template <class T>
Long moved(const T& transform, const Long& z, Index k, long double t) {
  Long from = z, out(transform.dim() + 1);
  from(k) += t;
  out(transform.dim()) = transform.constrain(static_cast<const long double*>(from.data()), out.data());
  return out;
}

/// log |det| and the pull-back in Scalar, against differences. `margin` is what the differences leave.
template <class Scalar, class T>
void check_transform(const T& transform, const Eigen::VectorXd& z, double margin) {
  const Index in = transform.free_dim(), out = transform.dim();
  REQUIRE(z.size() == in);
  CAPTURE(z.transpose());
  const Vector<Scalar> from = z.cast<Scalar>();
  Vector<Scalar> x(out), g_x(out), g_z(in);
  const Scalar log_slope = transform.constrain(from.data(), x.data());

  Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> jacobian(out + 1, in);
  for (Index k = 0; k < in; ++k)
    jacobian.col(k) = derivative([&](long double t) { return moved(transform, z.cast<long double>(), k, t); });
  // Of k numbers that add up to 1 any k − 1 will do: without the largest, which has the fewest digits to spare.
  Index largest = out;
  if (out > in) x.maxCoeff(&largest);
  Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic> square(in, in);
  for (Index i = 0, r = 0; i < out; ++i)
    if (i != largest) square.row(r++) = jacobian.row(i);
  const auto expected = static_cast<double>(std::log(std::abs(square.partialPivLu().determinant())));
  CHECK(static_cast<double>(log_slope) == Approx(expected).margin(margin).epsilon(test::rounding<Scalar>()));

  // The gradient of g_xᵀ x + log |det|, where g_x is as large as makes a difference.
  for (Index i = 0; i < out; ++i)
    g_x(i) = static_cast<Scalar>((i % 2 == 0 ? 1.5L : -0.7L) / std::max(jacobian.row(i).cwiseAbs().maxCoeff(), 1e-20L));
  repel::detail::pull_back(transform, from.data(), std::as_const(x).data(), std::as_const(g_x).data(), g_z.data());
  for (Index k = 0; k < in; ++k) {
    const auto terms = (g_x.template cast<long double>().array() * jacobian.col(k).head(out).array()).eval();
    const double size = static_cast<double>(terms.abs().sum()) + 1;
    CHECK(static_cast<double>(g_z(k)) ==
          Approx(static_cast<double>(terms.sum() + jacobian(out, k)))
              .margin(size * (margin + 20 * static_cast<double>(std::numeric_limits<Scalar>::epsilon()))));
  }
}

/// One's own, in ten lines: a pair inside the unit disc, without a pull-back.
struct Disc {
  Index free_dim() const { return 2; }
  Index dim() const { return 2; }
  template <class T>
  T constrain(const T* z, T* x) const {
    using std::log, std::sqrt;
    const T s = 1 + z[0] * z[0] + z[1] * z[1], r = 1 / sqrt(s);
    x[0] = z[0] * r, x[1] = z[1] * r;
    return -2 * log(s);
  }
  void unconstrain(const double* x, double* z) const {
    const double rest = 1 - x[0] * x[0] - x[1] * x[1];
    if (!(rest > 0)) throw std::invalid_argument("outside the disc");
    z[0] = x[0] / std::sqrt(rest), z[1] = x[1] / std::sqrt(rest);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("Jacobians against finite differences", "[constrained]", float, double) {
  const auto one = [](double z) { return Eigen::VectorXd::Constant(1, z).eval(); };
  for (const double z : {0.0, 0.3, -1.7, 5.0, -5.0, 30.0, -30.0}) {
    // At ±30 a bound of size 1 is 1e-13 away, and long double has 1e-19.
    const double margin = std::abs(z) > 20 ? 1e-3 : 1e-8;
    check_transform<TestType>(repel::real(), one(z), 1e-8);
    check_transform<TestType>(repel::scaled(100, 7), one(z), 1e-8);
    check_transform<TestType>(repel::positive(), one(z), 1e-8);
    check_transform<TestType>(repel::above(-3), one(z), margin);
    check_transform<TestType>(repel::below(2), one(z), margin);
    check_transform<TestType>(repel::interval(0, 1), one(z), margin);
    check_transform<TestType>(repel::interval(-2, 5), one(z), margin);
    check_transform<TestType>(repel::ordered(3), Eigen::Vector3d(0.4, z, 0.1), margin);
    check_transform<TestType>(Disc{}, Eigen::Vector2d(0.4, z), 1e-5);  // whose own kink is of width 1
  }
  check_transform<TestType>(repel::ordered(1), one(0.7), 1e-8);
  for (const Eigen::Vector3d& z : {Eigen::Vector3d(0, 0, 0), {1.0, -0.4, 0.2}, {30, 0, 0}, {0, -30, 1}, {0, 1, 30}})
    check_transform<TestType>(repel::simplex(4), z, z.cwiseAbs().maxCoeff() > 20 ? 1e-3 : 1e-8);
  check_transform<TestType>(repel::simplex(2), one(0.3), 1e-8);
}

TEMPLATE_TEST_CASE("constrained numbers stay strictly inside their bounds", "[constrained]", float, double) {
  for (const TestType z : {TestType(-1000), TestType(-60), TestType(-30), TestType(30), TestType(60), TestType(1000)}) {
    TestType x[3];
    CAPTURE(z);
    repel::interval(0, 1).constrain(&z, x);
    CHECK((x[0] > 0 && x[0] < 1));
    repel::interval(100, 101).constrain(&z, x);
    CHECK((x[0] > 100 && x[0] < 101));
    repel::above(10).constrain(&z, x);
    CHECK(x[0] > 10);
    repel::below(10).constrain(&z, x);
    CHECK(x[0] < 10);
    const TestType two[2] = {z, -z}, three[3] = {TestType(5), -std::abs(z), -std::abs(z)};
    repel::simplex(3).constrain(two, x);
    CHECK((x[0] > 0 && x[1] > 0 && x[2] > 0));
    CHECK(x[0] + x[1] + x[2] == Approx(1));
    repel::ordered(3).constrain(three, x);
    CHECK((x[0] < x[1] && x[1] < x[2]));
  }
}

TEST_CASE("constrain and unconstrain are inverse to each other", "[constrained]") {
  const auto model = repel::constrained([](const auto&, auto&) {}, repel::real(2), repel::positive(2), repel::above(3),
                                        repel::below(-1), repel::interval(-2, 5), repel::scaled(4, 9),
                                        repel::simplex(4), repel::ordered(3), Disc{});
  CHECK(model.dim() == 2 + 2 + 1 + 1 + 1 + 1 + 3 + 3 + 2);
  CHECK(model.constrained_dim() == model.dim() + 1);
  const Eigen::MatrixXd z = model.initial(50, 3, 2);
  CHECK(test::relative_error(model.unconstrain(model.constrain(z)), z) < 1e-9);
}

TEMPLATE_TEST_CASE("numbers next to a bound at 0 stay inside it where denormal numbers count as 0", "[constrained]",
                   float, double) {
  const repel::FlushDenormals flush;  // as in every step of a sampler
  for (const TestType z : {TestType(-88), TestType(-709), TestType(-1000)}) {
    TestType x[2];
    CAPTURE(z);
    repel::positive().constrain(&z, x);
    CHECK((x[0] > 0 && std::isfinite(1 / x[0])));
    repel::below(0).constrain(&z, x);
    CHECK((x[0] < 0 && std::isfinite(1 / x[0])));
    repel::interval(0, 1).constrain(&z, x);
    CHECK((x[0] > 0 && std::isfinite(1 / x[0])));
    const TestType minus = -z, two[2] = {TestType(0), z};
    repel::interval(-1, 0).constrain(&minus, x);
    CHECK((x[0] < 0 && std::isfinite(1 / x[0])));
    repel::ordered(2).constrain(two, x);
    CHECK(x[1] - x[0] > 0);
  }
}

TEST_CASE("a target for one type of numbers alone can be constrained", "[constrained]") {
  const Eigen::Matrix2d precision{{2, 0.5}, {0.5, 1}};
  const auto model = repel::constrained([&](const auto& x, auto& g) { g = -precision * x; }, repel::positive(2));
  const Eigen::MatrixXd z = repel::normal(2, 3, 1), x = z.array().exp();
  Eigen::MatrixXd g(2, 3);
  model(z, g);
  CHECK(g.isApprox(Eigen::MatrixXd((-(precision * x).array() * x.array() + 1).matrix()), 1e-14));
}

TEST_CASE("what is out of bounds or does not add up is refused", "[constrained]") {
  auto nothing = [](const auto& w, auto& g) { g = w; };
  const auto refuse = [&](auto transform, const Eigen::VectorXd& x, const char* why) {
    CHECK_THROWS_WITH(repel::constrained(nothing, transform).unconstrain(x), contains(why));
  };
  refuse(repel::positive(), Eigen::VectorXd::Constant(1, -0.5), "x is -0.5, but must be larger than 0");
  refuse(repel::below(2), Eigen::VectorXd::Constant(1, 2), "must be smaller than 2");
  refuse(repel::interval(0, 1), Eigen::VectorXd::Constant(1, 1),
         "x is 1, but must be larger than 0 and smaller than 1");
  refuse(repel::simplex(2), Eigen::Vector2d(0.5, 0.6), "add up to 1.1, but must add up to 1");
  refuse(repel::simplex(2), Eigen::Vector2d(1.5, -0.5), "must be positive");
  refuse(repel::ordered(2), Eigen::Vector2d(1, 1), "must be larger than 1 before it");
  refuse(repel::positive(), Eigen::VectorXd::Constant(1, std::nan("")), "must be larger");
  refuse(repel::simplex(3), Eigen::Vector2d(0.5, 0.5), "x has 2 rows, but must have 3");
  CHECK_THROWS_WITH(repel::interval(1, 1), contains("low must be below high"));
  CHECK_THROWS_WITH(repel::interval(1, std::nextafter(1, 2)), contains("there must be numbers between them"));
  CHECK_THROWS_WITH(repel::scaled(0, 0), contains("sd is 0"));
  CHECK_THROWS_WITH(repel::scaled(std::nan(""), 1), contains("mean is nan, but must be finite"));
  CHECK_THROWS_WITH(repel::simplex(1), contains("at least 2"));
  CHECK_THROWS_WITH(repel::positive(0), contains("at least 1"));
  auto sampler = repel::weight_space(repel::constrained(nothing, repel::real(2), repel::positive()), repel::Svgd{});
  auto state = sampler.init(repel::normal(4, 10, 1));
  CHECK_THROWS_WITH(sampler.step(state),
                    contains("z has 4 rows, but must have 3, what the transforms add up to: 2 + 1"));
  const auto density = []<class T>(const repel::Vector<T>& x) -> T { return -x.squaredNorm(); };
  CHECK_THROWS_WITH(repel::constrained(repel::differentiated(density, 4), repel::real(2), repel::positive()),
                    contains("constrained: the target has 4 parameters, but the transforms add up to 3: 2 + 1"));
  CHECK(repel::constrained(repel::differentiated(density, 3), repel::real(2), repel::positive()).dim() == 3);
  CHECK(repel::constrained(repel::differentiated(density), repel::real(2), repel::positive()).dim() == 3);
  auto wrong = repel::weight_space(repel::constrained([](const auto&, auto& g) { g.resize(1, 1); }, repel::positive(2)),
                                   repel::Svgd{});
  auto second = wrong.init(repel::normal(2, 10, 1));
  CHECK_THROWS_WITH(wrong.step(second), contains("the gradient written by the target"));
}

namespace {

/// Gamma(3, rate 2), Beta(0.3, 0.7), Dirichlet(0.5, 2, 3.5) and two ordered N(0, 1): one density of all of them.
struct Several {
  template <class T>
  T operator()(const Vector<T>& x) const {
    using std::log;
    return 2 * log(x(0)) - 2 * x(0) - 0.7 * log(x(1)) - 0.3 * log(1 - x(1)) - 0.5 * log(x(2)) + log(x(3)) +
           2.5 * log(x(4)) - 0.5 * (x(5) * x(5) + x(6) * x(6));
  }
};

auto several() {
  return repel::constrained(repel::differentiated(Several{}), repel::positive(), repel::interval(0, 1),
                            repel::simplex(3), repel::ordered(2));
}

/// Their means and standard deviations.
const Eigen::VectorXd kMeans{
    {1.5, 0.3, 0.5 / 6, 2.0 / 6, 3.5 / 6, -1 / std::sqrt(std::numbers::pi), 1 / std::sqrt(std::numbers::pi)}};
const Eigen::VectorXd kSds{{std::sqrt(3.0) / 2, std::sqrt(0.3 * 0.7 / 2), std::sqrt(0.5 * 5.5 / 252),
                            std::sqrt(8.0 / 252), std::sqrt(3.5 * 2.5 / 252), std::sqrt(1 - 1 / std::numbers::pi),
                            std::sqrt(1 - 1 / std::numbers::pi)}};

}  // namespace

TEMPLATE_TEST_CASE("constrained gradients fit their densities", "[constrained]", float, double) {
  const auto check = repel::check_gradient(several(), repel::normal<TestType>(6, 5, 1));
  INFO(check.message);
  CHECK(check.passed);
}

TEST_CASE("particles stored by rows are constrained, too", "[constrained]") {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::MatrixXd z = repel::normal(6, 5, 1);
  Eigen::MatrixXd g(6, 5);
  RowMajor by_rows(6, 5);
  auto model = several();
  model(z, g);
  model(RowMajor(z), by_rows);
  CHECK(g == by_rows);
}

TEST_CASE("HMC recovers gamma, beta, Dirichlet and ordered normals", "[constrained]") {
  auto model = several();
  const auto result = repel::hmc(model, model.initial(8, 1), repel::Hmc{.warmup = 500, .samples = 2000, .seed = 2});
  const Eigen::MatrixXd x = model.constrain(result.draws);
  const double draws = result.diagnostics.effective_samples.minCoeff();
  REQUIRE(draws > 1000);
  for (Index k = 0; k < x.rows(); ++k) {
    CAPTURE(k);
    const double mean = x.row(k).mean(), sd = std::sqrt((x.row(k).array() - mean).square().mean());
    CHECK(mean == Approx(kMeans(k)).margin(5 * kSds(k) / std::sqrt(draws)));
    CHECK(sd == Approx(kSds(k)).epsilon(0.1));
  }
}

TEST_CASE("sample recovers gamma, beta, Dirichlet and ordered normals", "[constrained]") {
  auto model = several();
  const repel::Sample result = repel::sample(model, model.dim(), repel::SampleOptions{.particles = 100, .seed = 1});
  const Eigen::MatrixXd x = model.constrain(result.particles);
  INFO(result.report.message);
  for (Index k = 0; k < x.rows(); ++k) {
    CAPTURE(k);
    const double mean = x.row(k).mean(), sd = std::sqrt((x.row(k).array() - mean).square().mean());
    CHECK(mean == Approx(kMeans(k)).margin(0.3 * kSds(k)));  // 100 draws have a tenth
    CHECK((sd > 0.8 * kSds(k) && sd < 1.25 * kSds(k)));
  }
}

namespace {

/// SVGD with 200 particles, Adam at 0.05 and a bandwidth factor that rises from 1 to 5, as in Pyro's tests of its SVGD.
template <class Kernel, class Model>
Eigen::MatrixXd as_pyro(Model& model, const Eigen::MatrixXd& start, Index steps) {
  const Kernel kernel{repel::Ramp{repel::MedianBandwidth{}, 1.0, 5.0, steps}};
  auto sampler = repel::weight_space(std::ref(model), repel::Svgd{kernel}, repel::Adam{.learning_rate = 0.05});
  auto state = sampler.init(start);
  CHECK(repel::run(sampler, state, steps).finished());
  return model.constrain(state.particles);
}

void check_moments(const Eigen::MatrixXd& x, const Eigen::VectorXd& means, const Eigen::VectorXd& variances,
                   double mean_margin, double variance_margin) {
  for (Index k = 0; k < x.rows(); ++k) {
    CAPTURE(k);
    const double mean = x.row(k).mean(), n = static_cast<double>(x.cols());
    CHECK(mean == Approx(means(k)).margin(mean_margin));
    CHECK((x.row(k).array() - mean).square().sum() / (n - 1) == Approx(variances(k)).margin(variance_margin));
  }
}

template <class Kernel>
void pyro_tests() {
  using std::exp, std::log;
  {  // LogNormal(−1, 0.7)
    auto model = repel::constrained(repel::differentiated([]<class T>(const Vector<T>& x) -> T {
                                      using std::log;
                                      const T r = (log(x(0)) + 1) / 0.7;
                                      return -0.5 * r * r - log(x(0));
                                    }),
                                    repel::positive());
    const double mean = exp(-1 + 0.245), variance = (exp(0.49) - 1) * mean * mean;
    const Eigen::MatrixXd x =
        as_pyro<Kernel>(model, (1.3 * (0.7 * repel::normal(1, 200, 1).array() - 1) + 0.7).matrix(), 301);
    check_moments(x, Eigen::VectorXd::Constant(1, mean), Eigen::VectorXd::Constant(1, variance), 0.01, 0.02);
  }
  {  // Beta(0.3, 0.7)
    auto model = repel::constrained(repel::differentiated([]<class T>(const Vector<T>& x) -> T {
                                      using std::log;
                                      return -0.7 * log(x(0)) - 0.3 * log(1 - x(0));
                                    }),
                                    repel::interval(0, 1));
    const Eigen::MatrixXd x = as_pyro<Kernel>(model, (1.3 * model.initial(200, 1).array() + 0.7).matrix(), 301);
    check_moments(x, Eigen::VectorXd::Constant(1, 0.3), Eigen::VectorXd::Constant(1, 0.105), 0.01, 0.02);
  }
  {  // Gamma priors of three Poisson rates, five observations each with the sum 14
    const Eigen::Vector3d a(1.0, 1.8, 2.3), b(2.3, 1.5, 1.2);
    auto model = repel::constrained(repel::differentiated([&]<class T>(const Vector<T>& x) -> T {
                                      using std::log;
                                      T sum(0);
                                      for (int k = 0; k < 3; ++k)
                                        sum += (a(k) - 1 + 14) * log(x(k)) - (b(k) + 5) * x(k);
                                      return sum;
                                    }),
                                    repel::positive(3));
    const Eigen::VectorXd rate = b.array() + 5, means = (a.array() + 14) / rate.array();
    const Eigen::MatrixXd x = as_pyro<Kernel>(model, model.initial(200, 1), 451);
    check_moments(x, means, means.array() / rate.array(), 0.02, 0.05);
  }
}

}  // namespace

TEST_CASE("SVGD passes the tests that Pyro has for its own", "[constrained]") {
  SECTION("RBF") { pyro_tests<repel::Rbf<repel::Ramp<repel::MedianBandwidth>>>(); }
  SECTION("IMQ") { pyro_tests<repel::Imq<repel::Ramp<repel::MedianBandwidth>>>(); }
}

}  // namespace density_constrained_test
