#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/pool.hpp"
#include "support/tolerance.hpp"

#include <repel/diagnostics/ksd.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/kernel/rbf.hpp>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

namespace diagnostics_ksd_test {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using repel::Index;
namespace diagnostics = repel::diagnostics;

using Fixed = repel::FixedBandwidth;
using Kernel = std::function<double(const VectorXd&, const VectorXd&)>;

Kernel with_bandwidth(const test::OracleKernel& kernel, double h) {
  return [=](const VectorXd& x, const VectorXd& y) { return kernel.value(x, y, h); };
}

/// u(x, y) from the values of k alone: its derivatives by central differences.
double stein_by_differences(const Kernel& k, const VectorXd& x, const VectorXd& y, const VectorXd& sx,
                            const VectorXd& sy) {
  const double step = 1e-4;
  double sum = sx.dot(sy) * k(x, y);
  for (Index i = 0; i < x.size(); ++i) {
    const VectorXd e = step * VectorXd::Unit(x.size(), i);
    sum += sx(i) * (k(x, y + e) - k(x, y - e)) / (2 * step) + sy(i) * (k(x + e, y) - k(x - e, y)) / (2 * step);
    sum += (k(x + e, y + e) - k(x + e, y - e) - k(x - e, y + e) + k(x - e, y - e)) / (4 * step * step);
  }
  return sum;
}

/// The same from textbook formulas, pair by pair.
MatrixXd plain_stein(const MatrixXd& x, const MatrixXd& s, double h, bool imq) {
  MatrixXd out(x.cols(), x.cols());
  for (Index i = 0; i < x.cols(); ++i)
    for (Index j = 0; j < x.cols(); ++j) {
      double squares = 0, cross = 0, product = 0;
      for (Index k = 0; k < x.rows(); ++k) {
        squares += (x(k, i) - x(k, j)) * (x(k, i) - x(k, j));
        cross += (s(k, i) - s(k, j)) * (x(k, i) - x(k, j));
        product += s(k, i) * s(k, j);
      }
      const auto d = static_cast<double>(x.rows());
      const double c = 1 + squares / h;
      if (imq)  // k = c^(−1/2), ∇_x k = −(x − y)/h c^(−3/2), tr ∇∇ k = d/h c^(−3/2) − 3 r²/h² c^(−5/2)
        out(i, j) = product / std::sqrt(c) + cross / h * std::pow(c, -1.5) + d / h * std::pow(c, -1.5) -
                    3 * squares / (h * h) * std::pow(c, -2.5);
      else  // ∇_x k = −2 (x − y)/h k, tr ∇∇ k = (2d/h − 4 r²/h²) k
        out(i, j) = (product + 2 / h * cross + 2 * d / h - 4 * squares / (h * h)) * std::exp(-squares / h);
    }
  return out;
}

template <class K>
void compare_with_differences(const K& kernel, const test::OracleKernel& oracle, double h) {
  const MatrixXd x = repel::normal(3, 4, 1), s = repel::normal(3, 4, 2);
  const MatrixXd u = diagnostics::stein_matrix(x, s, kernel);
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 4; ++j)
      if (i != j)  // the mixed second differences of step 1e-4 are good to some 1e-7
        CHECK(u(i, j) == Approx(stein_by_differences(with_bandwidth(oracle, h), x.col(i), x.col(j), s.col(i), s.col(j)))
                             .margin(2e-6));
}

template <class Scalar, class K>
void compare_with_loops(const K& kernel, bool imq) {
  for (const auto& [d, n] : {std::pair<Index, Index>{1, 2}, {2, 64}, {3, 65}, {17, 150}}) {
    CAPTURE(d, n, imq);
    const repel::Matrix<Scalar> x = repel::normal<Scalar>(d, n, 3), s = repel::normal<Scalar>(d, n, 4);
    const MatrixXd wanted = plain_stein(x.template cast<double>(), s.template cast<double>(), kernel.bandwidth.h, imq);
    CHECK(test::relative_error(diagnostics::stein_matrix(x, s, kernel), wanted) < 1e-12);
    const diagnostics::KsdStatistic value = diagnostics::ksd(x, s, kernel);
    const auto count = static_cast<double>(n);
    const double scale = wanted.cwiseAbs().sum() / (count * count);
    CHECK(std::abs(value.v - wanted.sum() / (count * count)) < 1e-12 * scale);
    CHECK(std::abs(value.u - (wanted.sum() - wanted.trace()) / (count * (count - 1))) < 2e-12 * scale);
    CHECK(value.bandwidth == kernel.bandwidth.h);
    const diagnostics::KsdResult tested = diagnostics::ksd_test(x, s, {.replicates = 5}, kernel);
    CHECK(std::abs(tested.u - value.u) < 2e-12 * scale);
    CHECK(std::abs(tested.v - value.v) < 2e-12 * scale);
  }
}

/// Draws from something that may be N(0, I).
using Draw = std::function<MatrixXd(Index dim, Index count, std::uint64_t seed)>;

template <class K>
double acceptance(const Draw& draw, Index d, Index n, int runs, Index replicates, const K& kernel) {
  int accepted = 0;
  for (int run = 0; run < runs; ++run) {
    const auto seed = static_cast<std::uint64_t>(run);
    const MatrixXd x = draw(d, n, repel::stream_seed(1, seed));
    accepted += diagnostics::ksd_test(x, -x, {.replicates = replicates, .seed = seed}, kernel).p_value > 0.05 ? 1 : 0;
  }
  return 100.0 * accepted / runs;
}

MatrixXd exact(Index dim, Index count, std::uint64_t seed) { return repel::normal(dim, count, seed); }

/// An autoregressive chain whose stationary distribution is N(0, I).
MatrixXd chain(Index dim, Index count, std::uint64_t seed) {
  MatrixXd x = repel::normal(dim, count, seed);
  for (Index i = 1; i < count; ++i) x.col(i) = 0.8 * x.col(i - 1) + 0.6 * x.col(i);
  return x;
}

}  // namespace

TEST_CASE("the Stein kernel is made of the kernel's derivatives", "[diagnostics][ksd]") {
  compare_with_differences(repel::Imq{Fixed{1.7}}, test::oracle_imq(), 1.7);
  compare_with_differences(repel::Rbf{Fixed{1.7}}, test::oracle_rbf(), 1.7);
  compare_with_differences(repel::Matern52{Fixed{1.7}}, test::oracle_matern52(), 1.7);
}

TEST_CASE("KSD agrees with plain loops", "[diagnostics][ksd]") {
  compare_with_loops<double>(repel::Imq{Fixed{1.3}}, true);
  compare_with_loops<float>(repel::Imq{Fixed{1.3}}, true);
  compare_with_loops<double>(repel::Rbf{Fixed{1.3}}, false);
  compare_with_loops<float>(repel::Rbf{Fixed{1.3}}, false);
}

TEST_CASE("KSD takes the plain median, or any rule's bandwidth", "[diagnostics][ksd]") {
  const MatrixXd x = MatrixXd{{0, 1, 3, 7}};  // squared distances 1, 4, 9, 16, 36, 49
  CHECK(diagnostics::ksd(x, -x).bandwidth == Approx(12.5));
  CHECK(diagnostics::ksd(x, -x, repel::Imq{repel::PairMedianBandwidth{}}).bandwidth == Approx(12.5 / std::log(4.0)));
  CHECK(diagnostics::ksd_test(x, -x, {.replicates = 3}).bandwidth == Approx(12.5));
}

TEST_CASE("KSD does not depend on where the origin is", "[diagnostics][ksd]") {
  const MatrixXd x = repel::normal(3, 40, 5), moved = x.array() + 0x1p20;
  const MatrixXd back = moved.array() - 0x1p20;  // x, rounded as the moved particles are
  CHECK(diagnostics::ksd(moved, -back).v == Approx(diagnostics::ksd(back, -back).v).epsilon(1e-12));
}

TEST_CASE("exact draws pass the KSD test in 95 % of the runs", "[diagnostics][ksd]") {
  for (const Index d : {2, 10}) {
    CAPTURE(d);
    const double accepted = acceptance(exact, d, 100, 500, 200, diagnostics::SteinDefault{});
    CHECK(accepted >= 93);
    CHECK(accepted <= 97);
  }
}

TEST_CASE("draws from something else fail the KSD test", "[diagnostics][ksd]") {
  const Draw moved = [](Index d, Index n, std::uint64_t seed) -> MatrixXd { return exact(d, n, seed).array() + 0.3; };
  CHECK(acceptance(moved, 2, 100, 50, 200, diagnostics::SteinDefault{}) < 30);
  CHECK(acceptance(moved, 2, 100, 50, 200, repel::Rbf{diagnostics::PlainMedianBandwidth{}}) < 30);
}

TEST_CASE("a Markov chain needs weights that change less often", "[diagnostics][ksd]") {
  int independent = 0, markov = 0;
  for (std::uint64_t run = 0; run < 50; ++run) {
    const MatrixXd x = chain(2, 200, repel::stream_seed(2, run));
    independent += diagnostics::ksd_test(x, -x, {.replicates = 200, .seed = run}).p_value > 0.05 ? 1 : 0;
    markov += diagnostics::ksd_test(x, -x, {.replicates = 200, .change_probability = 0.05, .seed = run}).p_value > 0.05
                  ? 1
                  : 0;
  }
  CHECK(independent < 35);
  CHECK(markov > 40);
}

TEST_CASE("KSD is reproducible, with the same bits for any number of threads", "[diagnostics][ksd]") {
  const MatrixXd x = repel::normal(5, 300, 6);
  const auto run = [&](std::uint64_t seed) {
    return diagnostics::ksd_test(x, -0.9 * x, {.replicates = 100, .seed = seed});
  };
  repel::set_threads(1);
  const diagnostics::KsdResult reference = run(1);
  const double v = diagnostics::ksd(x, -0.9 * x).v;
  const auto same = [&] {
    const diagnostics::KsdResult again = run(1);
    return again.u == reference.u && again.v == reference.v && again.p_value == reference.p_value;
  };
  CHECK(same());
  CHECK(run(2).p_value != reference.p_value);
  for (const Index threads : {2, 3}) {
    repel::set_threads(threads);
    CHECK(same());
    CHECK(diagnostics::ksd(x, -0.9 * x).v == v);
  }
  repel::set_threads(1);
  test::Pool pool;
  const repel::UseExecutor use(pool);
  CHECK(same());
  CHECK(pool.loops > 0);
}

TEST_CASE("KSD refuses what it cannot use", "[diagnostics][ksd]") {
  MatrixXd x = repel::normal(2, 5, 7);
  const MatrixXd s = -x;
  CHECK_THROWS_WITH(diagnostics::ksd(x, s.leftCols(4)),
                    contains("diagnostics::ksd: scores is 2x4, but must be 2x5 like particles"));
  CHECK_THROWS_WITH(diagnostics::ksd(x.leftCols(1), s.leftCols(1)), contains("has 1 columns, but needs at least 2"));
  CHECK_THROWS_WITH(diagnostics::ksd(MatrixXd(2, 0), MatrixXd(2, 0)), contains("0 columns"));
  CHECK_THROWS_WITH(diagnostics::ksd(MatrixXd(0, 2), MatrixXd(0, 2)), contains("0 rows"));
  CHECK_THROWS_WITH(diagnostics::ksd(x, s, repel::Imq{Fixed{-1}}), contains("h is -1"));
  CHECK_THROWS_WITH(diagnostics::ksd_test(x, s, {.replicates = 0}), contains("replicates is 0"));
  CHECK_THROWS_WITH(diagnostics::ksd_test(x, s, {.change_probability = 0}), contains("change_probability is 0"));
  CHECK_THROWS_WITH(diagnostics::ksd_test(x, s, {.change_probability = 0.6}), contains("at most 0.5"));
  x(1, 3) = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(diagnostics::ksd(x, s), contains("particles(1, 3) is nan, but must be finite"));
  CHECK_THROWS_WITH(diagnostics::ksd_test(s, x), contains("scores(1, 3) is nan, but must be finite"));
}

// The table of docs/diagnostics.md: build/test/tests/repel_tests '[.power]'
TEST_CASE("how often draws pass the KSD test", "[.power]") {
  const auto scaled = [](double sd) -> Draw {
    return [sd](Index d, Index n, std::uint64_t seed) { return repel::normal(d, n, seed, sd); };
  };
  const auto student = [](double scale) -> Draw {  // ν = 5, every coordinate on its own
    return [scale](Index d, Index n, std::uint64_t seed) -> MatrixXd {
      repel::Random random(seed);
      return MatrixXd::NullaryExpr(d, n, [&] {
        double chi = 0;
        const double z = random.normal();
        for (int k = 0; k < 5; ++k) chi += std::pow(random.normal(), 2);
        return scale * z / std::sqrt(chi / 5);
      });
    };
  };
  const auto moved = [](double by, bool all) -> Draw {
    return [=](Index d, Index n, std::uint64_t seed) -> MatrixXd {
      MatrixXd x = exact(d, n, seed);
      x.topRows(all ? d : 1).array() += by;
      return x;
    };
  };
  const std::pair<const char*, Draw> cases[] = {{"exact draws", exact},
                                                {"mean + 0.3 in one coordinate", moved(0.3, false)},
                                                {"mean + 0.3 in every coordinate", moved(0.3, true)},
                                                {"mean + 0.1 in every coordinate", moved(0.1, true)},
                                                {"variance 0.8", scaled(std::sqrt(0.8))},
                                                {"variance 0.5", scaled(std::sqrt(0.5))},
                                                {"variance 1.25", scaled(std::sqrt(1.25))},
                                                {"Student t, nu = 5", student(1)},
                                                {"the same, scaled to variance 1", student(std::sqrt(0.6))}};
  const diagnostics::PlainMedianBandwidth plain;
  std::printf("accepted at 5 %%, in %% of 400 runs\n| draws | d | n | Imq | Rbf | Imq, median / log n |\n");
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  for (const auto& [name, draw] : cases)
    for (const auto& [d, n] : {std::pair<Index, Index>{2, 100}, {10, 100}, {2, 400}, {10, 400}}) {
      const double imq = acceptance(draw, d, n, 400, 200, repel::Imq{plain});
      const double rbf = acceptance(draw, d, n, 400, 200, repel::Rbf{plain});
      const double narrow = acceptance(draw, d, n, 400, 200, repel::Imq{repel::PairMedianBandwidth{}});
      std::printf("| %s | %d | %d | %.1f | %.1f | %.1f |\n", name, static_cast<int>(d), static_cast<int>(n), imq, rbf,
                  narrow);
      std::fflush(stdout);
      if (draw.target_type() == cases[0].second.target_type()) CHECK(std::abs(imq - 95) <= 3);
    }
}

TEST_CASE("the level of the KSD test, in many runs", "[.power]") {
  std::printf("exact draws accepted at 5 %%, in %% of 4000 runs of n = 100 (standard error 0.34)\n");
  for (const Index d : {1, 2, 10, 50}) {
    const double accepted = acceptance(exact, d, 100, 4000, 500, diagnostics::SteinDefault{});
    std::printf("d = %d: %.2f\n", static_cast<int>(d), accepted);
    CHECK(std::abs(accepted - 95) < 1.1);
  }
}

}  // namespace diagnostics_ksd_test
