#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/repel.hpp>

#include <cmath>

namespace score_calibrated_test {

namespace {

using repel::Calibrated;
using repel::Calibration;
using repel::Kde;
using repel::Sge;
using repel::Wgd;

Eigen::MatrixXd centred(const Eigen::MatrixXd& x) { return x.colwise() - x.rowwise().mean(); }

/// R = −1/(n−1) Σ g cᵀ.
Eigen::MatrixXd r_of(const Eigen::MatrixXd& g, const Eigen::MatrixXd& x) {
  return -g * centred(x).transpose() / static_cast<double>(x.cols() - 1);
}

Eigen::MatrixXd covariance(const Eigen::MatrixXd& x) {
  return centred(x) * centred(x).transpose() / static_cast<double>(x.cols() - 1);
}

/// AR(1): C_kl = ρ^|k−l|.
Eigen::MatrixXd autoregressive(Eigen::Index d, double rho) {
  Eigen::MatrixXd c(d, d);
  for (Eigen::Index k = 0; k < d; ++k)
    for (Eigen::Index l = 0; l < d; ++l) c(k, l) = std::pow(rho, std::abs(static_cast<double>(k - l)));
  return c;
}

template <class Rule>
Eigen::MatrixXd settle(const Rule& rule, const Eigen::MatrixXd& precision, const Eigen::MatrixXd& start, int steps,
                       repel::Report* seen = nullptr) {
  auto sampler = repel::weight_space(
      [&](const auto& w, auto& g) { g.noalias() = -precision * w; }, rule,
      repel::Scheduled{repel::Adam{.learning_rate = 0.05}, repel::schedule::Cosine{.steps = steps}});
  auto state = sampler.init(start);
  const repel::Report report = repel::run(sampler, state, steps);
  REQUIRE(report.finished());
  if (seen != nullptr) *seen = report;
  return state.particles;
}

}  // namespace

TEMPLATE_TEST_CASE("calibrated estimates against their definition", "[calibrated]", float, double) {
  using Mat = repel::Matrix<TestType>;
  const Eigen::Index d = 5, n = 40;
  const Mat x = (repel::normal(d, n, 1) + Eigen::VectorXd::LinSpaced(d, -2, 9).replicate(1, n)).cast<TestType>();
  const auto check = [&](const auto& estimator) {
    const Mat plain = repel::estimate_score(estimator, x);
    const Eigen::MatrixXd g = plain.template cast<double>(), r = r_of(g, x.template cast<double>());
    const double tolerance = test::after_solve<TestType>();
    CHECK(test::relative_error(repel::estimate_score(Calibrated{estimator}, x),
                               Eigen::MatrixXd(g * static_cast<double>(d) / r.trace())) < tolerance);
    CHECK(test::relative_error(repel::estimate_score(Calibrated{estimator, Calibration::coordinates}, x),
                               Eigen::MatrixXd(r.diagonal().cwiseInverse().asDiagonal() * g)) < tolerance);
    Eigen::MatrixXd blocks = g;
    blocks.topRows(2) *= 2 / r.diagonal().head(2).sum();
    blocks.bottomRows(3) *= 3 / r.diagonal().tail(3).sum();
    CHECK(test::relative_error(repel::estimate_score(Calibrated{estimator, Calibration::blocks, 1.0, {2, 3}}, x),
                               blocks) < tolerance);
    CHECK(test::relative_error(repel::estimate_score(Calibrated{estimator, Calibration::full, 0.5}, x),
                               Eigen::MatrixXd(0.5 * r.partialPivLu().solve(g))) < 20 * tolerance);
    // shrunk: some matrix near R⁻¹, with the trace of R of the result exact.
    const Mat shrunk = repel::estimate_score(Calibrated{estimator, Calibration::shrunk}, x);
    const Eigen::MatrixXd after = r_of(shrunk.template cast<double>(), x.template cast<double>());
    CHECK(after.trace() == Approx(static_cast<double>(d)).epsilon(20 * tolerance));
  };
  check(Kde{});
  check(Sge{});
  check(repel::Ssge{});
  check(repel::Blob{});
}

TEST_CASE("a shrunk calibration inverts the matrix it says", "[calibrated]") {
  // From scratch: γ of Schäfer and Strimmer by loops over pairs of coordinates, and the d×d matrix itself.
  for (const auto& [d, n] : {std::pair{6, 30}, {12, 9}}) {
    const Eigen::MatrixXd x = autoregressive(d, 0.7).llt().matrixL() * Eigen::MatrixXd(repel::normal(d, n, 8));
    const Eigen::MatrixXd g = repel::estimate_score(Kde{}, x), c = centred(x), r = r_of(g, x), v = covariance(x);
    const auto count = static_cast<double>(n);
    double variance = 0, squares = 0;
    for (Eigen::Index k = 0; k < d; ++k)
      for (Eigen::Index l = 0; l < d; ++l) {
        if (k == l) continue;
        const Eigen::ArrayXd w = (c.row(k).array() * c.row(l).array() / std::sqrt(v(k, k) * v(l, l))).transpose();
        const double corr = w.sum() / (count - 1);
        squares += corr * corr;
        variance += (w.square().mean() - corr * corr) / count;
      }
    const double gamma = std::clamp(variance / squares, 0.01, 1.0);
    const Eigen::MatrixXd mixed = (1 - gamma) * r + gamma * Eigen::MatrixXd(r.diagonal().asDiagonal());
    Eigen::MatrixXd expected = mixed.partialPivLu().solve(g);
    expected *= static_cast<double>(d) / r_of(expected, x).trace();
    CHECK(test::relative_error(repel::estimate_score(Calibrated{Kde{}, Calibration::shrunk}, x), expected) < 1e-9);
  }
}

TEST_CASE("calibrated estimates away from the particles", "[calibrated]") {
  const Eigen::MatrixXd x = repel::normal(3, 60, 1), at = repel::normal(3, 5, 2);
  const Eigen::MatrixXd g = repel::estimate_score(Kde{}, x), there = repel::estimate_score(Kde{}, x, at);
  CHECK(test::relative_error(repel::estimate_score(Calibrated{Kde{}}, x, at),
                             Eigen::MatrixXd(there * 3 / r_of(g, x).trace())) < 1e-10);
  CHECK(test::relative_error(repel::estimate_score(Calibrated{Kde{}, Calibration::full}, x, at),
                             Eigen::MatrixXd(r_of(g, x).partialPivLu().solve(there))) < 1e-9);
  CHECK_THROWS_WITH(repel::estimate_score(Calibrated{Kde{}, Calibration::shrunk}, x, at),
                    contains("at the particles only"));
}

TEST_CASE("calibrated particles have the variance of N(0, I) in any dimension", "[calibrated]") {
  // The mean marginal variance within 2 %. It was 0.93, 0.4 and 0.05 for d = 2, 10, 100 without calibration.
  for (const int d : {2, 10, 50, 100}) {
    const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(d, d), start = repel::normal(d, 100, 7);
    repel::Report report;
    CAPTURE(d);
    CHECK(covariance(settle(Wgd{Calibrated{Kde{}}}, identity, start, 1500, &report)).diagonal().mean() ==
          Approx(1).margin(0.02));
    CHECK(report.temperature == Approx(1).margin(0.02));
    CHECK(report.caution.empty());
    if (d <= 50)
      CHECK(covariance(settle(Wgd{Calibrated{Sge{}}}, identity, start, 1500)).diagonal().mean() ==
            Approx(1).margin(0.02));
  }
}

TEST_CASE("full calibration has the covariance of a correlated normal posterior", "[calibrated]") {
  const int d = 10;  // d = 50 takes seconds more: examples/dimensions
  const Eigen::MatrixXd target = autoregressive(d, 0.8), precision = target.inverse(), start = repel::normal(d, 200, 7);
  for (const Eigen::MatrixXd& x : {settle(Wgd{Calibrated{Kde{}, Calibration::full}}, precision, start, 1500),
                                   settle(Wgd{Calibrated{Sge{}, Calibration::full}}, precision, start, 1500)})
    CHECK((covariance(x) - target).cwiseAbs().maxCoeff() < 0.03);
}

TEST_CASE("a calibrated ensemble of temperature τ settles at T = τ", "[calibrated]") {
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(10, 10), start = repel::normal(10, 50, 7);
  for (const double tau : {0.1, 0.5}) {
    repel::Report report;
    settle(Wgd{Calibrated{Kde{}, Calibration::total, tau}}, identity, start, 1500, &report);
    CHECK(report.temperature == Approx(tau).margin(0.02));
  }
  const Eigen::MatrixXd s = repel::normal(10, 50, 3);
  CHECK(repel::direction(Wgd{Calibrated{Kde{}, Calibration::total, 0.0}}, start, s) ==
        repel::direction(repel::PlainEnsemble{}, start, s));
}

TEST_CASE("degenerate ensembles are left as they are", "[calibrated]") {
  for (const auto calibration : {Calibration::total, Calibration::coordinates, Calibration::shrunk}) {
    const Calibrated estimator{Kde{}, calibration};
    const Eigen::MatrixXd one = repel::normal(3, 1, 1), same = one.replicate(1, 5);
    CHECK(repel::estimate_score(estimator, one).isZero());
    CHECK(repel::estimate_score(estimator, same).isZero());
    Eigen::MatrixXd flat = repel::normal(3, 6, 2);
    flat.row(1).setConstant(4);  // a coordinate without spread
    const Eigen::MatrixXd g = repel::estimate_score(estimator, flat);
    CHECK(g.allFinite());
    CHECK(g.row(1).isZero());
    CHECK(!g.row(0).isZero());
  }
}

namespace {

/// An "estimate" that has nothing to do with the particles' spread.
struct Unrelated {
  repel::Rbf<> kernel{};
  double size = 1;
  void score(auto& pairs, auto&, auto& out) const {
    out = (size * repel::normal(out.rows(), pairs.count(), 9))
              .template cast<typename std::remove_cvref_t<decltype(out)>::Scalar>();
  }
};

}  // namespace

TEST_CASE("what is scaled up stays within ten times a normal score", "[calibrated]") {
  const Eigen::MatrixXd x = 3 * repel::normal(4, 50, 1);
  const Eigen::VectorXd sd = covariance(x).diagonal().cwiseSqrt();
  for (const double size : {1e-8, 1.0, 1e8}) {
    for (const auto calibration : {Calibration::total, Calibration::coordinates}) {
      const Eigen::MatrixXd g = repel::estimate_score(Calibrated{Unrelated{{}, size}, calibration}, x);
      // Root mean squares in units of the spread: 1 for the score of a normal density.
      const Eigen::VectorXd rms = (g.rowwise().squaredNorm() / 49).cwiseSqrt().cwiseProduct(sd);
      CHECK(rms.norm() / 2 < 10.001);
    }
    const Eigen::MatrixXd g = repel::estimate_score(Calibrated{Unrelated{{}, size}, Calibration::full}, x);
    const double whitened = (centred(x).transpose() * g).squaredNorm() / (49.0 * 49.0);
    CHECK(std::sqrt(whitened / 4) < 10.001);
  }
}

TEST_CASE("calibrated repulsion is safe from starts far away", "[calibrated]") {
  // A narrow, correlated posterior, from starts 100 posterior standard deviations off and from a tight clump.
  const Eigen::MatrixXd precision = 100 * autoregressive(6, 0.9).inverse();
  const Eigen::MatrixXd far = 10 * repel::normal(6, 40, 3), clump = (1e-3 * repel::normal(6, 40, 4)).array() + 20.0;
  for (const Eigen::MatrixXd& start : {far, clump})
    for (const auto calibration :
         {Calibration::total, Calibration::coordinates, Calibration::full, Calibration::shrunk}) {
      auto sampler = repel::weight_space(
          [&](const auto& w, auto& g) { g.noalias() = -precision * w; },
          repel::Langevin{Wgd{Calibrated{Sge{repel::Rbf{repel::Scaled{repel::MedianBandwidth{}, 4.6}}}, calibration}},
                          0.1},
          repel::Adam{.learning_rate = 0.05});
      auto state = sampler.init(start);
      const repel::Report report = repel::run(sampler, state, 3000);
      CAPTURE(static_cast<int>(calibration), report.message);
      CHECK(report.finished());
      CHECK(state.particles.cwiseAbs().maxCoeff() < 3);  // the posterior's standard deviations are 0.1
    }
}

TEST_CASE("calibrations that cannot be are refused", "[calibrated]") {
  const Eigen::MatrixXd x = repel::normal(5, 5, 1);
  CHECK_THROWS_WITH(repel::estimate_score(Calibrated{Kde{}, Calibration::full}, x),
                    contains("5 particles in 5 dimensions") && contains("Calibration::shrunk"));
  CHECK_THROWS_WITH(repel::estimate_score(Calibrated{Kde{}, Calibration::blocks, 1.0, {2, 2}}, x),
                    contains("add up to 4"));
  CHECK_THROWS_WITH(repel::estimate_score(Calibrated{Kde{}, Calibration::blocks}, x), contains("blocks is empty"));
  CHECK_THROWS_WITH(repel::estimate_score(Calibrated{Kde{}, Calibration::blocks, 1.0, {0, 5}}, x),
                    contains("at least 1"));
  CHECK_THROWS_WITH(repel::estimate_score(Calibrated{Kde{}, Calibration::total, -1.0}, x),
                    contains("temperature is -1"));
}

TEST_CASE("a run says that its particles are too close together", "[calibrated]") {
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(100, 100);
  repel::Report report;
  settle(repel::Svgd{}, identity, repel::normal(100, 100, 7), 800, &report);
  CHECK(report.temperature < 0.1);
  CHECK_THAT(report.message, contains("too close together: 0.0"));
  CHECK_THAT(report.message, contains("finished after step 800"));
  auto up = repel::weight_space([](const auto& w, auto& g) { g = w; }, repel::Svgd{}, repel::Adam{});
  auto state = up.init(repel::normal(3, 50, 1));
  CHECK_THAT(repel::run(up, state, 100).message, contains("is the sign of the gradient wrong?"));
  auto on_the_way = repel::weight_space([](const auto& w, auto& g) { g = -1e4 * w; }, repel::Svgd{}, repel::Adam{});
  auto far = on_the_way.init(repel::normal(3, 50, 1));
  CHECK_THAT(repel::run(on_the_way, far, 10).message, contains("have not arrived yet"));
}

}  // namespace score_calibrated_test
