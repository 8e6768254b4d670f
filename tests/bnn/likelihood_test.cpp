#include "catch.hpp"
#include "support/differences.hpp"
#include "support/tolerance.hpp"

#include <repel/bnn.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <cmath>
#include <numbers>

namespace bnn_likelihood_test {

using repel::Index;

namespace {

const Eigen::MatrixXd kX = repel::normal(2, 12, 1);
const Eigen::MatrixXd kNumbers = repel::normal(2, 12, 2);
const Eigen::MatrixXd kCounts = (kNumbers.array().abs() * 3).floor();
const Eigen::MatrixXd kBits = (kNumbers.array() > 0).cast<double>();

template <class Scalar, class Posterior, class W>
repel::Matrix<Scalar> gradient(const Posterior& posterior, const W& w, Index step = 0) {
  auto target = posterior.target();
  target.begin_step(step);
  repel::Matrix<Scalar> g = repel::Matrix<Scalar>::Constant(w.rows(), w.cols(), static_cast<Scalar>(std::nan("")));
  target(w, g);
  return g;
}

/// f(likelihood, targets, outputs) for each of them.
template <class Check>
void for_each_likelihood(const Check& check) {
  check(repel::GaussianLikelihood{0.3}, kNumbers, 2);
  check(repel::LearnedNoiseLikelihood{2, 0.5}, kNumbers, 2);
  check(repel::HeteroscedasticLikelihood{}, kNumbers, 4);
  check(repel::StudentTLikelihood{0.7, 3}, kNumbers, 2);
  check(repel::PoissonLikelihood{}, kCounts, 2);
  check(repel::BernoulliLikelihood{}, kBits, 2);
  check(repel::own_likelihood([]<class T>(const repel::Vector<T>& f, const Eigen::VectorXd& y) -> T {
          using std::exp;
          return y(0) * f(0) - y(1) * y(1) * exp(f(0)) - f.squaredNorm();
        }),
        kCounts, 10);  // more outputs than are differentiated at a time
}

template <class Likelihood, class Y>
auto posterior_of(const Likelihood& likelihood, const Y& y, Index outputs, repel::Minibatch batch = {}) {
  return repel::Bnn(repel::Mlp({2, 5, outputs}, repel::Activation::tanh), likelihood, repel::NormalPrior{1.0}, kX, y,
                    batch);
}

}  // namespace

TEST_CASE("the gradient of every likelihood is that of its log density, in double and in float", "[bnn][likelihood]") {
  for_each_likelihood([](const auto& likelihood, const Eigen::MatrixXd& y, Index outputs) {
    const auto posterior = posterior_of(likelihood, y, outputs);
    const Eigen::MatrixXd w = repel::normal(posterior.dim(), 3, 3, 0.7), g = gradient<double>(posterior, w);
    CHECK(test::relative_error(g, test::differences(posterior.target(), w)) < 1e-7);

    const repel::Bnn in_float(posterior.network(), likelihood, repel::NormalPrior{1.0}, kX.cast<float>().eval(),
                              y.cast<float>().eval());
    const Eigen::MatrixXf w_float = w.cast<float>();
    CHECK(test::relative_error(gradient<float>(in_float, w_float), g) < test::rounding<float>());
  });
}

TEST_CASE("log densities of likelihoods are those of their distributions", "[bnn][likelihood]") {
  using std::numbers::pi;
  const Eigen::VectorXd f = Eigen::VectorXd{{0.4, -1.2}}, y = Eigen::VectorXd{{1.1, 0.3}};
  const double a = 0.7, b = 1.5;  // the residuals' sizes
  const Eigen::VectorXd theta = Eigen::VectorXd{{0.5, -0.2}};
  const auto normal = [](double r, double sd) { return -0.5 * r * r / (sd * sd) - std::log(sd * std::sqrt(2 * pi)); };
  CHECK(repel::LearnedNoiseLikelihood{}.log_density(f, y, theta) ==
        Approx(normal(a, std::exp(-0.25)) + normal(b, std::exp(0.1))).epsilon(1e-12));
  CHECK(repel::HeteroscedasticLikelihood{}.log_density(f, Eigen::VectorXd{{1.1}}) ==
        Approx(normal(a, std::exp(-0.6))).epsilon(1e-12));
  const auto cauchy = [](double r, double s) { return -std::log(pi * s * (1 + r * r / (s * s))); };
  CHECK(repel::StudentTLikelihood{2, 1}.log_density(f, y) == Approx(cauchy(a, 2) + cauchy(b, 2)).epsilon(1e-12));
  CHECK(repel::PoissonLikelihood{}.log_density(f, Eigen::VectorXd{{3, 0}}) ==
        Approx(std::log(std::exp(1.2) * std::exp(-std::exp(0.4)) / 6) - std::exp(-1.2)).epsilon(1e-12));
  CHECK(repel::BernoulliLikelihood{}.log_density(f, Eigen::VectorXd{{1, 0}}) ==
        Approx(-std::log(1 + std::exp(-0.4)) - std::log(1 + std::exp(-1.2))).epsilon(1e-12));
  // Far out nothing overflows, and nothing is lost.
  CHECK(repel::BernoulliLikelihood{}.log_density(Eigen::VectorXd{{-1e4}}, Eigen::VectorXd{{1}}) == Approx(-1e4));
  CHECK(repel::BernoulliLikelihood{}.log_density(Eigen::VectorXd{{1e4}}, Eigen::VectorXd{{1}}) == 0);
  // Gamma(2, 0.5) at γ = e^0.5, times the Jacobian γ.
  const double gamma = std::exp(0.5);
  CHECK(repel::LearnedNoiseLikelihood{2, 0.5}.prior_log_density(Eigen::VectorXd{{0.5}}) ==
        Approx(std::log(0.25 * gamma * std::exp(-0.5 * gamma) * gamma)).epsilon(1e-12));
}

TEST_CASE("Gamma draws have the moments of Gamma", "[bnn][random]") {
  for (const double shape : {0.3, 1.0, 4.5}) {
    repel::Random random(7);
    constexpr int n = 200000;
    double sum = 0, squares = 0, logs = 0;
    for (int i = 0; i < n; ++i) {
      const double draw = random.gamma(shape);
      sum += draw / n;
      squares += draw * draw / n;
      logs += std::log(draw) / n;
    }
    // Standard errors: mean √(a/n), E x² about √(E x⁴/n), E log x √(ψ′(a)/n) with ψ′(0.3) = 12.2; five of each.
    CHECK(std::abs(sum - shape) < 5 * std::sqrt(shape / n));
    const double fourth = shape * (shape + 1) * (shape + 2) * (shape + 3);
    CHECK(std::abs(squares - shape * (shape + 1)) < 5 * std::sqrt(fourth / n));
    const double step = 1e-4, digamma = (std::lgamma(shape + step) - std::lgamma(shape - step)) / (2 * step);
    CHECK(std::abs(logs - digamma) < 5 * std::sqrt(12.3 / n));
  }
}

TEST_CASE("a likelihood's parameters are the last rows of a particle", "[bnn][likelihood]") {
  const auto posterior = posterior_of(repel::LearnedNoiseLikelihood{3, 2}, kNumbers, 2);
  CHECK(posterior.dim() == 27 + 2);
  CHECK(posterior.likelihood_parameters() == 2);
  const Eigen::MatrixXd w = posterior.prior_draws(20000, 1);
  REQUIRE(w.rows() == 29);
  CHECK(w.topRows(27) == repel::prior_draws(posterior.network(), repel::NormalPrior{1.0}, 20000, 1));
  // γ ~ Gamma(3, 2): mean 1.5, variance 0.75; five standard errors of 40000 draws, the variance's with kurtosis 5.
  const Eigen::ArrayXXd precision = w.bottomRows(2).array().exp();
  CHECK(std::abs(precision.mean() - 1.5) < 5 * std::sqrt(0.75 / 40000));
  CHECK(std::abs((precision - 1.5).square().mean() - 0.75) < 5 * 0.75 * std::sqrt(4.0 / 40000));
  CHECK(posterior.prior_draws(20000, 2).bottomRows(2) != w.bottomRows(2));
  CHECK(repel::layer_blocks(posterior) == std::vector<Index>{15, 12, 2});

  const Eigen::MatrixXd weights = repel::pytorch_draws(posterior.network(), 4, 1);
  CHECK(posterior.complete(weights, 1).topRows(27) == weights);
  CHECK(posterior.complete(weights, 1).bottomRows(2) == posterior.prior_draws(4, 1).bottomRows(2));
  CHECK_THROWS_WITH(posterior.complete(w.leftCols(2), 1), contains("weights has 29 rows, but must have 27"));
  CHECK_THROWS_WITH(posterior.predict(weights, kX), contains("W has 27 rows, but must have 29"));
}

TEST_CASE("minibatches rescale the gradient of the likelihood's parameters, too", "[bnn][likelihood]") {
  const auto all = posterior_of(repel::LearnedNoiseLikelihood{}, kNumbers, 2);
  for (const bool per_particle : {false, true}) {
    const auto batches = posterior_of(repel::LearnedNoiseLikelihood{}, kNumbers, 2,
                                      {.size = 4, .seed = 5, .per_particle = per_particle});
    const Eigen::MatrixXd w = repel::normal(29, 3, 3);
    Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(29, 3);
    for (Index b = 0; b < 3; ++b) mean += gradient<double>(batches, w, 6 + b) / 3;
    CHECK(test::relative_error(mean, gradient<double>(all, w)) < 1e-10);
    // Two copies of one particle see the same points, or not. (Not the same bits: columns differ in their alignment.)
    Eigen::MatrixXd twins(29, 2);
    twins << w.col(0), w.col(0);
    const Eigen::MatrixXd g = gradient<double>(batches, twins, 1);
    CHECK((test::relative_error(g.col(0), g.col(1)) < 1e-12) == !per_particle);
  }
  const auto each = posterior_of(repel::GaussianLikelihood{}, kNumbers, 2, {.size = 4, .per_particle = true});
  CHECK_THROWS_WITH(each.functions(), contains("one per particle, but must be one for all"));
}

TEST_CASE("batches per particle are the same for any number of threads and from any step", "[bnn][threads]") {
  const auto posterior =
      posterior_of(repel::GaussianLikelihood{}, kNumbers, 2, {.size = 4, .seed = 5, .per_particle = true});
  const Eigen::MatrixXd w = repel::normal(27, 9, 3);
  auto target = posterior.target();
  Eigen::MatrixXd g(27, 9), again(27, 9);
  for (Index step = 0; step < 8; ++step) {
    target.begin_step(step);
    target(w, g);
  }
  repel::set_threads(3);
  auto fresh = posterior.target();
  fresh.begin_step(7);
  fresh(w, again);
  repel::set_threads(1);
  CHECK(g == again);
}

TEST_CASE("noise is learned in both spaces", "[bnn][likelihood][function_space]") {
  // y = x + N(0, 0.3²) at 400 points, a line: a particle's noise has its posterior near 0.3.
  const Eigen::MatrixXd x = repel::normal(1, 400, 11), y = x + 0.3 * repel::normal(1, 400, 12);
  const repel::Bnn posterior(repel::Mlp({1, 1}), repel::LearnedNoiseLikelihood{}, repel::NormalPrior{1.0}, x, y);
  const auto check = [&](auto sampler, double least_spread) {
    auto state = sampler.init(posterior.prior_draws(40, 1));
    const auto report = repel::run(sampler, state, 3000);
    REQUIRE(report.finished());
    const Eigen::RowVectorXd sd = (-0.5 * state.particles.row(2)).array().exp();
    CHECK(sd.mean() == Approx(0.3).margin(0.03));  // 0.0106 is the standard error of an estimate from 400 points
    CHECK((sd.array() - sd.mean()).abs().maxCoeff() >= least_spread);
    const Eigen::MatrixXd at{{0.0, 1.0}};
    const auto prediction = posterior.predict(state.particles, at);
    CHECK(prediction.sd_with_noise(0) ==
          Approx(std::sqrt(std::pow(prediction.sd(0), 2) + sd.array().square().mean())).epsilon(1e-12));
    // The mixture's density at a point, in plain loops.
    const double value = posterior.log_predictive(state.particles, at, Eigen::MatrixXd{{0.1, 0.9}})(1);
    double sum = 0;
    for (Index j = 0; j < 40; ++j) {
      const double r = 0.9 - state.particles(0, j) - state.particles(1, j), s = sd(j);
      sum += std::exp(-0.5 * r * r / (s * s)) / (s * std::sqrt(2 * std::numbers::pi)) / 40;
    }
    CHECK(value == Approx(std::log(sum)).epsilon(1e-10));
  };
  // The posterior sd of the noise is 0.0106; in function space nothing keeps the particles' noise apart.
  check(repel::weight_space(posterior.target(), repel::Wgd{repel::Sge{}}, repel::Adam{.learning_rate = 0.02}), 0.005);
  check(repel::function_space(posterior.functions(), repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.02}), 0);
}

TEST_CASE("in function space the likelihood's parameters follow the gradient of their log density",
          "[bnn][likelihood][function_space]") {
  const auto posterior = posterior_of(repel::LearnedNoiseLikelihood{}, kNumbers, 2, {.size = 6, .seed = 2});
  auto model = posterior.functions(repel::FlatPrior{}, repel::NoisyPoints{0.1});
  const Eigen::MatrixXd w = repel::normal(29, 3, 3);
  model.begin_step(1);
  Eigen::MatrixXd f, s, g(29, 3);
  model.predict(w, f);
  model.score(f, s);
  model.pullback(w, s, g);
  Eigen::MatrixXd expected = gradient<double>(posterior, w, 1);
  expected.topRows(27) += w.topRows(27);  // the weight prior is no part of a flat prior over functions
  CHECK(test::relative_error(g, expected) < 1e-12);
}

TEST_CASE("predictions of each likelihood are its moments", "[bnn][likelihood]") {
  for_each_likelihood([](const auto& likelihood, const Eigen::MatrixXd& y, Index outputs) {
    using Likelihood = std::decay_t<decltype(likelihood)>;
    const auto posterior = posterior_of(likelihood, y, outputs);
    const Eigen::MatrixXd w = repel::normal(posterior.dim(), 5, 3, 0.7), at = repel::normal(2, 3, 4);
    const auto p = posterior.predict(w, at);
    const Eigen::MatrixXd f = posterior.outputs(w, at);
    const auto of = [&](Index k, Index i) { return f.row(i * outputs + k).array(); };
    const Index k = 1, i = 2;  // the second target at the third point
    if constexpr (std::same_as<Likelihood, repel::BernoulliLikelihood>) {
      CHECK(p.probabilities(k, i) == Approx((1 / (1 + (-of(k, i)).exp())).mean()).epsilon(1e-12));
    } else {
      Eigen::ArrayXd members = of(k, i), noise = Eigen::ArrayXd::Zero(5);
      if constexpr (std::same_as<Likelihood, repel::GaussianLikelihood>) noise.setConstant(0.09);
      if constexpr (std::same_as<Likelihood, repel::LearnedNoiseLikelihood>) noise = (-w.row(27 + k)).array().exp();
      if constexpr (std::same_as<Likelihood, repel::HeteroscedasticLikelihood>) noise = of(2 + k, i).exp();
      if constexpr (std::same_as<Likelihood, repel::StudentTLikelihood>) noise.setConstant(0.49 * 3);
      if constexpr (std::same_as<Likelihood, repel::PoissonLikelihood>) noise = members = members.exp().eval();
      const double variance = (members - members.mean()).square().sum() / 4;
      CHECK(p.mean(k, i) == Approx(members.mean()).epsilon(1e-12));
      CHECK(p.sd(k, i) == Approx(std::sqrt(variance)).epsilon(1e-12));
      CHECK(p.sd_with_noise(k, i) == Approx(std::sqrt(variance + noise.mean())).epsilon(1e-12));
    }
  });
}

TEST_CASE("scaled data are undone in predictions", "[bnn][scaling]") {
  const Eigen::MatrixXd x = (100 * kX).array() + 1000, y = (7 * kNumbers).array() - 50;
  const repel::Scaling scaling = repel::Scaling::standard(x, y);
  const repel::Bnn posterior(repel::Mlp({2, 5, 2}), repel::GaussianLikelihood{0.3}, repel::NormalPrior{1.0}, x, y,
                             repel::Minibatch{}, scaling);
  for (const Eigen::MatrixXd& part : {posterior.inputs(), posterior.targets()}) {
    CHECK(part.rowwise().mean().cwiseAbs().maxCoeff() < 1e-12);
    CHECK((part.rowwise().squaredNorm().array() / 12 - 1).abs().maxCoeff() < 1e-12);
  }
  const repel::Bnn plain(posterior.network(), repel::GaussianLikelihood{0.3}, repel::NormalPrior{1.0},
                         posterior.inputs(), posterior.targets());
  const Eigen::MatrixXd w = repel::normal(27, 4, 3);
  CHECK(gradient<double>(posterior, w) == gradient<double>(plain, w));

  const auto in_units = posterior.predict(w, x), scaled = plain.predict(w, posterior.inputs());
  for (Index k = 0; k < 2; ++k) {
    const double sd = scaling.target_sd(k), mean = scaling.target_mean(k);
    CHECK(test::relative_error(in_units.mean.row(k), (scaled.mean.row(k).array() * sd + mean).matrix()) < 1e-12);
    CHECK(test::relative_error(in_units.sd.row(k), scaled.sd.row(k) * sd) < 1e-12);
    CHECK(test::relative_error(in_units.sd_with_noise.row(k), scaled.sd_with_noise.row(k) * sd) < 1e-12);
  }
  // A density in other units has the Jacobian of the change.
  const Eigen::VectorXd log_p = posterior.log_predictive(w, x, y),
                        log_p_scaled = plain.log_predictive(w, posterior.inputs(), posterior.targets());
  const double jacobian = -std::log(scaling.target_sd(0) * scaling.target_sd(1));
  CHECK((log_p - log_p_scaled).array().isApproxToConstant(jacobian, 1e-9));

  const repel::Bnn classifier(repel::Mlp({2, 5, 2}), repel::BernoulliLikelihood{}, repel::NormalPrior{1.0}, x, kBits,
                              repel::Minibatch{}, repel::Scaling::standard_inputs(x));
  CHECK(classifier.targets() == kBits);
}

TEST_CASE("scalings and targets that do not fit are refused with the reason", "[bnn][likelihood][scaling]") {
  using namespace repel;
  const Mlp network({2, 5, 2});
  const NormalPrior prior{1.0};
  Eigen::MatrixXd x = kX;
  x.row(1).setConstant(0.1);
  CHECK_THROWS_WITH(Scaling::standard_inputs(x), contains("row 1 of inputs is 0.1 at all 12 points, but must vary"));
  CHECK_THROWS_WITH(Scaling::standard(kX, Eigen::VectorXd::Constant(12, 3.0)), contains("row 0 of targets is 3"));
  x(1, 3) = std::nan("");
  CHECK_THROWS_WITH(Scaling::standard_inputs(x), contains("inputs(1, 3) is nan"));
  const Scaling scaling = Scaling::standard(kX, kNumbers);
  CHECK_THROWS_WITH(Bnn(network, PoissonLikelihood{}, prior, kX, kCounts, Minibatch{}, scaling),
                    contains("targets are no numbers on a scale"));
  CHECK_THROWS_WITH(Bnn(Mlp({2, 1}), GaussianLikelihood{}, prior, kX, kNumbers.row(0).eval(), Minibatch{}, scaling),
                    contains("target_mean and target_sd have 2 and 2 entries, but must have 1"));
  Scaling broken = scaling;
  broken.input_sd(1) = 0;
  CHECK_THROWS_WITH(Bnn(network, GaussianLikelihood{}, prior, kX, kNumbers, Minibatch{}, broken),
                    contains("input_sd(1) is 0"));

  CHECK_THROWS_WITH(Bnn(network, PoissonLikelihood{}, prior, kX, kNumbers),
                    contains("but a count must be a whole number, at least 0"));
  Eigen::MatrixXd counts = kCounts;
  counts(1, 4) = 2.5;
  CHECK_THROWS_WITH(Bnn(network, PoissonLikelihood{}, prior, kX, counts), contains("targets(1, 4) is 2.5"));
  CHECK_NOTHROW(Bnn(network, PoissonLikelihood{}, prior, kX, kCounts.cast<int>().eval()));
  Eigen::MatrixXd bits = kBits;
  bits(0, 7) = 2;
  CHECK_THROWS_WITH(Bnn(network, BernoulliLikelihood{}, prior, kX, bits),
                    contains("targets(0, 7) is 2, but must be 0 or 1"));
  CHECK_THROWS_WITH(Bnn(network, HeteroscedasticLikelihood{}, prior, kX, kNumbers),
                    contains("targets has 2 rows, but must have 1, half the outputs of the network"));
  CHECK_THROWS_WITH(Bnn(network, LearnedNoiseLikelihood{0, 1}, prior, kX, kNumbers), contains("shape is 0"));
  CHECK_THROWS_WITH(Bnn(network, StudentTLikelihood{1, 0}, prior, kX, kNumbers), contains("degrees is 0"));
}

TEST_CASE("heavy tails hold out against an outlier", "[bnn][likelihood]") {
  const Eigen::RowVectorXd x = Eigen::RowVectorXd::LinSpaced(21, -1, 1);
  Eigen::RowVectorXd y = 2 * x;
  y(20) = -30;
  const auto slope = [&](const auto& likelihood) {
    const repel::Bnn posterior(repel::Mlp({1, 1}), likelihood, repel::NormalPrior{10.0}, x, y);
    auto sampler = repel::weight_space(posterior.target(), repel::PlainEnsemble{}, repel::Adam{.learning_rate = 0.05});
    auto state = sampler.init(Eigen::MatrixXd{{1.0}, {0.0}});
    CHECK(repel::run(sampler, state, 2000).finished());
    return state.particles(0, 0);
  };
  CHECK(slope(repel::StudentTLikelihood{0.1, 3}) == Approx(2).margin(0.05));
  CHECK(slope(repel::GaussianLikelihood{0.1}) < 0);
}

}  // namespace bnn_likelihood_test
