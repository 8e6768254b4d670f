#include "catch.hpp"

#include <repel/bnn.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <cmath>
#include <functional>
#include <limits>

namespace hmc_hmc_test {

using repel::Index;

TEST_CASE("split R-hat is what one gets by hand", "[hmc]") {
  // Halves (1,2) (3,4) (2,3) (4,5): W = 1/2, variance of the means 1.5, 3.5, 2.5, 4.5 is 5/3, var⁺ = W/2 + 5/3.
  Eigen::MatrixXd chains(4, 2);
  chains << 1, 2, 2, 3, 3, 4, 4, 5;
  CHECK(repel::split_r_hat(chains) == Approx(std::sqrt((0.25 + 5.0 / 3) / 0.5)).epsilon(1e-14));
  // The middle draw of an odd number belongs to neither half.
  Eigen::MatrixXd odd(5, 2);
  odd << 1, 2, 2, 3, 100, -100, 3, 4, 4, 5;
  CHECK(repel::split_r_hat(odd) == Approx(repel::split_r_hat(chains)).epsilon(1e-14));
  CHECK(repel::split_r_hat(Eigen::MatrixXd::Constant(10, 2, 3.0)) == 1);
  Eigen::MatrixXd stuck = Eigen::MatrixXd::Zero(10, 2);
  stuck.col(1).setOnes();
  CHECK(std::isinf(repel::split_r_hat(stuck)));
  stuck(3, 0) = std::nan("");
  CHECK(std::isnan(repel::split_r_hat(stuck)));
  CHECK_THROWS_WITH(repel::split_r_hat(Eigen::MatrixXd::Zero(3, 2)),
                    contains("chains has 3 rows, but needs at least 4"));
}

TEST_CASE("the effective sample size is what one gets by hand", "[hmc]") {
  // One chain of twice 0000 1111. In each half the products of the centred draws at lags 1, 2, 3 sum to 1.25, 0.5,
  // −0.25, so W = 4/14, var⁺ = 1/4 and the correlations are 0.4821, 0.1071, −0.2679. Geyer's pairs: 1 + 0.4821 counts,
  // 0.1071 − 0.2679 is negative and ends the sum. τ = −1 + 2 · 1.4821.
  Eigen::MatrixXd chain(16, 1);
  chain << 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1;
  const double rho = 1 - (4.0 / 14 - 2.5 / 16) / 0.25;
  CHECK(repel::effective_sample_size(chain) == Approx(16 / (2 * (1 + rho) - 1)).epsilon(1e-14));
  CHECK(repel::effective_sample_size(Eigen::MatrixXd::Constant(10, 2, 3.0)) == 0);

  // AR(1) with correlation φ: n (1 − φ)/(1 + φ). Its estimate here is good to some 5 %.
  repel::Random random(1);
  for (const double phi : {-0.4, 0.0, 0.5, 0.9}) {
    Eigen::MatrixXd chains(20000, 4);
    for (Index c = 0; c < 4; ++c) {
      double x = random.normal() / std::sqrt(1 - phi * phi);
      for (Index i = 0; i < 20000; ++i) chains(i, c) = x = phi * x + random.normal();
    }
    CAPTURE(phi);
    CHECK(repel::effective_sample_size(chains) == Approx(80000 * (1 - phi) / (1 + phi)).epsilon(0.1));
    CHECK(repel::split_r_hat(chains) == Approx(1).margin(0.002));
    // Many quantities at once, chain after chain.
    const Eigen::MatrixXd row = chains.reshaped(1, 80000);
    CHECK(repel::diagnose(row, 4).effective_samples(0) == repel::effective_sample_size(chains));
  }
}

namespace {

/// Any target behind one type, so that the sampler is compiled once.
using Target = repel::TargetWithDensity<std::function<void(const Eigen::MatrixXd&, Eigen::MatrixXd&)>,
                                        std::function<void(const Eigen::MatrixXd&, Eigen::VectorXd&)>>;

template <class Posterior>
Target target_of(const Posterior& posterior) {
  return {[t = posterior.target()](const auto& w, auto& g) mutable { t(w, g); },
          [t = posterior.target()](const auto& w, auto& values) mutable { t.log_density(w, values); }};
}

using Result = repel::HmcResult<double>;

Result run_hmc(const Target& target, const Eigen::MatrixXd& start, const repel::Hmc& settings,
               Index stop_at = 1 << 30) {
  return repel::hmc(target, start, settings,
                    [&](const auto&, const repel::StepInfo& info) { return info.step == stop_at; });
}

const Eigen::Vector3d kMean(1, -2, 3), kSd(0.1, 1, 10);
const Target kGaussian{[](const auto& w, auto& g) {
                         g = kSd.array().square().inverse().matrix().asDiagonal() * (kMean.replicate(1, w.cols()) - w);
                       },
                       [](const auto& w, auto& values) {
                         values = -0.5 * (kSd.cwiseInverse().asDiagonal() * (w.colwise() - Eigen::VectorXd(kMean)))
                                             .colwise()
                                             .squaredNorm()
                                             .transpose();
                       }};

}  // namespace

TEST_CASE("HMC recovers a Gaussian of very different scales", "[hmc][recovery]") {
  const auto r =
      run_hmc(kGaussian, repel::normal(3, 4, 1, 3.0), repel::Hmc{.warmup = 400, .samples = 1000, .leapfrog_steps = 8});
  REQUIRE(r.draws.cols() == 4000);
  CHECK(r.divergences == 0);
  CHECK(r.diagnostics.r_hat.maxCoeff() < 1.01);
  CHECK(r.diagnostics.effective_samples.minCoeff() > 1000);
  const Eigen::MatrixXd& draws = r.draws;
  for (Index i = 0; i < 3; ++i) {
    // Four standard errors of mean and variance, from the effective sample size (which for the variance may be
    // smaller).
    const double n = std::min(r.diagnostics.effective_samples(i), 4000.0), sd = kSd(i);
    const double mean = draws.row(i).mean(), variance = (draws.row(i).array() - mean).square().sum() / 3999;
    CAPTURE(i, n);
    CHECK(std::abs(mean - kMean(i)) < 4 * sd / std::sqrt(n));
    CHECK(std::abs(variance / (sd * sd) - 1) < 4 * std::sqrt(2 / (n / 2)));
  }
  // The step size was adapted to the acceptance asked for.
  CHECK(r.acceptance.mean() > 0.7);
  CHECK(r.acceptance.mean() < 0.95);
  // The chains' temperature over the last 50 iterations, each with a standard deviation of √(2/(3·3)) = 0.47.
  CHECK(std::abs(r.report.temperature - 1) < 0.3);
  CHECK(r.report.caution.empty());
}

TEST_CASE("HMC runs in float on a pair of lambdas", "[hmc][recovery]") {
  const auto target =
      repel::with_log_density([](const auto& w, auto& g) { g = -w; },
                              [](const auto& w, auto& values) {
                                values = -0.5 * w.template cast<double>().colwise().squaredNorm().transpose();
                              });
  const auto r = repel::hmc(target, repel::normal<float>(2, 4, 1), repel::Hmc{.samples = 2000, .leapfrog_steps = 5});
  static_assert(std::is_same_v<decltype(r.draws), Eigen::MatrixXf>);
  // 8000 draws, about as many independent ones: four standard errors of the variance are 0.063.
  CHECK(r.diagnostics.effective_samples.minCoeff() > 4000);
  CHECK(std::abs(r.draws.row(0).squaredNorm() / 8000 - 1) < 0.063);
  CHECK(std::abs(r.draws.row(1).squaredNorm() / 8000 - 1) < 0.063);
}

TEST_CASE("HMC recovers a target that is not Gaussian", "[hmc][recovery]") {
  // Independent Laplace and logistic coordinates: variances 2 and π²/3, fourth moments 24 and 7π⁴/15.
  const Target target{
      [](const auto& w, auto& g) {
        g.row(0) = -w.row(0).array().sign();
        g.row(1) = -(w.row(1).array() / 2).tanh();
      },
      [](const auto& w, Eigen::VectorXd& values) {
        values = (-w.row(0).array().abs() - w.row(1).array() - 2 * (1 + (-w.row(1).array()).exp()).log()).transpose();
      }};
  const auto r =
      run_hmc(target, repel::normal(2, 4, 1), repel::Hmc{.warmup = 500, .samples = 5000, .leapfrog_steps = 6});
  CHECK(r.diagnostics.r_hat.maxCoeff() < 1.01);
  const Eigen::ArrayXXd squares = r.draws.array().square();
  const double pi = std::numbers::pi;
  // Monte Carlo error of the second moment from its own effective sample size, four standard errors.
  const auto check = [&](Index i, double second, double fourth) {
    const double ess = repel::diagnose(squares.matrix().row(i), 4).effective_samples(0);
    CAPTURE(i, ess);
    CHECK(ess > 500);
    CHECK(std::abs(squares.row(i).mean() - second) < 4 * std::sqrt((fourth - second * second) / ess));
  };
  check(0, 2, 24);
  check(1, pi * pi / 3, 7 * std::pow(pi, 4) / 15);
}

TEST_CASE("HMC on a network without hidden layers gives Bayesian linear regression", "[hmc][bnn][recovery]") {
  const Eigen::MatrixXd x = repel::normal(2, 20, 3);
  const Eigen::RowVectorXd y = 0.5 * x.row(0) - x.row(1) + 0.3 * repel::normal(1, 20, 4);
  const repel::Bnn posterior(repel::Mlp({2, 1}), repel::GaussianLikelihood{0.3}, repel::NormalPrior{2.0}, x, y);
  const auto r =
      run_hmc(target_of(posterior), posterior.prior_draws(4, 1), repel::Hmc{.samples = 2000, .leapfrog_steps = 5});
  Eigen::MatrixXd features(3, 20);
  features << x, Eigen::RowVectorXd::Ones(20);
  const Eigen::MatrixXd covariance =
      (features * features.transpose() / 0.09 + Eigen::MatrixXd::Identity(3, 3) / 4).inverse();
  const Eigen::VectorXd mean = covariance * features * y.transpose() / 0.09;
  const Eigen::VectorXd found = r.draws.rowwise().mean();
  const Eigen::MatrixXd centred = r.draws.colwise() - found;
  const double n = r.diagnostics.effective_samples.minCoeff();
  CHECK(n > 1000);
  for (Index i = 0; i < 3; ++i) CHECK(std::abs(found(i) - mean(i)) < 4 * std::sqrt(covariance(i, i) / n));
  CHECK((centred * centred.transpose() / 7999 - covariance).norm() < 6 * std::sqrt(2 / n) * covariance.norm());
}

TEST_CASE("HMC counts divergences, and rejects what is not finite", "[hmc]") {
  // A wall at |w| = 1: the log density is −∞ beyond it, and the gradient sends trajectories there.
  const Target target{[](const auto& w, auto& g) { g = 0 * w; },
                      [](const auto& w, auto& values) {
                        values.resize(w.cols());
                        for (Index c = 0; c < w.cols(); ++c)
                          values(c) = std::abs(w(0, c)) < 1 ? 0.0 : -std::numeric_limits<double>::infinity();
                      }};
  const auto r = run_hmc(target, repel::normal(1, 2, 1, 0.1), repel::Hmc{.warmup = 0, .samples = 300});
  CHECK(r.divergences > 0);
  CHECK(r.draws.cwiseAbs().maxCoeff() < 1);
  // An energy that is lost, but finite: far too long a step on a stiff target.
  repel::HmcSampler<Target> sampler(kGaussian, repel::Hmc{.warmup = 0, .leapfrog_steps = 5});
  auto state = sampler.init(repel::normal(3, 2, 1));
  const Eigen::MatrixXd before = state.particles;
  state.step_size.setConstant(1e3);
  for (int i = 0; i < 5; ++i) sampler.step(state);
  CHECK(state.divergences == 10);
  CHECK(state.particles == before);
  // A log density that does not fit, or is not written.
  CHECK_THROWS_WITH(run_hmc({[](const auto& w, auto& g) { g = 0 * w; }, [](const auto&, auto& v) { v.setZero(); }},
                            repel::normal(3, 2, 1), {}),
                    contains("the log density there is flat"));
  CHECK_THROWS_WITH(run_hmc({kGaussian.gradient, [](const auto&, auto&) {}}, repel::normal(3, 2, 1), {}),
                    contains("the log density of initial.col(0) is nan"));
  CHECK_THROWS_WITH(
      run_hmc({kGaussian.gradient, [](const auto&, auto& v) { v.setZero(1); }}, repel::normal(3, 2, 1), {}),
      contains("log_density wrote 1 values, but must write one per chain: 2"));
  CHECK_THROWS_WITH(run_hmc({[](const auto&, auto&) {}, kGaussian.density}, repel::normal(3, 2, 1), {}),
                    contains("the gradient at initial(0, 0) is nan"));
  CHECK_THROWS_WITH(run_hmc(target, Eigen::MatrixXd::Constant(1, 2, 3.0), {}),
                    contains("the log density of initial.col(0) is -inf, but must be finite"));
  CHECK_THROWS_WITH(run_hmc(kGaussian, repel::normal(3, 1, 1), repel::Hmc{.samples = 0}), contains("samples is 0"));
  CHECK_THROWS_WITH(run_hmc(kGaussian, repel::normal(3, 1, 1), repel::Hmc{.target_acceptance = 1}),
                    contains("target_acceptance is 1, but must be larger than 0 and below 1"));
  CHECK_THROWS_WITH(run_hmc(kGaussian, repel::normal(3, 1, 1), repel::Hmc{.samples = 10, .thin = 11}),
                    contains("thin is 11"));
}

TEST_CASE("HMC keeps what it has when it is stopped, and thins", "[hmc]") {
  const repel::Hmc settings{.warmup = 50, .samples = 100, .leapfrog_steps = 3, .seed = 9};
  const auto whole = run_hmc(kGaussian, repel::normal(3, 2, 1), settings);
  const auto part = run_hmc(kGaussian, repel::normal(3, 2, 1), settings, 80);
  REQUIRE(part.draws_per_chain == 30);
  REQUIRE(part.draws.cols() == 60);
  for (Index c = 0; c < 2; ++c) CHECK(part.chain(c) == whole.chain(c).leftCols(30));
  CHECK(part.report.stop == repel::Report::Stop::by_observer);
  const auto none = run_hmc(kGaussian, repel::normal(3, 2, 1), settings, 40);  // in warm-up
  CHECK(none.draws.cols() == 0);
  CHECK(none.diagnostics.r_hat.array().isNaN().all());
  auto every = settings;
  every.thin = 7;
  const auto thinned = run_hmc(kGaussian, repel::normal(3, 2, 1), every);
  REQUIRE(thinned.draws_per_chain == 14);
  for (Index k = 0; k < 14; ++k) CHECK(thinned.chain(1).col(k) == whole.chain(1).col(7 * k + 6));
  auto other = settings;
  other.seed = 10;
  CHECK(run_hmc(kGaussian, repel::normal(3, 2, 1), other).draws != whole.draws);
}

TEST_CASE("networks, function space and HMC give the same bits for any number of threads", "[threads][bnn][hmc]") {
  // GELU, tanh and the softmax use exp, whose last bit depends on alignment where a buffer is not padded.
  const auto everything = [](repel::Activation activation) {
    const repel::Bnn posterior(repel::Mlp({3, 17, 13, 5}, activation), repel::CategoricalLikelihood{},
                               repel::NormalPrior{1.0}, repel::normal<float>(3, 40, 1),
                               Eigen::VectorXi::LinSpaced(40, 0, 4).eval(), repel::Minibatch{31, 3});
    auto weights = repel::weight_space(posterior.target(), repel::Svgd{}, repel::Adam{.learning_rate = 0.01});
    auto functions = repel::function_space(posterior.functions(repel::ImplicitPrior{}, repel::NoisyPoints{0.1}),
                                           repel::Wgd{repel::Ssge{}}, repel::Adam{.learning_rate = 0.01},
                                           repel::view::Probabilities{});
    auto w = weights.init(posterior.prior_draws(21, 1));
    auto f = functions.init(posterior.prior_draws(21, 1));
    CHECK(repel::run(weights, w, 20).finished());
    REQUIRE(repel::run(functions, f, 20).finished());
    const repel::Bnn all(repel::Mlp({3, 17, 1}, activation), repel::GaussianLikelihood{1.0}, repel::NormalPrior{1.0},
                         repel::normal(3, 300, 1), repel::normal(1, 300, 2));
    const auto h =
        run_hmc(target_of(all), all.prior_draws(5, 1), repel::Hmc{.warmup = 5, .samples = 5, .leapfrog_steps = 3});
    return std::tuple{w.particles, f.particles, h.draws};
  };
  for (const auto activation : {repel::Activation::relu, repel::Activation::tanh, repel::Activation::gelu}) {
    repel::set_threads(1);
    const auto reference = everything(activation);
    for (const Index threads : {2, 3, 8}) {
      repel::set_threads(threads);
      const auto result = everything(activation);
      CAPTURE(threads, static_cast<int>(activation));
      CHECK((std::get<0>(result) == std::get<0>(reference)));
      CHECK((std::get<1>(result) == std::get<1>(reference)));
      CHECK((std::get<2>(result) == std::get<2>(reference)));
    }
  }
  repel::set_threads(1);
}

}  // namespace hmc_hmc_test
