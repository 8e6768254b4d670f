#include "catch.hpp"

#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>

namespace sample_test {

namespace {

using repel::sample;
using repel::SampleOptions;

Eigen::VectorXd mean(const Eigen::MatrixXd& x) { return x.rowwise().mean(); }
Eigen::VectorXd sd(const Eigen::MatrixXd& x) {
  return ((x.colwise() - mean(x)).rowwise().squaredNorm() / static_cast<double>(x.cols() - 1)).cwiseSqrt();
}

/// A normal posterior of scales 1 and 1000 with a correlation of 0.999, far from the start.
struct Ridge {
  Eigen::Matrix2d precision;
  Eigen::Vector2d centre{300, 5000};
  Ridge() {
    Eigen::Matrix2d sigma;
    sigma << 1, 999, 999, 1e6;
    precision = sigma.inverse();
  }
  void operator()(const auto& w, auto& g) const { g = -(precision * (w.colwise() - centre)); }
};

/// The logs of a Gamma(a) variable and of one minus a Beta(…), as a user would write them: log p(u) = a u − exp(u).
struct LogGamma {
  double shape = 2;
  double jacobian = 1;  ///< 0: forgotten
  void operator()(const auto& w, auto& g) const { g = ((shape - 1 + jacobian) - w.array().exp()).matrix(); }
};

/// One coordinate's gradient with a factor of 2: the gradient of nothing.
const auto half_doubled = [](const auto& w, auto& g) {
  Eigen::Matrix2d p;
  p << 1, 0.8, 0.8, 1;
  g = -(p * w);
  g.row(0) *= 2;
};

}  // namespace

TEST_CASE("sample finds a correlated posterior of scales 1 and 1000, out of the box", "[sample]") {
  const auto result = sample(Ridge{}, 2, SampleOptions{.particles = 50, .seed = 3, .gradients = 60000});
  CAPTURE(result.report.message);
  CHECK(result.report.trusted);
  // Moments of a normal posterior are corrected to those of Stein's identities, so far better than 1/√n.
  CHECK(mean(result.particles)(0) == Approx(300).margin(0.03));
  CHECK(mean(result.particles)(1) == Approx(5000).margin(30));
  CHECK(sd(result.particles)(0) == Approx(1).epsilon(0.03));
  CHECK(sd(result.particles)(1) == Approx(1000).epsilon(0.03));
  CHECK(result.report.corrected == 2);
  CHECK(result.report.gradients <= 60000);
}

TEST_CASE("sample finds a skewed posterior", "[sample]") {
  // log of Gamma(2): mean ψ(2) = 0.4228, variance ψ′(2) = 0.6449. Within 0.3 standard deviations and a factor of 0.8 to 1.25, the rule for
  // 100 particles; the standard error of a mean of 100 draws is 0.1 of them.
  const auto result = sample(LogGamma{}, 3, SampleOptions{.gradients = 120000});
  CAPTURE(result.report.message);
  CHECK(result.report.trusted);
  for (int k = 0; k < 3; ++k) {
    CHECK(mean(result.particles)(k) == Approx(0.4228).margin(0.24));
    CHECK(sd(result.particles)(k) == Approx(std::sqrt(0.6449)).epsilon(0.2));
  }
}

TEST_CASE("sample keeps two modes of equal height", "[sample]") {
  // ½ N(−3, ½²) + ½ N(3, ½²) beside a standard normal coordinate; a mode lower by exp(−200) is left.
  const auto two = [](const auto& w, auto& g) {
    g.row(1) = -w.row(1);
    for (Eigen::Index j = 0; j < w.cols(); ++j) {
      const double x = w(0, j), right = 1 / (1 + std::exp(-24 * x));
      g(0, j) = -4 * (x - (2 * right - 1) * 3);
    }
  };
  const auto result = sample(two, 2, SampleOptions{.gradients = 120000});
  const double right = (result.particles.row(0).array() > 0).cast<double>().mean();
  CHECK(right > 0.25);
  CHECK(right < 0.75);
  const auto lower = [](const auto& w, auto& g) {  // ½ exp(−200) N(−20, ½²) and N(20, ½²)
    for (Eigen::Index j = 0; j < w.cols(); ++j) {
      const double x = w(0, j), right_of = 1 / (1 + std::exp(-(160 * x + 200)));
      g(0, j) = -4 * (x - (2 * right_of - 1) * 20);
    }
  };
  Eigen::MatrixXd start = repel::normal(1, 100, 1);
  start.leftCols(30).array() -= 21;  // these climb to the left mode
  const auto one = sample(lower, 1, SampleOptions{.gradients = 120000, .start = start});
  CHECK((one.particles.array() > 0).all());
  CHECK(one.report.strays >= 30);
  CHECK_THAT(one.report.message, contains("moved from places without mass"));
}

TEST_CASE("sample says that a wrong answer is wrong", "[sample]") {
  const SampleOptions quick{.particles = 50, .gradients = 60000};
  const auto verdict = [&](const auto& target, Eigen::Index d) {
    const auto result = sample(target, d, quick);
    CAPTURE(result.report.message);
    CHECK(!result.report.trusted);
    CHECK_THAT(result.report.message, contains("not to be trusted"));
    return result.report;
  };
  // The wrong sign: nothing to arrive at.
  const std::string sign = verdict([](const auto& w, auto& g) { g = w; }, 3).message;
  CHECK_THAT(sign, contains("not to be trusted: only 0 of 50 particles found") &&
                       contains("is the sign of the log density right?"));
  CHECK_THAT(sign, !contains("more gradients"));  // would not help
  verdict(
      [](const auto& w, auto& g) {
        g = -w;
        g.row(0) *= -1;
      },
      3);  // in one coordinate
  // A forgotten Jacobian: exp(u) with a flat prior has no mass to be found as u → −∞.
  verdict(LogGamma{.shape = 1, .jacobian = 0}, 2);
  const auto turned = verdict(half_doubled, 2);
  CHECK_THAT(turned.message, contains("not the gradient of any log density") && contains("more gradients"));
  verdict([](const auto& w, auto& g) { g.setConstant(w.rows(), w.cols(), 1); }, 2);  // no posterior at all
  // A parameter that the density does not read: as it is, and as a transform too many leaves it.
  for (const double slope : {0.0, 1.0}) {
    const auto unread = verdict(
        [&](const auto& w, auto& g) {
          g = -w;
          g.row(1).setConstant(slope);
        },
        3);
    CHECK_THAT(unread.message, contains("the derivative of coordinate 1 was the same wherever it was evaluated"));
  }
  // The plain gradient of a bounded parameter, without transform and Jacobian: Gamma(2) on x > 0, Beta(2, 2).
  const auto bounded = verdict([](const auto& w, auto& g) { g = (1 / w.array() - 1).matrix(); }, 1);
  CHECK_THAT(bounded.message, contains("which repel::constrained would keep"));
  verdict([](const auto& w, auto& g) { g = (1 / w.array() - 1 / (1 - w.array())).matrix(); }, 1);
  // A funnel that Langevin steps cannot follow: v ~ N(0, 3²), x_k ~ N(0, eᵛ).
  const auto funnel = [](const auto& w, auto& g) {
    for (Eigen::Index j = 0; j < w.cols(); ++j) {
      const double v = w(0, j), precision = std::exp(-v);
      g(0, j) = -v / 9 - 4.5 + 0.5 * precision * w.col(j).tail(9).squaredNorm();
      g.col(j).tail(9) = -precision * w.col(j).tail(9);
    }
  };
  const auto neck = sample(funnel, 10, quick);
  CAPTURE(neck.report.message, sd(neck.particles)(0));
  CHECK((!neck.report.trusted || std::abs(sd(neck.particles)(0) / 3 - 1) < 0.25));
}

TEST_CASE("sample gives the same bits for the same seed and any number of threads", "[sample]") {
  const SampleOptions options{.particles = 20, .seed = 5, .gradients = 20000};
  const auto one = sample(Ridge{}, 2, options);
  repel::set_threads(3);
  const auto three = sample(Ridge{}, 2, options);
  repel::set_threads(1);
  CHECK(one.particles == three.particles);
  CHECK(one.report.message == three.report.message);
  CHECK(sample(Ridge{}, 2, SampleOptions{.particles = 20, .seed = 6, .gradients = 20000}).particles != one.particles);
}

TEST_CASE("sample tells observers, and stops when they say so", "[sample]") {
  repel::Index seen = 0;
  const auto stop = [&](const auto& state, const repel::StepInfo&) { return (seen = state.step) >= 50; };
  const auto result = sample(Ridge{}, 2, SampleOptions{.particles = 20, .gradients = 20000}, stop);
  CHECK(seen == 50);
  CHECK(!result.report.trusted);
  CHECK_THAT(result.report.message, contains("stopped early"));
}

TEST_CASE("sample checks the gradient first if it is told to", "[sample]") {
  const SampleOptions check{.particles = 20, .gradients = 20000, .check_gradient = true};
  CHECK_THROWS_WITH(sample(half_doubled, 2, check), contains("not the gradient of any log density"));
  auto wrong = repel::with_log_density([](const auto& w, auto& g) { g = -1.1 * w; },
                                       [](const auto& w, auto& values) { values = -0.5 * w.colwise().squaredNorm(); });
  CHECK_THROWS_WITH(sample(wrong, 2, check), contains("the gradient does not fit the log density: coordinate"));
  const auto right =
      repel::differentiated([]<class T>(const repel::Vector<T>& w) -> T { return -0.5 * w.squaredNorm(); });
  CHECK(sample(right, 2, check).particles.cols() == 20);
  // A density whose logarithm has a bounded argument, started anywhere.
  const auto log = repel::differentiated([]<class T>(const repel::Vector<T>& w) -> T {
    using std::log;
    return log(w(0)) - w(0);
  });
  CHECK_THROWS_WITH(sample(log, 1, check), contains("a parameter with a bound, which repel::constrained would keep"));
}

TEST_CASE("sample refuses what cannot be", "[sample]") {
  CHECK_THROWS_WITH(sample(Ridge{}, 0), contains("dim is 0"));
  CHECK_THROWS_WITH(sample(Ridge{}, 2, SampleOptions{.particles = 3}), contains("particles is 3"));
  CHECK_THROWS_WITH(sample(Ridge{}, 2, SampleOptions{.gradients = 10}), contains("gradients is 10"));
  CHECK(sample(Ridge{}, 2, SampleOptions{.particles = 460}).report.gradients <= 460000);  // 1000 for each by default
  CHECK_THROWS_WITH(sample(Ridge{}, 2, SampleOptions{.start = Eigen::MatrixXd::Zero(3, 9)}),
                    contains("options.start has 3 rows"));
  const auto nan = [](const auto& w, auto& g) { g.setConstant(w.rows(), w.cols(), std::nan("")); };
  CHECK_THROWS_WITH(sample(nan, 2),
                    contains("not finite at particle 0 of the start, but must be: is there a NaN in the data"));
}

TEST_CASE("sample gets by with starts where the gradient overflows", "[sample]") {
  // exp of a hundred times a draw: infinite for many starts, which are brought closer.
  const auto steep = [](const auto& w, auto& g) { g = (1 - (400 * w.array()).exp() - w.array()).matrix(); };
  const auto result = sample(steep, 2, SampleOptions{.particles = 20, .gradients = 20000});
  CHECK(result.particles.allFinite());
  CHECK(result.report.without_gradient > 4);
  CHECK(!result.report.trusted);  // such a density may as well be one with a bound
  CHECK_THAT(result.report.message, contains("of 20 random starts had no finite gradient (has a parameter a bound"));
  CHECK(sample(Ridge{}, 2, SampleOptions{.particles = 20, .gradients = 20000}).report.without_gradient == 0);
}

TEST_CASE("a place whose height cannot be measured is no place to send others to", "[sample]") {
  // Beyond 10 the force oscillates faster than any quadrature follows, as where a density's exponentials explode.
  auto force = [](const auto& w, auto& g) {
    for (repel::Index j = 0; j < w.cols(); ++j) g(0, j) = w(0, j) < 10 ? -w(0, j) : 1e6 * std::cos(1e4 * w(0, j));
  };
  repel::detail::CountedTarget<decltype(force)> target(force);
  Eigen::MatrixXd x{{-1.0, -0.5, 0.0, 0.2, 0.4, 0.8, 1.2, 1000.0}};
  const std::vector<double> height = repel::detail::heights(target, x, 2, 4000);
  for (std::size_t j = 0; j < 7; ++j)
    CHECK(std::abs(height[j] + x(0, static_cast<repel::Index>(j)) * x(0, static_cast<repel::Index>(j)) / 2) < 1e-9);
  CHECK(std::isnan(height[7]));
  const Eigen::MatrixXd before = x;
  CHECK(repel::detail::gather_strays(target, x, 1, 4000) == 1);
  CHECK(x.leftCols(7) == before.leftCols(7));
  CHECK(std::abs(x(0, 7)) < 2);
}

TEST_CASE("mistakes that people make, and what the reports say", "[.mistakes]") {
  // Prints the table of docs/calibration.md: repel_tests '[.mistakes]'
  const auto show = [](const char* what, const auto& target, Eigen::Index d) {
    auto plain = repel::weight_space(target, repel::Svgd{}, repel::Adam{.learning_rate = 0.05});
    auto state = plain.init(repel::normal(d, 100, 1));
    repel::StopWhenSettled settled;
    const repel::Report run = repel::run(plain, state, 3000, settled);
    const auto result = sample(target, d);
    std::printf("%s\n  run:     T %.2f; %s; %s\n  sample:  T %.2f; %s\n", what, run.temperature, run.message.c_str(),
                settled.message().c_str(), result.report.temperature, result.report.message.c_str());
    CHECK(true);
  };
  show("right: log of Gamma(2), d = 3", LogGamma{}, 3);
  show(
      "wrong sign, d = 3", [](const auto& w, auto& g) { g = w; }, 3);
  show(
      "wrong sign in one coordinate of three",
      [](const auto& w, auto& g) {
        g = -w;
        g.row(0) *= -1;
      },
      3);
  show("forgotten Jacobian: log of Gamma(1) without its + 1, improper, d = 2", LogGamma{.shape = 1, .jacobian = 0}, 2);
  show("forgotten Jacobian: log of Gamma(2) without its + 1, d = 3", LogGamma{.shape = 2, .jacobian = 0}, 3);
  show(
      "wrong scale: N(0, 1) with a gradient a hundred times too large, d = 3",
      [](const auto& w, auto& g) { g = -100 * w; }, 3);
  show("wrong scale in one coordinate: its gradient twice what the others' cross terms say, d = 2", half_doubled, 2);
}

TEST_CASE("a place of infinite height is no place to send others to", "[sample]") {
  auto force = [](const auto& w, auto& g) {
    for (repel::Index j = 0; j < w.cols(); ++j) g(0, j) = w(0, j) < 10 ? -w(0, j) : std::numeric_limits<double>::max();
  };
  repel::detail::CountedTarget<decltype(force)> target(force);
  Eigen::MatrixXd x{{-1.0, -0.5, 0.0, 0.2, 0.4, 0.8, 1.2, 1000.0}};
  CHECK(std::isnan(repel::detail::heights(target, x, 2, 4000)[7]));
  CHECK(repel::detail::gather_strays(target, x, 1, 4000) == 1);
  CHECK(std::abs(x(0, 7)) < 2);
}

TEST_CASE("of several values the worst is kept, and a NaN for good", "[sample]") {
  double worst = 0;
  repel::Index at = 0;
  const double values[] = {0.1, 0.5, 0.3, std::nan(""), 9};
  for (repel::Index k = 0; k < 5; ++k) {
    repel::detail::keep_worst(values[k], k, worst, at);
    if (k == 2) CHECK((worst == 0.5 && at == 1));
  }
  CHECK((std::isnan(worst) && at == 3));
  repel::detail::Ledger<double> ledger(3, 0, 8);  // the NaN is not in the last entry that is looked at
  for (repel::Index step = 0; step < 8; ++step) {
    Eigen::MatrixXd z = repel::normal(3, 5, 1), s = -z;
    s(1, 0) = std::nan("");
    ledger.add(step, z, z, s);
  }
  CHECK(std::isnan(ledger.turning()));
}

TEST_CASE("a temperature that scatters too much to be told from 1 is not trusted", "[sample]") {
  double p_value = 0.5;
  const auto verdict = [&](double low, double high) {
    repel::detail::Ledger<double> ledger(1, 0, 800);
    const Eigen::MatrixXd z = Eigen::MatrixXd{{-1.5, -0.5, 0.5, 1.5}};
    for (repel::Index step = 0; step < 800; step += 4) {
      const double t = (step / 100) % 2 == 0 ? low : high;
      const Eigen::MatrixXd s = -t * z * 3 / z.squaredNorm();
      ledger.add(step, z, z, s);
    }
    repel::SampleReport report;
    report.arrived = 4;
    report.ksd_p_value = p_value;
    report.run.last.finite = true;
    repel::detail::judge(ledger, 4, -1, report);
    return report;
  };
  CHECK(verdict(0.9, 1.1).trusted);
  CHECK(verdict(0.8, 1.6).trusted);  // 1.2, and within four errors of 1
  const auto report = verdict(1.0, 2.2);
  CHECK(report.temperature == Approx(1.6));
  CHECK(!report.trusted);
  CHECK_THAT(report.message, contains("has the temperature 1.6 where a sample of the posterior has 1"));
  // Without a gradient there is no test that could reject anything.
  p_value = std::nan("");
  CHECK(!verdict(0.9, 1.1).trusted);
  CHECK_THAT(verdict(0.9, 1.1).message,
             contains("not to be trusted: the gradient at the particles returned is not finite"));
}

}  // namespace sample_test
