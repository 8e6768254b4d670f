#include "catch.hpp"
#include "support/folder.hpp"

#include <repel/bnn.hpp>
#include <repel/checkpoint.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace hmc_nuts_test {

using repel::Index, repel::Nuts;

namespace {

/// Any target behind one type, so that the sampler is compiled once.
using Gradient = std::function<void(const Eigen::MatrixXd&, Eigen::MatrixXd&)>;
using Density = std::function<void(const Eigen::MatrixXd&, Eigen::VectorXd&)>;
using Target = repel::TargetWithDensity<Gradient, Density>;

repel::HmcResult<double> run_nuts(const Target& target, const Eigen::MatrixXd& start, const Nuts& settings) {
  return repel::nuts(target, start, settings);
}

/// N(0, C), from the inverse of C.
Target gaussian(const Eigen::MatrixXd& precision) {
  return {
      [=](const auto& w, auto& g) { g.noalias() = -precision * w; },
      [=](const auto& w, auto& values) { values = -0.5 * w.cwiseProduct(precision * w).colwise().sum().transpose(); }};
}

/// The logarithms of Gamma(shape) variables, one per row: log p = shape·x − exp(x), skewed to the left.
Target log_gamma(const Eigen::VectorXd& shape) {
  return {[=](const auto& w, auto& g) { g = (-w.array().exp()).colwise() + shape.array(); },
          [=](const auto& w, auto& values) {
            values = (w.transpose() * shape).array() - w.array().exp().colwise().sum().transpose();
          }};
}

/// The mean of a function of the draws against the truth, to four standard errors by its own effective sample size.
void check_mean(const repel::HmcResult<double>& r, const Eigen::RowVectorXd& values, double truth) {
  const double ess = std::min(repel::diagnose(values, r.chains).effective_samples(0), double(values.size()));
  const double sd = std::sqrt((values.array() - values.mean()).square().mean());
  CAPTURE(values.mean(), truth, sd, ess);
  CHECK(ess > 200);
  CHECK(std::abs(values.mean() - truth) < 4 * sd / std::sqrt(ess));
}

/// Mean and variance of a coordinate.
void check_moments(const repel::HmcResult<double>& r, Index i, double mean, double variance) {
  CAPTURE(i);
  check_mean(r, r.draws.row(i), mean);
  check_mean(r, (r.draws.row(i).array() - mean).square(), variance);
}

void check_converged(const repel::HmcResult<double>& r, double wanted_acceptance = 0.8) {
  CHECK(r.diagnostics.r_hat.maxCoeff() < 1.01);
  CHECK(r.divergences == 0);
  CHECK(r.at_max_depth == 0);
  CHECK(std::abs(r.acceptance.mean() - wanted_acceptance) < 0.12);  // which the step size was adapted to
}

}  // namespace

TEST_CASE("NUTS recovers a standard normal", "[nuts][recovery]") {
  const auto r =
      run_nuts(gaussian(Eigen::MatrixXd::Identity(20, 20)), repel::normal(20, 4, 1, 2.0), Nuts{.samples = 1000});
  REQUIRE(r.draws.cols() == 4000);
  check_converged(r);
  CHECK(r.trusted);
  CHECK_THAT(r.report.message,
             contains("finished after step 1500; the chains agree: largest R-hat ") && contains("no divergent"));
  for (const Index i : {0, 7, 19}) check_moments(r, i, 0, 1);
  check_mean(r, r.draws.row(0).cwiseProduct(r.draws.row(1)), 0);
  // A trajectory ends when it turns: after half a period, π, of which the step size takes a few.
  CHECK(r.depth > 1.5);
  CHECK(r.depth < 4);
  CHECK(r.diagnostics.effective_samples.minCoeff() > 2000);
  // What it cost: no more than the trees, which go a little beyond those that were completed.
  CHECK(r.gradients > 4 * 1000);
  CHECK(static_cast<double>(r.gradients) < 4 * 1500 * std::exp2(r.depth + 2));
}

TEST_CASE("NUTS recovers a correlated normal with scales from 1 to 1000", "[nuts][recovery]") {
  const Eigen::Vector4d scales(1, 10, 100, 1000);
  Eigen::Matrix4d covariance;
  for (Index i = 0; i < 4; ++i)
    for (Index j = 0; j < 4; ++j)
      covariance(i, j) = scales(i) * scales(j) * std::pow(0.9, std::abs(static_cast<double>(i - j)));
  const auto r = run_nuts(gaussian(covariance.inverse()), repel::normal(4, 4, 1),
                          Nuts{.warmup = 1000, .samples = 2000, .seed = 3});
  check_converged(r);
  for (Index i = 0; i < 4; ++i) check_moments(r, i, 0, covariance(i, i));
  check_mean(r, r.draws.row(0).cwiseProduct(r.draws.row(3)), covariance(0, 3));
}

TEST_CASE("NUTS recovers a skewed density and a moderate funnel", "[nuts][recovery]") {
  const double pi = std::numbers::pi;
  const auto skewed = run_nuts(log_gamma(Eigen::Vector2d(2, 0.5)), repel::normal(2, 4, 1),
                               Nuts{.samples = 3000, .target_acceptance = 0.9});
  check_converged(skewed, 0.9);
  check_moments(skewed, 0, 1 - std::numbers::egamma, pi * pi / 6 - 1);  // ψ(2) and ψ′(2)
  check_moments(skewed, 1, -std::numbers::egamma - 2 * std::numbers::ln2, pi * pi / 2);

  // v ~ N(0, 1) and three x ~ N(0, e^v): E x² = e^½.
  const Target funnel{
      [](const auto& w, auto& g) {
        const Eigen::ArrayXXd x = w.bottomRows(3).array();
        const Eigen::RowVectorXd inverse = (-w.row(0).array()).exp();
        g.row(0) = -w.row(0).array() - 1.5 + 0.5 * inverse.array() * x.square().colwise().sum();
        g.bottomRows(3) = (x.rowwise() * -inverse.array()).matrix();
      },
      [](const auto& w, auto& values) {
        const auto v = w.row(0).array();
        values = (-0.5 * v.square() - 1.5 * v - 0.5 * (-v).exp() * w.bottomRows(3).array().square().colwise().sum())
                     .transpose();
      }};
  const auto r = run_nuts(funnel, repel::normal(4, 4, 1),
                          Nuts{.warmup = 1000, .samples = 5000, .target_acceptance = 0.95, .seed = 2});
  CHECK(r.diagnostics.r_hat.maxCoeff() < 1.01);
  check_moments(r, 0, 0, 1);
  check_moments(r, 2, 0, std::exp(0.5));
}

TEST_CASE("NUTS leaves exact draws what they are", "[nuts][recovery]") {
  // Twenty thousand chains start at exact draws of log Gamma(2), and take a few transitions with a fixed step that is far
  // too long for comfort: a bias of a tree's choice would show. The law of large numbers of the chains is the test: the
  // largest distance of distribution functions, which exceeds 1.95/√n in one of a thousand cases.
  constexpr Index n = 20000;
  repel::Random random(5);
  Eigen::MatrixXd start(1, n);
  for (Index c = 0; c < n; ++c) start(0, c) = std::log(-std::log(random.uniform()) - std::log(random.uniform()));
  for (const double step : {0.3, 1.3}) {
    repel::NutsSampler<Target> sampler(log_gamma(Eigen::VectorXd::Constant(1, 2.0)), Nuts{.warmup = 0, .seed = 8});
    auto state = sampler.init(start);
    state.step_size.setConstant(step);
    state.variances.setConstant(0.7);
    for (int i = 0; i < 4; ++i) sampler.step(state);
    std::vector<double> x(state.particles.data(), state.particles.data() + n);
    std::sort(x.begin(), x.end());
    double distance = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double y = std::exp(x[i]), at = 1 - (1 + y) * std::exp(-y);  // the distribution function of Gamma(2)
      distance = std::max({distance, std::abs(at - double(i) / n), std::abs(at - double(i + 1) / n)});
    }
    CAPTURE(step, distance);
    CHECK(distance * std::sqrt(double(n)) < 1.95);
    // They have moved: nearly all of them, and four transitions forget the start.
    const auto centred = [](const Eigen::MatrixXd& m) { return (m.array() - m.mean()).matrix().normalized().eval(); };
    CHECK(std::abs(centred(start).cwiseProduct(centred(state.particles)).sum()) < 0.2);
    CHECK((state.particles.array() == start.array()).count() < n / 50);
  }
}

namespace {

/// NUTS as one would write it down: a recursion over whole trees, which keeps every leaf.
struct Plain {
  struct Point {
    Eigen::VectorXd q, p;
    double gain;
  };
  struct Span {
    Eigen::VectorXd first, last, sum;
  };
  const Target& target;
  Eigen::VectorXd variances;
  double step;
  double start = 0;
  std::vector<Point> leaves{};
  bool stopped = false, diverged = false;

  Eigen::VectorXd slope(const Eigen::VectorXd& q) const {
    Eigen::MatrixXd g(q.size(), 1);
    target.gradient(q, g);
    return g;
  }
  double minus_energy(const Point& z) const {
    Eigen::VectorXd value(1);
    target.density(z.q, value);
    return value(0) - 0.5 * z.p.dot(variances.cwiseProduct(z.p));
  }
  bool turned(const Span& s) const {
    const Eigen::VectorXd along = variances.cwiseProduct(s.sum - 0.5 * (s.first + s.last));
    return along.dot(s.first) <= 0 || along.dot(s.last) <= 0;
  }
  Span build(Point& z, double direction, Index depth) {
    if (depth == 0) {
      z.p += 0.5 * direction * step * slope(z.q);
      z.q += direction * step * variances.cwiseProduct(z.p);
      z.p += 0.5 * direction * step * slope(z.q);
      z.gain = minus_energy(z) - start;
      leaves.push_back(z);
      if (!(z.gain > -1000)) stopped = diverged = true;
      return {z.p, z.p, z.p};
    }
    const Span a = build(z, direction, depth - 1);
    if (stopped) return a;
    const Span b = build(z, direction, depth - 1);
    const Span both{a.first, b.last, a.sum + b.sum};
    if (!stopped && turned(both)) stopped = true;
    return both;
  }

  /// A transition from q with momentum p; `random` is the chain's stream. Returns where it goes.
  Eigen::VectorXd transition(const Eigen::VectorXd& q, const Eigen::VectorXd& p, std::uint64_t random, Index max_depth,
                             Index& depth) {
    std::uint64_t drawn = 0;
    const auto uniform = [&] {
      return (double(repel::detail::scramble(random + 0x9e3779b97f4a7c15 * ++drawn) >> 12) + 0.5) * 0x1p-52;
    };
    Point ends[2] = {{q, p, 0}, {q, p, 0}};
    start = minus_energy(ends[0]);
    Span whole{p, p, p};
    Eigen::VectorXd chosen = q;
    double weight = 1;
    for (depth = 0; depth < max_depth;) {
      const bool forwards = (random >> depth) & 1;
      const std::size_t before = leaves.size();
      const Span added = build(ends[forwards], forwards ? 1 : -1, depth);
      if (stopped) break;
      double sum = 0;
      Eigen::VectorXd candidate;
      for (std::size_t i = before; i < leaves.size(); ++i) {
        sum += std::exp(leaves[i].gain);
        if (i == before || uniform() < std::exp(leaves[i].gain) / sum) candidate = leaves[i].q;
      }
      if (uniform() < sum / weight) chosen = candidate;
      weight += sum;
      ++depth;
      whole = {forwards ? whole.first : added.last, forwards ? added.last : whole.last, whole.sum + added.sum};
      if (turned(whole)) break;
    }
    return chosen;
  }
};

}  // namespace

TEST_CASE("NUTS without recursion grows the trees of the recursion", "[nuts]") {
  // A quartic well and a narrow ridge: trees of very different depths, and some divergences with the longest step.
  const Target target{[](const auto& w, auto& g) {
                        g.row(0) = -w.row(0).array().cube() - 100 * (w.row(0) - w.row(1)).array();
                        g.row(1) = 100 * (w.row(0) - w.row(1)).array();
                        g.row(2) = -w.row(2) / 9;
                      },
                      [](const auto& w, auto& values) {
                        values = (-0.25 * w.row(0).array().pow(4) - 50 * (w.row(0) - w.row(1)).array().square() -
                                  w.row(2).array().square() / 18)
                                     .transpose();
                      }};
  constexpr Index chains = 6, iterations = 60, max_depth = 6;
  repel::NutsSampler<Target> sampler(target, Nuts{.warmup = 0, .max_depth = max_depth, .seed = 4});
  auto state = sampler.init(repel::normal(3, chains, 1));
  state.variances << 0.5, 0.6, 4;
  state.step_size << 0.01, 0.02, 0.05, 0.1, 0.15, 0.4;
  Index deepest = 0, cut = 0, divergent = 0;
  for (Index i = 0; i < iterations; ++i) {
    const auto before = state;
    sampler.step(state);
    Index leaves = 0, depths = 0;
    for (Index c = 0; c < chains; ++c) {
      const auto stream = static_cast<std::uint64_t>(i);
      Eigen::VectorXd draw(3);
      repel::fill_normal<double>(repel::stream_seed(4, stream, static_cast<std::uint64_t>(c) + 2), draw);
      Plain plain{target, state.variances, state.step_size(c)};
      Index depth = 0;
      const Eigen::VectorXd chosen =
          plain.transition(before.particles.col(c), draw.cwiseQuotient(state.variances.cwiseSqrt()),
                           repel::stream_seed(4, stream, ~static_cast<std::uint64_t>(c)), max_depth, depth);
      CAPTURE(i, c, depth);
      CHECK((state.particles.col(c) - chosen).norm() < 1e-9 * (1 + chosen.norm()));
      double acceptance = 0;
      for (const auto& leaf : plain.leaves) acceptance += std::min(1.0, std::exp(leaf.gain));
      CHECK(state.acceptance(c) == Approx(acceptance / double(plain.leaves.size())).margin(1e-9));
      leaves += static_cast<Index>(plain.leaves.size());
      depths += depth;
      deepest = std::max(deepest, depth);
      cut += depth == max_depth && !plain.stopped;
      divergent += plain.diverged;
    }
    REQUIRE(state.gradients - before.gradients == leaves);
    REQUIRE(state.depth_sum - before.depth_sum == depths);
  }
  // What was kept up to date with the particles.
  Eigen::MatrixXd slopes(3, chains);
  Eigen::VectorXd values(chains);
  target.gradient(state.particles, slopes);
  target.density(state.particles, values);
  CHECK((slopes - state.gradient).norm() < 1e-12 * slopes.norm());
  CHECK((values - state.log_density).norm() < 1e-12 * values.norm());
  // There was something to see. Trees at max_depth may have turned at the last moment, which is no cut.
  CHECK(deepest == max_depth);
  CHECK(divergent > 0);
  CHECK(state.divergences == divergent);
  CHECK(state.at_max_depth > 0);
  CHECK(state.at_max_depth <= cut);
}

TEST_CASE("NUTS gives the same bits for any number of threads", "[nuts][threads][bnn]") {
  const repel::Bnn posterior(repel::Mlp({3, 17, 1}, repel::Activation::tanh), repel::GaussianLikelihood{1.0},
                             repel::NormalPrior{1.0}, repel::normal(3, 300, 1), repel::normal(1, 300, 2));
  const auto draws = [&] {
    return repel::nuts(posterior.target(), posterior.prior_draws(5, 1),
                       Nuts{.warmup = 30, .samples = 5, .max_depth = 5})
        .draws;
  };
  repel::set_threads(1);
  const Eigen::MatrixXd reference = draws();
  for (const Index threads : {2, 3}) {
    repel::set_threads(threads);
    CAPTURE(threads);
    CHECK(draws() == reference);
  }
  repel::set_threads(1);
}

TEST_CASE("NUTS runs in float, and on matrices of any storage", "[nuts][recovery]") {
  const auto target =
      repel::with_log_density([](const auto& w, auto& g) { g = -w; },
                              [](const auto& w, auto& values) {
                                values = -0.5 * w.template cast<double>().colwise().squaredNorm().transpose();
                              });
  const auto r = repel::nuts(target, repel::normal<float>(2, 4, 1), Nuts{.samples = 2000});
  static_assert(std::is_same_v<decltype(r.draws), Eigen::MatrixXf>);
  CHECK(r.diagnostics.effective_samples.minCoeff() > 2000);
  // Four standard errors of the variance from the 2000 or more.
  CHECK(std::abs(r.draws.row(0).squaredNorm() / 8000 - 1) < 4 * std::sqrt(2.0 / 2000));
  CHECK(std::abs(r.draws.row(1).squaredNorm() / 8000 - 1) < 4 * std::sqrt(2.0 / 2000));

  const Eigen::MatrixXd start = repel::normal(3, 4, 1);
  const Nuts settings{.warmup = 50, .samples = 20};
  const auto reference = repel::nuts(target, start, settings).draws;
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto differs = [&](const auto& other) {
    return (repel::nuts(target, other, settings).draws - reference).cwiseAbs().maxCoeff();
  };
  CHECK(differs(Rows(start)) < 1e-9);
  CHECK(differs(Eigen::Matrix<double, 3, 4>(start)) < 1e-9);
  CHECK(differs(Eigen::Matrix<double, 3, Eigen::Dynamic>(start)) < 1e-9);
  CHECK(repel::nuts(target, Eigen::RowVectorXd(start.row(0)), settings).draws.cols() == 80);
}

namespace {

/// Counts what it is asked for; both at once if it may.
template <bool Both>
struct Counting {
  Index* gradients;
  Index* densities;
  Index* both;

  void operator()(const Eigen::MatrixXd& w, Eigen::MatrixXd& g) {
    *gradients += w.cols();
    g = -w;
  }
  void log_density(const Eigen::MatrixXd& w, Eigen::VectorXd& values) {
    *densities += w.cols();
    values = -0.5 * w.colwise().squaredNorm().transpose();
  }
  void value_and_gradient(const Eigen::MatrixXd& w, Eigen::MatrixXd& g, Eigen::VectorXd& values) requires Both {
    *both += w.cols();
    g = -w;
    values = -0.5 * w.colwise().squaredNorm().transpose();
  }
};

template <bool Both>
void check_counts() {
  const Nuts settings{.warmup = 40, .samples = 20};
  const Eigen::MatrixXd start = repel::normal(3, 5, 1);
  Index gradients = 0, densities = 0, both = 0;
  const auto r = repel::nuts(Counting<Both>{&gradients, &densities, &both}, start, settings);
  CHECK(r.gradients == gradients + both);
  CHECK((Both ? gradients + densities : both) == 0);
  if (!Both) CHECK(densities == gradients);
  gradients = densities = both = 0;
  const auto h = repel::hmc(Counting<Both>{&gradients, &densities, &both}, start, {.warmup = 40, .samples = 20});
  CHECK(h.gradients == gradients + both);
  CHECK((Both ? densities : both) == 0);
  CHECK(h.depth == 0);
  // Behind one type, too.
  gradients = densities = both = 0;
  const auto any =
      repel::nuts(repel::AnyTarget<double>(Counting<Both>{&gradients, &densities, &both}), start, settings);
  CHECK(any.draws == r.draws);
  CHECK((Both ? gradients + densities : both) == 0);
  CHECK(any.gradients == gradients + both);
}

}  // namespace

TEST_CASE("NUTS asks for value and gradient at once where it can, and counts gradients", "[nuts]") {
  check_counts<true>();
  check_counts<false>();
}

TEST_CASE("a network gives value and gradient at once", "[nuts][bnn]") {
  const auto check = [](const auto& posterior) {
    auto target = posterior.target();
    const Eigen::MatrixXd w = posterior.prior_draws(4, 1);
    Eigen::MatrixXd g(w.rows(), 4), h(w.rows(), 4);
    Eigen::VectorXd values, both;
    target(w, g);
    target.log_density(w, values);
    target.value_and_gradient(w, h, both);
    CHECK(g == h);
    REQUIRE(both.size() == 4);
    CHECK((values - both).cwiseAbs().maxCoeff() < 1e-12 * values.cwiseAbs().maxCoeff());
  };
  const Eigen::MatrixXd x = repel::normal(2, 30, 1);
  check(repel::Bnn(repel::Mlp({2, 9, 1}), repel::GaussianLikelihood{0.5}, repel::NormalPrior{2.0}, x,
                   repel::normal(1, 30, 2)));
  const repel::Bnn classes(repel::Mlp({2, 9, 3}), repel::CategoricalLikelihood{}, repel::NormalPrior{2.0}, x,
                           Eigen::VectorXi::LinSpaced(30, 0, 2).eval());
  check(classes);
  const repel::Bnn part(repel::Mlp({2, 9, 1}), repel::GaussianLikelihood{0.5}, repel::NormalPrior{2.0}, x,
                        repel::normal(1, 30, 2), repel::Minibatch{10, 1});
  Eigen::MatrixXd g;
  Eigen::VectorXd values;
  CHECK_THROWS_WITH(part.target().value_and_gradient(part.prior_draws(2, 1), g, values), contains("needs all of them"));
}

namespace {

template <class Sampler, class P>
void check_resumes(Sampler sampler, const P& start, const char* name) {
  // Saved in warm-up at its first step, in the middle of a window, before and after the end of one, and after warm-up.
  auto whole = sampler.init(start);
  for (int i = 0; i < 130; ++i) sampler.step(whole);
  test::Folder folder;
  for (const Index at : {1, 40, 89, 90, 91, 100, 120}) {
    auto state = sampler.init(start);
    (void)repel::run(sampler, state, at, repel::Checkpoints(folder.path / "run", name));
    Sampler fresh = sampler;
    auto resumed = fresh.init(start);
    repel::resume_checkpoint(folder.path / "run", resumed, name);
    CAPTURE(name, at);
    REQUIRE(resumed.step == at);
    (void)repel::run(fresh, resumed, 130 - at);
    CHECK(resumed.particles == whole.particles);
    CHECK(resumed.step_size == whole.step_size);
    CHECK(resumed.variances == whole.variances);
    CHECK(resumed.acceptance_sum == whole.acceptance_sum);
    CHECK(resumed.gradients == whole.gradients);
    CHECK(resumed.depth_sum == whole.depth_sum);
    CHECK(resumed.divergences == whole.divergences);
    CHECK(resumed.warmup_divergences == whole.warmup_divergences);
  }
}

}  // namespace

TEST_CASE("chains resume from a checkpoint as if they had never stopped", "[nuts][hmc][io]") {
  const auto target = repel::with_log_density(
      [](const auto& w, auto& g) {
        g = -w;
        g.row(0) *= 25;
      },
      [](const auto& w, auto& values) {
        values = (-0.5 * w.template cast<double>().colwise().squaredNorm() -
                  12 * w.row(0).template cast<double>().array().square().matrix())
                     .transpose();
      });
  const Nuts nuts{.warmup = 100, .samples = 30, .seed = 6};
  const repel::Hmc hmc{.warmup = 100, .samples = 30, .leapfrog_steps = 4, .seed = 6};
  check_resumes(repel::NutsSampler(target, nuts), repel::normal(3, 4, 1), "NUTS");
  check_resumes(repel::NutsSampler(target, nuts), repel::normal<float>(3, 4, 1), "NUTS in float");
  check_resumes(repel::HmcSampler(target, hmc), repel::normal(3, 4, 1), "HMC");
  check_resumes(repel::HmcSampler(target, hmc), repel::normal<float>(3, 4, 1), "HMC in float");
  // A checkpoint of something else.
  test::Folder folder;
  auto sampler = repel::NutsSampler(target, nuts);
  repel::save_checkpoint(folder.path / "run", sampler.init(repel::normal(3, 4, 1)), "a");
  auto other = sampler.init(repel::normal(3, 5, 1));
  CHECK_THROWS_WITH(repel::load_checkpoint(folder.path / "run", other, "a"), contains("3x4, but this state has 3x5"));
}

TEST_CASE("NUTS changes nothing if the target throws", "[nuts]") {
  Index calls = 0, last = std::numeric_limits<Index>::max();
  const auto target = repel::with_log_density(
      [&](const auto& w, auto& g) {
        if (++calls > last) throw std::runtime_error("enough");
        g = -w;
      },
      [](const auto& w, auto& values) { values = -0.5 * w.colwise().squaredNorm().transpose(); });
  const Eigen::MatrixXd start = repel::normal(2, 3, 1);
  repel::NutsSampler sampler(target, Nuts{.warmup = 40});
  auto whole = sampler.init(start), state = whole;
  for (int i = 0; i < 50; ++i) sampler.step(whole);
  // Interrupted after every possible number of calls, at the end of a window as well.
  int thrown = 0;
  for (Index allowed = 0; state.step < 50; ++allowed) {
    last = calls + allowed;
    const Index before = state.step;
    try {
      sampler.step(state);
      allowed = -1;
    } catch (const std::runtime_error&) {
      ++thrown;
      REQUIRE(state.step == before);
    }
  }
  CHECK(thrown > 100);
  CHECK(state.particles == whole.particles);
  CHECK(state.step_size == whole.step_size);
}

TEST_CASE("NUTS counts divergences, and refuses bad settings", "[nuts]") {
  // A wall at |w| = 1: the log density is −∞ beyond it.
  const Target wall{[](const auto& w, auto& g) { g = 0 * w; },
                    [](const auto& w, auto& values) {
                      values.resize(w.cols());
                      for (Index c = 0; c < w.cols(); ++c)
                        values(c) = std::abs(w(0, c)) < 1 ? 0.0 : -std::numeric_limits<double>::infinity();
                    }};
  const auto r = run_nuts(wall, repel::normal(1, 2, 1, 0.1), Nuts{.warmup = 0, .samples = 300});
  CHECK(r.divergences > 0);
  CHECK(r.draws.cwiseAbs().maxCoeff() < 1);
  CHECK(!r.trusted);
  CHECK_THAT(r.report.message, contains("not to be trusted: ") && contains(" divergent transitions (should be none)"));
  // An energy that is lost, but finite: far too long a step.
  const Target normal = gaussian(Eigen::Matrix3d::Identity());
  repel::NutsSampler<Target> sampler(normal, Nuts{.warmup = 0});
  auto state = sampler.init(repel::normal(3, 2, 1));
  const Eigen::MatrixXd before = state.particles;
  state.step_size.setConstant(1e3);
  for (int i = 0; i < 5; ++i) sampler.step(state);
  CHECK(state.divergences == 10);
  CHECK(state.particles == before);
  CHECK(state.acceptance.maxCoeff() == 0);

  const Eigen::MatrixXd start = repel::normal(3, 2, 1);
  CHECK_THROWS_WITH(run_nuts(normal, start, {.samples = 0}), contains("Nuts: samples is 0"));
  CHECK_THROWS_WITH(run_nuts(normal, start, {.warmup = -1}), contains("warmup is -1"));
  CHECK_THROWS_WITH(run_nuts(normal, start, {.max_depth = 0}), contains("max_depth is 0, but must be at least 1"));
  CHECK_THROWS_WITH(run_nuts(normal, start, {.max_depth = 31}), contains("max_depth is 31"));
  CHECK_THROWS_WITH(run_nuts(normal, start, {.target_acceptance = 1}), contains("target_acceptance is 1"));
  CHECK_THROWS_WITH(run_nuts(normal, start, {.thin = 0}), contains("thin is 0"));
  CHECK_THROWS_WITH(run_nuts({normal.gradient, [](const auto&, auto& v) { v.setZero(1); }}, start, {}),
                    contains("nuts: log_density wrote 1 values, but must write one per chain: 2"));
}

TEST_CASE("chains stay with the averaged step sizes after warm-up", "[nuts][hmc]") {
  repel::NutsSampler<Target> sampler(gaussian(Eigen::Matrix3d::Identity()), Nuts{.warmup = 60});
  auto state = sampler.init(repel::normal(3, 2, 1));
  for (int i = 0; i < 60; ++i) sampler.step(state);
  const Eigen::VectorXd averaged = std::get<2>(state.dual.fields()).array().exp();
  CHECK((state.step_size - averaged).norm() < 1e-12);
  const Eigen::VectorXd found = state.step_size;
  for (int i = 0; i < 10; ++i) sampler.step(state);
  CHECK(state.step_size == found);
}

TEST_CASE("chains may keep the identity as mass matrix", "[nuts][hmc]") {
  const Target narrow = gaussian(Eigen::Vector2d(1, 100).asDiagonal().toDenseMatrix());
  for (const bool adapt : {false, true}) {
    repel::NutsSampler<Target> sampler(narrow, Nuts{.warmup = 100, .adapt_mass = adapt});
    auto state = sampler.init(repel::normal(2, 2, 1, 0.1));
    for (int i = 0; i < 100; ++i) sampler.step(state);
    CHECK((state.variances.array() == 1).all() != adapt);
    CHECK(state.step_size.maxCoeff() < (adapt ? 3.0 : 0.3));  // the standard deviations are 1 and 0.1
    CHECK(state.step_size.minCoeff() > (adapt ? 0.3 : 0.03));
  }
}

TEST_CASE("chains in separate modes are not trusted", "[nuts][hmc]") {
  // Two normals 40 standard deviations apart, two chains in each.
  const Target modes{
      [](const auto& w, auto& g) { g = (20 * w.array().sign() - w.array()).matrix(); },
      [](const auto& w, auto& values) { values = -0.5 * (w.row(0).array().abs() - 20).square().matrix().transpose(); }};
  const Eigen::MatrixXd start{{-20.5, -19, 19.5, 21}};
  const auto r = run_nuts(modes, start, Nuts{.samples = 1000});
  CHECK(!r.trusted);
  CHECK_THAT(r.report.message, contains("; not to be trusted: R-hat of coordinate 0 is ") && contains("at most 1.01"));
  CHECK(run_nuts(modes, start.rightCols(2), Nuts{.samples = 1000}).trusted);  // which cannot know of the other
  const auto h = repel::hmc(modes, start.rightCols(2), repel::Hmc{.samples = 3});
  CHECK(!h.trusted);
  CHECK_THAT(h.report.message, contains("too few draws to judge"));
}

TEST_CASE("one chain, and chains that were stopped, are not trusted", "[nuts][hmc]") {
  const Target normal = gaussian(Eigen::Matrix2d::Identity());
  const auto one = run_nuts(normal, repel::normal(2, 1, 1), Nuts{.samples = 2000});
  CHECK(!one.trusted);
  CHECK_THAT(one.report.message, contains("; not to be trusted: one chain alone"));
  const auto stopped = repel::nuts(normal, repel::normal(2, 4, 1), Nuts{.warmup = 200, .samples = 1000},
                                   [](const auto&, const repel::StepInfo& info) { return info.step == 1190; });
  CHECK(!stopped.trusted);
  CHECK_THAT(stopped.report.message, contains("; not to be trusted: the run was stopped early"));
}

TEST_CASE("NUTS keeps what it has when it is stopped, and thins", "[nuts]") {
  const Target normal = gaussian(Eigen::Matrix3d::Identity());
  Nuts settings{.warmup = 50, .samples = 100, .seed = 9};
  const Eigen::MatrixXd start = repel::normal(3, 2, 1);
  const auto whole = run_nuts(normal, start, settings);
  const auto part =
      repel::nuts(normal, start, settings, [](const auto&, const repel::StepInfo& info) { return info.step == 80; });
  REQUIRE(part.draws_per_chain == 30);
  CHECK(!part.trusted);
  CHECK_THAT(part.report.message, contains("; not to be trusted: ") && contains("(should be at least 400)"));
  for (Index c = 0; c < 2; ++c) CHECK(part.chain(c) == whole.chain(c).leftCols(30));
  settings.thin = 7;
  const auto thinned = run_nuts(normal, start, settings);
  for (Index k = 0; k < 14; ++k) CHECK(thinned.chain(1).col(k) == whole.chain(1).col(7 * k + 6));
  // A tree that is cut off at once: one leapfrog step per iteration.
  settings.max_depth = 1;
  settings.thin = 1;
  const auto shallow = run_nuts(normal, start, settings);
  CHECK(shallow.depth <= 1);
  CHECK(shallow.at_max_depth > 150);
}

}  // namespace hmc_nuts_test
