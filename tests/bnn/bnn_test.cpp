#include "catch.hpp"
#include "support/differences.hpp"
#include "support/tolerance.hpp"

#include <repel/bnn.hpp>
#include <repel/repel.hpp>

#include <cmath>
#include <set>

namespace bnn_bnn_test {

using repel::Index;

namespace {

const Eigen::MatrixXd kX = repel::normal(2, 12, 1);
const Eigen::MatrixXd kY = repel::normal(3, 12, 2);
const Eigen::VectorXi kLabels{{0, 1, 2, 0, 1, 2, 2, 1, 0, 0, 1, 2}};

template <class Likelihood, class Targets, class Prior>
auto make(const Likelihood& likelihood, const Targets& y, const Prior& prior, repel::Minibatch batch = {}) {
  return repel::Bnn(repel::Mlp({2, 6, 3}, repel::Activation::tanh), likelihood, prior, kX, y, batch);
}

template <class Posterior>
Eigen::MatrixXd gradient(const Posterior& posterior, const Eigen::MatrixXd& w, Index step = 0) {
  auto target = posterior.target();
  target.begin_step(step);
  Eigen::MatrixXd g(w.rows(), w.cols());
  target(w, g);
  return g;
}

}  // namespace

TEST_CASE("the weight posterior's gradient is that of its log density", "[bnn]") {
  const auto check = [](const auto& posterior) {
    const Eigen::MatrixXd w = repel::normal(posterior.network().parameters(), 4, 3);
    CHECK(test::relative_error(gradient(posterior, w), test::differences(posterior.target(), w)) < 1e-7);
  };
  check(make(repel::GaussianLikelihood{0.3}, kY, repel::NormalPrior{1.0}));
  check(make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{0.5}));
  check(make(repel::CategoricalLikelihood{}, kLabels, repel::LayerNormalPrior{{0.5, 2.0}}));
  check(make(repel::CategoricalLikelihood{}, kLabels, repel::ParticleNormalPrior{{0.1, 1.0, 10.0}}));
}

TEST_CASE("log densities have all their constants", "[bnn]") {
  const auto posterior = make(repel::GaussianLikelihood{0.3}, kY, repel::LayerNormalPrior{{0.5, 2.0}});
  const Eigen::MatrixXd w = repel::normal(39, 2, 3);
  Eigen::VectorXd values;
  posterior.target().log_density(w, values);
  const auto log_normal = [](double x, double sd) {
    return -0.5 * x * x / (sd * sd) - std::log(sd * std::sqrt(2 * std::numbers::pi));
  };
  const Eigen::MatrixXd f = posterior.outputs(w, kX);
  for (Index j = 0; j < 2; ++j) {
    double expected = 0;
    for (Index i = 0; i < f.rows(); ++i) expected += log_normal(f(i, j) - kY(i), 0.3);
    for (Index k = 0; k < 39; ++k) expected += log_normal(w(k, j), k < 18 ? 0.5 : 2.0);
    CHECK(values(j) == Approx(expected).epsilon(1e-12));
  }
  const auto classifier = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0});
  classifier.target().log_density(w, values);
  const Eigen::MatrixXd logits = classifier.outputs(w, kX);
  double expected = 0;
  for (Index i = 0; i < 12; ++i) {
    const Eigen::Vector3d e = logits.col(0).segment<3>(3 * i).array().exp();
    expected += std::log(e(kLabels(i)) / e.sum());
  }
  for (Index k = 0; k < 39; ++k) expected += log_normal(w(k, 0), 1);
  CHECK(values(0) == Approx(expected).epsilon(1e-12));
}

TEMPLATE_TEST_CASE("the softmax holds for logits of any size", "[bnn]", float, double) {
  const repel::CategoricalLikelihood likelihood;
  repel::Matrix<TestType> f(3, 4);
  f << 1e4, -1e4, 1e4, 0,  //
      -1e4, -1e4, 1e4, 0,  //
      0, -1e4, -1e4, 0;
  const Eigen::RowVectorXi y{{1, 0, 0, 2}};
  CHECK(likelihood.log_density(f, y) == Approx(-2e4 - std::log(3.0) - std::log(2.0) - std::log(3.0)).epsilon(1e-7));
  repel::Matrix<TestType> expected(3, 4);
  const TestType third = TestType(1) / 3, half = TestType(0.5);
  expected << -1, 1 - third, half, -third,  //
      1, -third, -half, -third,             //
      0, -third, 0, 1 - third;
  likelihood.score(f, y);
  CHECK(test::relative_error(f, expected) < test::rounding<TestType>());
}

TEST_CASE("minibatches are reshuffled every epoch, scaled by N/B, and cover the data", "[bnn]") {
  const auto all = make(repel::GaussianLikelihood{0.3}, kY, repel::NormalPrior{1e6});
  const auto batches = make(repel::GaussianLikelihood{0.3}, kY, repel::NormalPrior{1e6}, {.size = 4, .seed = 5});
  const Eigen::MatrixXd w = repel::normal(39, 2, 3);
  // The three batches of an epoch are disjoint and complete: their gradients, each for all the data, average to the
  // whole.
  for (const Index epoch : {0, 1, 7}) {
    Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(39, 2);
    for (Index b = 0; b < 3; ++b) mean += gradient(batches, w, 3 * epoch + b) / 3;
    CHECK(test::relative_error(mean, gradient(all, w)) < 1e-10);
  }
  // The prior is not scaled.
  const auto tight = make(repel::GaussianLikelihood{0.3}, kY, repel::NormalPrior{0.1}, {.size = 4, .seed = 5});
  CHECK(test::relative_error(gradient(tight, w, 2) - gradient(batches, w, 2), -100 * w) < 1e-9);

  repel::BatchIndices schedule({.size = 5, .seed = 5}, 12), again({.size = 5, .seed = 5}, 12);
  std::set<std::vector<Index>> orders;
  std::vector<int> seen(12, 0);
  for (Index step = 0; step < 1200; ++step) {  // 600 epochs of two batches; two points are left out of each
    const auto index = schedule.at(step);
    const std::set<Index> distinct(index.begin(), index.end());
    CHECK(distinct.size() == 5);
    for (const Index i : distinct) ++seen[static_cast<std::size_t>(i)];
    orders.emplace(index.begin(), index.end());
    if (step % 100 == 37) {
      const auto same = again.at(step);
      CHECK(std::vector(index.begin(), index.end()) == std::vector(same.begin(), same.end()));
    }
  }
  CHECK(orders.size() > 1150);
  // Each point is in a batch with probability 5/6 per epoch: 500 ± 9.1 (one standard deviation).
  for (const int count : seen) CHECK(std::abs(count - 500) < 46);
}

namespace {

template <class Model>
void check_functions(Model model, Index n) {
  const Eigen::MatrixXd w = repel::normal(39, n, 3);
  model.begin_step(3);
  Eigen::MatrixXd f, up, down;
  model.predict(w, f);
  REQUIRE(f.rows() == model.output_dim());
  // pullback is the transposed derivative of predict.
  const Eigen::MatrixXd t = repel::normal(39, n, 6), phi = repel::normal(f.rows(), n, 7);
  Eigen::MatrixXd pulled;
  model.pullback(w, phi, pulled);
  model.predict(Eigen::MatrixXd(w + 1e-6 * t), up);
  model.predict(Eigen::MatrixXd(w - 1e-6 * t), down);
  CHECK(t.cwiseProduct(pulled).sum() == Approx(phi.cwiseProduct(up - down).sum() / 2e-6).epsilon(1e-7));
}

}  // namespace

TEST_CASE("steps see points as they were augmented, the same for the same step, in both spaces", "[bnn]") {
  const auto shift = [](std::uint64_t seed, Eigen::Ref<Eigen::VectorXd> point) {
    point.array() += 0.1 * repel::Random(seed).uniform();
  };
  const Eigen::MatrixXd w = repel::normal(39, 5, 3);
  for (const repel::Minibatch batch : {repel::Minibatch{4, 5}, repel::Minibatch{}}) {  // also where a step sees all
    const auto plain = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0}, batch);
    const auto posterior = plain.augmented(shift);
    CHECK(gradient(posterior, w, 7) == gradient(posterior, w, 7));
    CHECK_FALSE(gradient(posterior, w, 7) == gradient(plain, w, 7));
    CHECK_FALSE(gradient(plain, w, 7) == gradient(plain.augmented(shift), w, 8));
    CHECK(gradient(posterior.augmented({}), w, 7) == gradient(plain, w, 7));

    // Every point by a seed of its own, which depends on the step.
    auto functions = posterior.functions(repel::FlatPrior{}), before = plain.functions(repel::FlatPrior{});
    std::set<double> shifts;
    for (const Index step : {7, 8}) {
      functions.begin_step(step);
      before.begin_step(step);
      const Eigen::MatrixXd moved = functions.inputs() - before.inputs();
      for (Index i = 0; i < moved.cols(); ++i) {
        CHECK(moved(0, i) == Approx(moved(1, i)).margin(1e-12));
        CHECK((moved(0, i) > 0 && moved(0, i) < 0.1));
        shifts.insert(std::round(1e9 * moved(0, i)));
      }
    }
    CHECK(static_cast<Index>(shifts.size()) == 2 * functions.inputs().cols());
    CHECK(posterior.inputs() == kX);
    CHECK(posterior.outputs(w, kX) == plain.outputs(w, kX));
  }
  // Both spaces see the same points.
  const auto posterior =
      make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0}, {.size = 4, .seed = 5}).augmented(shift);
  auto functions = posterior.functions(repel::FlatPrior{});
  functions.begin_step(7);
  Eigen::MatrixXd f, s, g;
  functions.predict(w, f);
  functions.score(f, s);
  functions.pullback(w, s, g);
  CHECK(test::relative_error(g - w, gradient(posterior, w, 7)) < 1e-12);

  // A batch for each particle: another one for each, and the same from any step.
  auto own = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0},
                  {.size = 4, .seed = 5, .per_particle = true})
                 .augmented(shift);
  const Eigen::MatrixXd same = w.col(0).replicate(1, 3), each = gradient(own, same, 7);
  CHECK_FALSE(each.col(0) == each.col(1));
  CHECK(each == gradient(own, same, 7));

  // No log density of a posterior that changes from step to step.
  Eigen::VectorXd values;
  auto whole = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0}).augmented(shift).target();
  CHECK_THROWS_WITH(whole.log_density(w, values), contains("augmented"));
}

TEST_CASE("functions are seen at the batch and at further points, as outputs or probabilities",
          "[bnn][function_space]") {
  const auto posterior = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0}, {.size = 4, .seed = 5});
  check_functions(posterior.functions(), 5);
  check_functions(posterior.probability_functions(), 5);
  const repel::UniformPoints box{{-1, 2}, {1, 3}, 7};
  check_functions(posterior.functions(repel::FlatPrior{}, box), 5);
  check_functions(posterior.probability_functions(repel::FlatPrior{}, box), 5);
  check_functions(posterior.functions(repel::FlatPrior{}, repel::GivenPoints{kX.leftCols(3).cast<float>()}), 5);

  auto model = posterior.functions(repel::FlatPrior{}, box);
  CHECK(model.output_dim() == 3 * 11);
  CHECK(model.layout().outputs == 3);
  CHECK(model.layout().points == 11);
  CHECK(model.layout().batch == 4);
  model.begin_step(1);
  const Eigen::MatrixXd first = model.inputs();
  CHECK(first.rightCols(7).row(0).cwiseAbs().maxCoeff() <= 1);
  CHECK(first.rightCols(7).row(1).minCoeff() >= 2);
  CHECK(first.rightCols(7).row(1).maxCoeff() <= 3);
  model.begin_step(2);
  CHECK(model.inputs().rightCols(7) != first.rightCols(7));
  model.begin_step(1);
  CHECK(model.inputs() == first);

  // The likelihood acts at the batch, scaled by N/B, and nowhere else: pulled back it is the weight-space gradient.
  const Eigen::MatrixXd w = repel::normal(39, 5, 3);
  Eigen::MatrixXd f, g, pulled;
  model.predict(w, f);
  model.score(f, g);
  CHECK(g.bottomRows(21).isZero(0));
  model.pullback(w, g, pulled);
  CHECK(test::relative_error(pulled, gradient(posterior, w, 1) + w) < 1e-12);

  auto noisy = posterior.functions(repel::FlatPrior{}, repel::NoisyPoints{0.1});
  CHECK(noisy.output_dim() == 3 * 8);
  CHECK(repel::view::AddedPoints{}.seen(noisy.layout()).rows() == 3 * 4);
  const Eigen::MatrixXd moved = noisy.inputs().rightCols(4) - noisy.inputs().leftCols(4);
  CHECK(moved.norm() > 0.05);
  CHECK(moved.norm() < 1);
}

TEST_CASE("the kernel may see the features of a hidden layer", "[bnn][function_space]") {
  // kde-fWGD on features: Φ = S at the outputs, −∇ log ρ at the features, both pulled back through the network.
  const repel::Mlp network = repel::Mlp({2, 6, 3}, repel::Activation::tanh).with_features(0);
  const repel::Bnn posterior(network, repel::CategoricalLikelihood{}, repel::NormalPrior{1.0}, kX, kLabels,
                             repel::Minibatch{4, 5});
  const auto plain = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0}, {.size = 4, .seed = 5});
  const auto kernel = repel::Rbf{repel::FixedBandwidth{5.0}};
  const Eigen::MatrixXd w = repel::normal(39, 5, 3);
  auto model = posterior.functions(), without = plain.functions();
  CHECK(model.layout().features == 6);
  Eigen::MatrixXd f, s, expected, outputs, score;
  model.predict(w, f);
  model.score(f, s);
  without.predict(w, outputs);
  without.score(outputs, score);
  CHECK(f.topRows(12) == outputs);
  CHECK(test::relative_error(s.topRows(12), score) < 1e-12);  // the implicit prior is one over the outputs
  CHECK(s.bottomRows(24).isZero(0));
  Eigen::MatrixXd phi = s;
  phi.bottomRows(24) -= repel::estimate_score(repel::Kde{kernel}, f.bottomRows(24).eval());
  model.pullback(w, phi, expected);
  auto sampler = repel::function_space(posterior.functions(), repel::Wgd{repel::Kde{kernel}},
                                       repel::Sgd{.learning_rate = 1}, repel::view::Features{});
  auto state = sampler.init(w);
  sampler.step(state);
  CHECK(test::relative_error(state.particles - w, expected) < 1e-12);
  // The default view sees the outputs alone, as if there were no features; so do predictions and weight space.
  const auto step = [&](auto functions) {
    auto by_outputs = repel::function_space(functions, repel::Svgd{kernel}, repel::Sgd{.learning_rate = 1});
    auto at = by_outputs.init(w);
    by_outputs.step(at);
    return at.particles;
  };
  CHECK(test::relative_error(step(posterior.functions()), step(plain.functions())) < 1e-12);
  CHECK(posterior.outputs(w, kX) == plain.outputs(w, kX));
  CHECK(gradient(posterior, w) == gradient(plain, w));
}

TEST_CASE("the kernel on probabilities repels in probability, and the likelihood stays as it is",
          "[bnn][function_space]") {
  // kde-fWGD with the kernel on probabilities: Φ_i = S_i − ∇_{f_i} log Σ_j k(p(f_i), p(f_j)), by differences.
  const auto posterior = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0});
  const auto kernel = repel::Rbf{repel::FixedBandwidth{0.8}};
  auto model = posterior.functions(repel::FlatPrior{});
  const Eigen::MatrixXd w = repel::normal(39, 5, 3);
  auto sampler = repel::function_space(model, repel::Wgd{repel::Kde{kernel}}, repel::Sgd{.learning_rate = 1},
                                       repel::view::Probabilities{});
  const auto probabilities = [](const Eigen::MatrixXd& logits) {
    Eigen::MatrixXd p = logits.array().exp();
    for (Index j = 0; j < p.cols(); ++j)
      for (Index i = 0; i < p.rows(); i += 3) p.col(j).segment(i, 3) /= p.col(j).segment(i, 3).sum();
    return p;
  };
  auto state = sampler.init(w);
  sampler.step(state);

  Eigen::MatrixXd f, s, expected;
  model.predict(w, f);
  model.score(f, s);
  const Eigen::MatrixXd z = probabilities(f);
  Eigen::MatrixXd phi = s;
  for (Index i = 0; i < 5; ++i)
    for (Index k = 0; k < f.rows(); ++k) {
      const auto log_density = [&](double step) {
        Eigen::MatrixXd moved = f;
        moved(k, i) += step;
        const Eigen::MatrixXd seen = probabilities(moved);
        double sum = 0;
        for (Index j = 0; j < 5; ++j) sum += std::exp(-(seen.col(i) - z.col(j)).squaredNorm() / 0.8);
        return std::log(sum);
      };
      phi(k, i) -= (log_density(1e-6) - log_density(-1e-6)) / 2e-6;
    }
  model.predict(w, f);
  model.pullback(w, phi, expected);
  CHECK(test::relative_error(state.particles - w, expected) < 1e-7);
}

TEST_CASE("in probability space likelihood, prior and kernel are of the probabilities", "[bnn][function_space]") {
  const auto posterior = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0}, {.size = 4, .seed = 5});
  const auto kernel = repel::Rbf{repel::FixedBandwidth{0.8}};
  const Eigen::MatrixXd w = repel::normal(39, 5, 3);
  const auto moved_by = [&](const auto& functions, const auto& rule, const auto& view) {
    auto sampler = repel::function_space(functions, rule, repel::Sgd{.learning_rate = 1}, view);
    auto state = sampler.init(w);
    sampler.step(state);
    return Eigen::MatrixXd(state.particles - w);
  };
  const auto in_probability_space = [&](const auto& rule) {
    return moved_by(posterior.probability_functions(repel::FlatPrior{}), rule, repel::view::Outputs{});
  };
  const auto seeing_probabilities = [&](const auto& rule) {
    return moved_by(posterior.functions(repel::FlatPrior{}), rule, repel::view::Probabilities{});
  };
  auto model = posterior.probability_functions(repel::FlatPrior{});
  model.begin_step(0);
  Eigen::MatrixXd p, s, pulled;
  model.predict(w, p);
  for (Index i = 0; i < 4; ++i) CHECK(p.middleRows(3 * i, 3).colwise().sum().isOnes(1e-14));
  Eigen::MatrixXd draws(p.rows(), 6);
  model.draw(6, draws);
  for (Index i = 0; i < 4; ++i) CHECK(draws.middleRows(3 * i, 3).colwise().sum().isOnes(1e-14));

  // The likelihood, pulled back, is the weight-space gradient, up to the 1e-12 beside the probability.
  model.score(p, s);
  CHECK((s.array() != 0).count() == 4 * 5);
  model.pullback(w, s, pulled);
  CHECK(test::relative_error(pulled, gradient(posterior, w, 0) + w) < 1e-9);

  // WGD mixes no particles in its driving force, so that it does the same as with the kernel alone on probabilities.
  const repel::Wgd wgd{repel::Kde{kernel}};
  CHECK(test::relative_error(in_probability_space(wgd), seeing_probabilities(wgd)) < 1e-9);

  // SVGD does, and mixes ∇_p log p(y): Φ_i = 1/n Σ_j k_ij s_j + 2/h k_ij (p_i − p_j), by loops.
  Eigen::MatrixXd phi = Eigen::MatrixXd::Zero(p.rows(), 5), expected;
  for (Index i = 0; i < 5; ++i)
    for (Index j = 0; j < 5; ++j) {
      const double k = std::exp(-(p.col(i) - p.col(j)).squaredNorm() / 0.8);
      phi.col(i) += k * (s.col(j) + 2 / 0.8 * (p.col(i) - p.col(j))) / 5;
    }
  model.pullback(w, phi, expected);
  const repel::Svgd svgd{kernel};
  CHECK(test::relative_error(in_probability_space(svgd), expected) < 1e-12);
  CHECK(test::relative_error(seeing_probabilities(svgd), expected) > 1e-3);

  // A probability of 0 has a finite gradient, in float, too.
  Eigen::MatrixXf certain = Eigen::MatrixXf::Zero(3, 1);
  certain(1) = 1;
  repel::CategoricalLikelihood{}.score_of_probabilities(certain, Eigen::RowVectorXi::Zero(1));
  CHECK(certain(0) == Approx(1e12));
  CHECK(certain.bottomRows(2).isZero(0));
  certain << 0, 1, 0;
  repel::CategoricalLikelihood{.log_floor = 1e-15}.score_of_probabilities(certain, Eigen::RowVectorXi::Zero(1));
  CHECK(certain(0) == Approx(1e15));
  CHECK_THROWS_WITH(make(repel::CategoricalLikelihood{.log_floor = -1}, kLabels, repel::NormalPrior{1.0}),
                    contains("log_floor is -1"));

  // Nor does it leave the range of float where a batch speaks for many points.
  const repel::Bnn many(repel::Mlp({1, 3}), repel::CategoricalLikelihood{}, repel::NormalPrior{1e4},
                        repel::normal<float>(1, 20000, 1), Eigen::RowVectorXi::Zero(20000), repel::Minibatch{2, 5});
  auto sampler = repel::function_space(many.probability_functions(repel::FlatPrior{}), wgd, repel::Adam{});
  auto state = sampler.init(many.prior_draws(6, 1));
  for (int k = 0; k < 5; ++k) CHECK(sampler.step(state).finite);
}

TEST_CASE("the implicit prior draws afresh at every step, and the same for the same step", "[bnn][function_space]") {
  const auto posterior = make(repel::GaussianLikelihood{1.0}, kY, repel::NormalPrior{0.5}, {.size = 4, .seed = 5});
  auto model = posterior.functions(repel::ImplicitPrior{repel::Ssge{}, 200});
  Eigen::MatrixXd first, second, third;
  model.begin_step(6);
  model.draw(200, first);
  model.begin_step(7);
  model.draw(200, second);
  model.begin_step(6);
  model.draw(200, third);
  CHECK(first != second);
  CHECK(first == third);
  CHECK(first.col(0) != first.col(1));
  // Far from the draws' mean the score points back to it.
  const Eigen::MatrixXd far = first.rowwise().mean() + 2 * first.col(0);
  Eigen::MatrixXd with, without;
  model.score(far, with);
  posterior.functions(repel::FlatPrior{}).score(far, without);
  auto flat = posterior.functions(repel::FlatPrior{});
  flat.begin_step(6);
  flat.score(far, without);
  CHECK((with - without).col(0).dot(first.col(0)) < 0);
  CHECK_THROWS_WITH(posterior.functions(repel::ImplicitPrior{repel::Ssge{}, 1}), contains("draws is 1"));
}

TEST_CASE("initial weights have the distribution they are said to have", "[bnn]") {
  const repel::Mlp network({30, 40, 10});
  const Eigen::MatrixXd w = repel::prior_draws(network, repel::LayerNormalPrior{{0.5, 2.0}}, 50, 1);
  const Index first = 31 * 40;
  // 62 000 and 20 500 draws: the variance is known to 1.7 % and 3 % (three standard deviations).
  CHECK(w.topRows(first).squaredNorm() / static_cast<double>(first * 50) == Approx(0.25).epsilon(0.02));
  CHECK(w.bottomRows(410).squaredNorm() / (410.0 * 50) == Approx(4).epsilon(0.03));
  CHECK(std::abs(w.mean()) < 0.02);
  // Fourth moment and tails of a normal.
  const Eigen::ArrayXd z = w.topRows(first).reshaped().array() / 0.5;
  CHECK(z.pow(4).mean() == Approx(3).epsilon(0.05));
  CHECK((z.abs() > 3).cast<double>().mean() == Approx(0.0027).epsilon(0.3));
  CHECK((w.col(0).head(99) - w.col(1).head(99)).norm() > 1);
  CHECK(repel::prior_draws(network, repel::LayerNormalPrior{{0.5, 2.0}}, 50, 1) == w);
  CHECK(repel::prior_draws(network, repel::LayerNormalPrior{{0.5, 2.0}}, 50, 2) != w);
  const Eigen::MatrixXd particle = repel::prior_draws(network, repel::ParticleNormalPrior{{0.1, 3.0}}, 3, 1);
  CHECK(particle.col(0).norm() / particle.col(1).norm() == Approx(1 / 30.0).epsilon(0.1));
  CHECK(particle.col(0).norm() / particle.col(2).norm() == Approx(1).epsilon(0.1));

  const Eigen::MatrixXd u = repel::pytorch_draws(network, 50, 1);
  CHECK(u.topRows(first).cwiseAbs().maxCoeff() == Approx(1 / std::sqrt(30.0)).epsilon(1e-3));
  CHECK(u.bottomRows(410).cwiseAbs().maxCoeff() == Approx(1 / std::sqrt(40.0)).epsilon(1e-3));
  CHECK(u.topRows(first).squaredNorm() / static_cast<double>(first * 50) == Approx(1 / 90.0).epsilon(0.02));

  const Eigen::MatrixXd he = repel::he_draws(network, 50, 1);
  CHECK(he.topRows(30 * 40).squaredNorm() / (30.0 * 40 * 50) == Approx(2 / 30.0).epsilon(0.02));
  CHECK(he.middleRows(first, 400).squaredNorm() / (400.0 * 50) == Approx(2 / 40.0).epsilon(0.03));
  CHECK(he.middleRows(30 * 40, 40).isZero(0));
  CHECK(he.bottomRows(10).isZero(0));
  CHECK(std::abs(he.mean()) < 0.002);
  CHECK((he.col(0).head(99) - he.col(1).head(99)).norm() > 0.1);
  CHECK(repel::he_draws(network, 50, 2) != he);
  repel::set_threads(3);
  CHECK(repel::he_draws(network, 50, 1) == he);
  repel::set_threads(1);
  CHECK_THROWS_WITH(repel::he_draws(network, 0, 1), contains("he_draws: count is 0, but must be at least 1"));
}

namespace {

/// Says how its outputs were computed.
struct Line {
  template <class Scalar>
  struct Tape {};
  Index inputs() const { return 1; }
  Index outputs() const { return 1; }
  Index parameters() const { return 1; }
  std::vector<repel::ParameterBlock> blocks() const { return {{0, 1, 1, 0, false}}; }
  void forward(const auto& w, const auto& x, auto&, auto& f) const { f = w(0) * x; }
  void evaluate(const auto& w, const auto& x, auto&, auto& f) const { f = w(0) * x.array() + 100; }
  void backward(const auto&, const auto& x, const auto&, const auto& v, auto& g) const {
    g(0) = v.cwiseProduct(x).sum();
  }
};

}  // namespace

TEST_CASE("a network's evaluate() is used where nothing is kept for a backward pass", "[bnn]") {
  repel::Ensemble<Line, double> ensemble(Line{});
  const Eigen::MatrixXd w{{2.0, 3.0}}, x{{1.0}};
  Eigen::MatrixXd f, g;
  ensemble.evaluate(w, x, f);
  CHECK(f == Eigen::MatrixXd{{102.0, 103.0}});
  ensemble.forward(w, x, f);
  CHECK(f == Eigen::MatrixXd{{2.0, 3.0}});
  ensemble.gradient(
      w, x, [](Index, auto&) {}, [](Index) {}, g);
  CHECK(g == Eigen::MatrixXd{{2.0, 3.0}});
}

TEST_CASE("predictions average over the members", "[bnn]") {
  const Eigen::MatrixXd w = repel::normal(39, 4, 3), at = repel::normal(2, 3, 9);
  const auto regression = make(repel::GaussianLikelihood{0.5}, kY, repel::NormalPrior{1.0});
  const auto p = regression.predict(w, at);
  const Eigen::MatrixXd f = regression.outputs(w, at);
  REQUIRE(f.rows() == 9);
  for (Index i = 0; i < 9; ++i) {
    const double mean = f.row(i).mean(), variance = (f.row(i).array() - mean).square().sum() / 3;
    CHECK(p.mean(i) == Approx(mean));
    CHECK(p.sd(i) == Approx(std::sqrt(variance)));
    CHECK(p.sd_with_noise(i) == Approx(std::sqrt(variance + 0.25)));
  }
  const auto one = regression.predict(w.leftCols(1), at);
  CHECK(one.sd.isZero());

  const auto classifier = make(repel::CategoricalLikelihood{}, kLabels, repel::NormalPrior{1.0});
  const auto c = classifier.predict(w, at);
  REQUIRE(c.probabilities.rows() == 3);
  REQUIRE(c.members.rows() == 9);
  for (Index i = 0; i < 3; ++i) {
    Eigen::Vector3d mean = Eigen::Vector3d::Zero();
    for (Index j = 0; j < 4; ++j) {
      const Eigen::Vector3d e = f.col(j).segment<3>(3 * i).array().exp(), q = e / e.sum();
      CHECK((c.members.col(j).segment<3>(3 * i) - q).norm() < 1e-14);
      mean += q / 4;
    }
    CHECK((c.probabilities.col(i) - mean).norm() < 1e-14);
  }
}

TEST_CASE("a network that does not fit its data is refused with the reason", "[bnn]") {
  using namespace repel;
  const Mlp network({2, 6, 3});
  const GaussianLikelihood gaussian{1.0};
  const NormalPrior prior{1.0};
  CHECK_THROWS_WITH(Bnn(network, gaussian, prior, kX, kY, Minibatch{13}),
                    contains("Minibatch: size is 13, but must be at most the number of points, 12"));
  CHECK_THROWS_WITH(Bnn(network, gaussian, prior, kX, kY, Minibatch{-1}), contains("size is -1"));
  CHECK_THROWS_WITH(Bnn(Mlp({3, 3}), gaussian, prior, kX, kY), contains("inputs has 2 rows, but must have 3"));
  CHECK_THROWS_WITH(Bnn(Mlp({2, 2}), gaussian, prior, kX, kY), contains("targets has 3 rows, but must have 2"));
  CHECK_THROWS_WITH(Bnn(network, gaussian, prior, kX, kY.leftCols(5).eval()),
                    contains("targets has 5 columns, but must have 12"));
  CHECK_THROWS_WITH(Bnn(network, GaussianLikelihood{0.0}, prior, kX, kY), contains("noise is 0, but must be"));
  CHECK_THROWS_WITH(Bnn(network, gaussian, NormalPrior{0.0}, kX, kY), contains("standard_deviation is 0"));
  CHECK_THROWS_WITH(Bnn(network, gaussian, LayerNormalPrior{{1.0}}, kX, kY), contains("must have one per layer: 2"));
  CHECK_THROWS_WITH(Bnn(network, gaussian, ParticleNormalPrior{{}}, kX, kY), contains("standard_deviations is empty"));
  Eigen::VectorXi labels = kLabels;
  labels(4) = 3;
  CHECK_THROWS_WITH(Bnn(network, CategoricalLikelihood{}, prior, kX, labels),
                    contains("targets(4) is 3, but a label must be 0 to 2"));
  labels(4) = -1;
  CHECK_THROWS_WITH(Bnn(network, CategoricalLikelihood{}, prior, kX, labels), contains("targets(4) is -1"));
  CHECK_THROWS_WITH(Bnn(Mlp({2, 1}), CategoricalLikelihood{}, prior, kX, kLabels), contains("one per class"));
  Eigen::MatrixXd bad = kX;
  bad(1, 7) = std::nan("");
  CHECK_THROWS_WITH(Bnn(network, gaussian, prior, bad, kY), contains("inputs(1, 7) is nan"));
  CHECK_THROWS_WITH(Bnn(network, gaussian, prior, Eigen::MatrixXd(2, 0), Eigen::MatrixXd(3, 0)), contains("0 columns"));

  const Bnn posterior(network, gaussian, prior, kX, kY, Minibatch{4});
  Eigen::VectorXd values;
  CHECK_THROWS_WITH(posterior.target().log_density(repel::normal(39, 1, 1), values), contains("needs all of them"));
  CHECK_THROWS_WITH(posterior.functions(FlatPrior{}, UniformPoints{{0}, {1}}), contains("must have one per input: 2"));
  CHECK_THROWS_WITH(posterior.functions(FlatPrior{}, UniformPoints{{0, 1}, {1, 0}}), contains("in this order"));
  CHECK_THROWS_WITH(posterior.functions(FlatPrior{}, GivenPoints{kY}), contains("points has 3 rows"));
  auto seen = repel::function_space(Bnn(Mlp({2, 1}), gaussian, prior, kX, kY.topRows(1).eval()).functions(FlatPrior{}),
                                    Svgd{}, Adam{}, view::Probabilities{});
  auto state = seen.init(repel::normal(3, 2, 1));
  CHECK_THROWS_WITH(seen.step(state), contains("needs one per class, at least 2"));
  const Eigen::MatrixXi one_hot = Eigen::MatrixXi::Zero(3, 12);
  CHECK_THROWS_WITH(Bnn(network, CategoricalLikelihood{}, prior, kX, one_hot), contains("a label per point"));
  CHECK_THROWS_WITH(posterior.predict(Eigen::MatrixXd(39, 0), kX), contains("particles has 0 columns"));
  CHECK_THROWS_WITH(posterior.predict(repel::normal(39, 2, 1), bad), contains("points(1, 7) is nan"));
  CHECK_THROWS_WITH(posterior.predict(repel::normal(5, 1, 1), kX), contains("W has 5 rows, but must have 39"));
}

}  // namespace bnn_bnn_test
