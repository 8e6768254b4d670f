#include "catch.hpp"

#include <repel/diagnostics.hpp>
#include <repel/repel.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <stdexcept>
#include <vector>

namespace diagnostics_sbc_test {

namespace {

using Eigen::MatrixXd;
using Eigen::MatrixXi;
using Eigen::VectorXd;
using repel::Index;
using repel::Random;
namespace diagnostics = repel::diagnostics;

VectorXd standard_normals(Index d, Random& random) {
  return VectorXd::NullaryExpr(d, [&] { return random.normal(); });
}

/// w ~ N(0, I) and y | w ~ N(w, σ² I): the posterior is N(y / (1 + σ²), σ² / (1 + σ²) I).
constexpr double kNoise = 0.25;  // σ²

template <class Posterior>
diagnostics::SbcReport conjugate(Index d, const Posterior& posterior, const diagnostics::Sbc& settings) {
  return diagnostics::sbc([d](Random& random) { return standard_normals(d, random); },
                          [d](const VectorXd& w, Random& random) -> VectorXd {
                            return w + std::sqrt(kNoise) * standard_normals(d, random);
                          },
                          posterior, settings);
}

/// Draws from the posterior, or from one whose mean and sd are off.
auto draws(Index count, double shift = 0, double factor = 1) {
  return [=](const VectorXd& y, std::uint64_t seed) -> MatrixXd {
    const VectorXd mean = y.array() / (1 + kNoise) + shift;
    return repel::normal(y.size(), count, seed, factor * std::sqrt(kNoise / (1 + kNoise))).colwise() + mean;
  };
}

template <class Scalar>
repel::Matrix<Scalar> svgd(const VectorXd& y, std::uint64_t seed) {
  const repel::Vector<Scalar> data = y.cast<Scalar>();
  const auto target = [&](const auto& w, auto& g) {
    g = (data.replicate(1, w.cols()) - w) / static_cast<Scalar>(kNoise) - w;
  };
  auto sampler = repel::weight_space(target, repel::Svgd{}, repel::Adam{.learning_rate = 0.05});
  auto state = sampler.init(repel::normal<Scalar>(y.size(), 50, seed));
  const repel::Report report = repel::run(sampler, state, 300);
  if (!report.finished()) throw std::runtime_error(report.message);
  return state.particles;
}

}  // namespace

TEST_CASE("an exact sampler is calibrated", "[diagnostics][sbc]") {
  const diagnostics::SbcReport report = conjugate(10, draws(99), {.simulations = 300, .seed = 1});
  CHECK(report.draws == 99);
  CHECK(report.ranks.rows() == 10);
  CHECK(report.ranks.cols() == 300);
  CHECK(report.p_value() > 0.1);
  CHECK_THAT(report.verdict(), contains("no sign of miscalibration in 300 simulations"));
}

TEST_CASE("plain SVGD in 10 dimensions is not calibrated", "[diagnostics][sbc]") {
  const diagnostics::SbcReport report =
      conjugate(10, svgd<double>, {.simulations = 80, .ranks = {.bins = 10}, .seed = 2});
  CAPTURE(report.verdict());
  CHECK(report.p_value() == Approx(20 / 10001.0));  // as small as 10000 simulations of the null can make it
  CHECK((report.uniformity.chi_squared_p.array() < 0.05).count() >= 8);  // of the ten parameters
  CHECK_THAT(report.verdict(), contains("too narrow"));
  const diagnostics::SbcReport single =
      conjugate(10, svgd<float>, {.simulations = 30, .ranks = {.bins = 5}, .seed = 2});
  CHECK(single.p_value() < 0.05);
}

TEST_CASE("the verdict says what is wrong with a posterior", "[diagnostics][sbc]") {
  const diagnostics::Sbc settings{.simulations = 300, .seed = 3};
  CHECK_THAT(conjugate(2, draws(99, 0, 0.6), settings).verdict(), contains("too narrow"));
  CHECK_THAT(conjugate(2, draws(99, 0, 1.8), settings).verdict(), contains("too wide"));
  CHECK_THAT(conjugate(2, draws(99, 0.3), settings).verdict(), contains("posteriors are too high"));
  CHECK_THAT(conjugate(2, draws(99, -0.3), settings).verdict(), contains("posteriors are too low"));
}

// The table of docs/diagnostics.md: build/test/tests/repel_tests '[.sbc]'
TEST_CASE("ranks of SVGD by dimension", "[.sbc]") {
  std::printf("500 simulations, 50 particles\n| d | p-value | largest deviation of a parameter | verdict |\n");
  for (const Index d : {1, 2, 5, 10, 20}) {
    const diagnostics::SbcReport report = conjugate(d, svgd<double>, {.simulations = 500, .seed = 6});
    std::printf("| %d | %.4f | %.3f | %s |\n", static_cast<int>(d), report.p_value(),
                report.uniformity.deviation.maxCoeff(), report.verdict().c_str());
    if (d >= 5) CHECK(report.p_value() < 0.01);
  }
}

TEST_CASE("ranks count the draws below, and ties are broken evenly", "[diagnostics][sbc]") {
  const auto fixed = [](const MatrixXd& posterior, const VectorXd& w, Index simulations, std::uint64_t seed) {
    return diagnostics::sbc([&](Random&) { return w; }, [](const VectorXd&, Random&) { return 0; },
                            [&](int, std::uint64_t) { return posterior; },
                            {.simulations = simulations, .ranks = {.bins = 2}, .seed = seed})
        .ranks;
  };
  const MatrixXi ranks = fixed(MatrixXd{{1, 2, 3, 4}, {8, 7, 6, 5}}, VectorXd{{2.5, 9}}, 3, 1);
  CHECK(ranks == MatrixXi{{2, 2, 2}, {4, 4, 4}});
  const MatrixXi tied = fixed(MatrixXd{{1, 2, 2, 3}}, VectorXd{{2}}, 300, 1);
  for (const int rank : {1, 2, 3}) CHECK(std::abs((tied.array() == rank).count() - 100) < 30);
  CHECK(tied.minCoeff() == 1);
  CHECK(tied.maxCoeff() == 3);
}

TEST_CASE("the statistics of ranks agree with plain loops", "[diagnostics][sbc]") {
  const Index simulations = 97, most = 12;  // 13 ranks in 5 bins: of two and of three
  Random random(4);
  const MatrixXi ranks =
      MatrixXi::NullaryExpr(3, simulations, [&] { return static_cast<int>(13 * std::pow(random.uniform(), 1.3)); });
  const diagnostics::RankUniformity value =
      diagnostics::rank_uniformity(ranks, most, {.bins = 5, .null_simulations = 50});
  CHECK(value.histogram.sum() == 3 * simulations);
  CHECK(value.expected.sum() == Approx(97));
  for (Index k = 0; k < 3; ++k) {
    double chi_squared = 0, deviation = 0;
    for (int bin = 0; bin < 5; ++bin) {
      double count = 0, cells = 0;
      for (int r = 0; r <= most; ++r)
        if (r * 5 / 13 == bin) {
          ++cells;
          for (Index i = 0; i < simulations; ++i) count += ranks(k, i) == r ? 1 : 0;
        }
      const double expected = 97 * cells / 13;
      CHECK(value.expected(bin) == Approx(expected).epsilon(1e-12));
      CHECK(value.histogram(bin, k) == count);
      chi_squared += (count - expected) * (count - expected) / expected;
    }
    for (int r = 0; r <= most; ++r) {
      double below = 0;
      for (Index i = 0; i < simulations; ++i) below += ranks(k, i) <= r ? 1 : 0;
      deviation = std::max(deviation, std::abs(below / 97 - (r + 1) / 13.0));
    }
    CHECK(value.chi_squared(k) == Approx(chi_squared).epsilon(1e-12));
    CHECK(value.deviation(k) == Approx(deviation).epsilon(1e-12));
  }
}

TEST_CASE("p-values of uniform ranks are uniform themselves", "[diagnostics][sbc]") {
  // 400 parameters in one call: their p-values are below 5 % in 5 % of the cases, up to 3 standard errors.
  Random random(5);
  const MatrixXi ranks = MatrixXi::NullaryExpr(400, 100, [&] { return static_cast<int>(64 * random.uniform()); });
  const diagnostics::RankUniformity value = diagnostics::rank_uniformity(ranks, 63, {.null_simulations = 2000});
  for (const VectorXd& p : {value.chi_squared_p, value.deviation_p}) {
    CHECK((p.array() < 0.05).count() > 7);
    CHECK((p.array() < 0.05).count() < 33);
    CHECK(p.mean() == Approx(0.5).margin(0.05));
  }
  const double smallest = std::min(value.chi_squared_p.minCoeff(), value.deviation_p.minCoeff());
  CHECK(value.p_value == Approx(std::min(1.0, 800 * smallest)));
}

TEST_CASE("SBC is reproducible, with the same bits for any number of threads", "[diagnostics][sbc]") {
  const auto run = [](std::uint64_t seed) { return conjugate(2, draws(19), {.simulations = 50, .seed = seed}); };
  repel::set_threads(1);
  const diagnostics::SbcReport reference = run(1);
  CHECK(run(2).ranks != reference.ranks);
  for (const Index threads : {1, 2, 3}) {
    repel::set_threads(threads);
    const diagnostics::SbcReport again = run(1);
    CHECK(again.ranks == reference.ranks);
    CHECK(again.uniformity.chi_squared_p == reference.uniformity.chi_squared_p);
    CHECK(again.uniformity.deviation_p == reference.uniformity.deviation_p);
  }
  repel::set_threads(1);
}

TEST_CASE("SBC refuses what it cannot use", "[diagnostics][sbc]") {
  const auto with = [](const auto& posterior) { return [=] { conjugate(2, posterior, {.simulations = 5}); }; };
  Index n = 30;
  CHECK_THROWS_WITH(with(draws(10))(), contains("diagnostics::sbc: bins is 20, but must be at most 11"));
  CHECK_THROWS_WITH(with([](const VectorXd&, std::uint64_t) { return MatrixXd(2, 0); })(), contains("0 columns"));
  CHECK_THROWS_WITH(with([](const VectorXd&, std::uint64_t) { return MatrixXd(3, 30); })(),
                    contains("posterior_draws returned 3x30 in simulation 0, but must return 2x30"));
  CHECK_THROWS_WITH(with([&n](const VectorXd&, std::uint64_t) -> MatrixXd { return MatrixXd::Zero(2, n++); })(),
                    contains("2x31 in simulation 1, but must return 2x30"));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(with([=](const VectorXd&, std::uint64_t) -> MatrixXd { return MatrixXd::Constant(2, 30, nan); })(),
                    contains("draw (0, 0) of simulation 0 is nan"));
  CHECK_THROWS_WITH(conjugate(2, draws(30), {.simulations = 1}), contains("simulations is 1"));
  CHECK_THROWS_WITH(conjugate(2, draws(30), {.ranks = {.bins = 1}}), contains("bins is 1"));
  CHECK_THROWS_WITH(diagnostics::rank_uniformity(MatrixXi(1, 1), 30), contains("ranks has 1 columns"));
  CHECK_THROWS_WITH(diagnostics::rank_uniformity(MatrixXi(0, 10), 30), contains("ranks has 0 rows"));
  CHECK_THROWS_WITH(diagnostics::rank_uniformity(MatrixXi::Constant(2, 9, 31), 30),
                    contains("ranks(0, 0) is 31, but must be 0 to 30"));
  CHECK_THROWS_WITH(diagnostics::rank_uniformity(MatrixXi::Zero(2, 9), 0), contains("draws is 0"));
  CHECK_THROWS_WITH(diagnostics::rank_uniformity(MatrixXi::Zero(2, 9), 30, {.null_simulations = 0}),
                    contains("null_simulations is 0"));
}

}  // namespace diagnostics_sbc_test
