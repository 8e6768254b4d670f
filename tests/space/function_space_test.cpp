#include "catch.hpp"
#include "support/golden.hpp"
#include "support/tolerance.hpp"

#include <repel/bnn.hpp>
#include <repel/repel.hpp>

#include <functional>
#include <string>
#include <utility>

namespace space_function_space_test {

using repel::Index;

namespace {

/// A model after the contract: f = Xᵀ w at m points, with a Gaussian posterior over f given by its precision and mean.
struct Linear {
  Eigen::MatrixXd x;          // d×m
  Eigen::MatrixXd precision;  // m×m
  Eigen::VectorXd mean;

  Index output_dim() const { return x.cols(); }
  void predict(const auto& w, auto& f) const { f.noalias() = x.transpose() * w; }
  void score(const auto& f, auto& g) const { g = -precision * (f.colwise() - mean); }
  void pullback(const auto&, const auto& v, auto& out) const { out.noalias() = x * v; }
};

struct Moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

Moments moments(const Eigen::MatrixXd& columns) {
  const Eigen::VectorXd mean = columns.rowwise().mean();
  const Eigen::MatrixXd centred = columns.colwise() - mean;
  return {mean, centred * centred.transpose() / static_cast<double>(columns.cols() - 1)};
}

double largest_difference(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) { return (a - b).cwiseAbs().maxCoeff(); }

}  // namespace

TEST_CASE("function space gives the golden numbers", "[golden][function_space]") {
  // Recorded from the authors' code for an MLP 1-5-1 with 6 particles and a batch of 8 out of 90 points.
  const std::string dir = "fspace_regression/";
  const Eigen::MatrixXd w = test::golden(dir + "W.csv"), w_prior = test::golden(dir + "w_prior.csv");
  const Eigen::MatrixXd x = test::golden(dir + "X.csv"), y = test::golden(dir + "T.csv"),
                        f = test::golden(dir + "f.csv");
  const repel::Bnn posterior(repel::Mlp({1, 5, 1}), repel::GaussianLikelihood{1.0}, repel::NormalPrior{1.0}, x, y);

  auto model = posterior.functions(repel::FlatPrior{});
  Eigen::MatrixXd outputs, score, pulled;
  model.predict(w, outputs);
  CHECK(test::relative_error(outputs, f) < 1e-12);
  model.score(f, score);
  model.pullback(w, score, pulled);
  CHECK(test::relative_error(pulled * 90 / 8, test::golden(dir + "likelihood_weight_score.csv")) < 1e-12);

  using namespace repel;
  CHECK(test::relative_error(-estimate_score(Kde{}, f), test::golden(dir + "on_f/kde_fWGD/minus_score_q_f.csv")) <
        1e-12);
  CHECK(test::relative_error(-estimate_score(Sge{}, f), test::golden(dir + "on_f/sge_fWGD/minus_score_q_f.csv")) <
        1e-12);
  CHECK(test::relative_error(-estimate_score(Ssge{}, f), test::golden(dir + "on_f/ssge_fWGD/minus_score_q_f.csv")) <
        1e-9);
  const Eigen::MatrixXd nothing = Eigen::MatrixXd::Zero(f.rows(), f.cols());
  CHECK(test::relative_error(direction(Svgd{}, f, nothing) * 6, test::golden(dir + "on_f/f_SVGD/repulsion_f.csv")) <
        1e-12);

  // The implicit prior, with the recorded draws in place of fresh ones.
  struct Recorded {
    Eigen::MatrixXd functions;
    Index asked = 0;
    void draw(Index count, Eigen::MatrixXd& out) {
      asked = count;
      out = functions;
    }
  } at{posterior.outputs(w_prior, x)};
  CHECK(test::relative_error(at.functions, test::golden(dir + "on_f/prior_f.csv")) < 1e-12);
  Eigen::MatrixXd g = Eigen::MatrixXd::Ones(f.rows(), f.cols());
  ImplicitPrior<>::Workspace<double> workspace;
  ImplicitPrior{Ssge{}, at.functions.cols()}.add_score(at, f, g, workspace);
  CHECK(at.asked == at.functions.cols());
  CHECK(workspace.pairs.bandwidth() ==
        Approx(test::golden_scalars(dir + "on_f/scalars.csv").at("prior_h")).epsilon(1e-12));
  CHECK(test::relative_error(g - Eigen::MatrixXd::Ones(f.rows(), f.cols()),
                             test::golden(dir + "on_f/prior_score.csv")) < 1e-9);
}

TEST_CASE("a step in function space is the rule at the outputs, pulled back", "[function_space]") {
  const Linear model{repel::normal(5, 3, 1), Eigen::MatrixXd::Identity(3, 3) * 2, Eigen::Vector3d(1, 2, 3)};
  const Eigen::MatrixXd w = repel::normal(5, 8, 2);
  const Eigen::MatrixXd f = model.x.transpose() * w, s = -2 * (f.colwise() - model.mean);
  const auto check = [&](const auto& rule) {
    auto sampler = repel::function_space(model, rule, repel::Sgd{.learning_rate = 0.5});
    auto state = sampler.init(w);
    const repel::StepInfo info = sampler.step(state);
    CHECK(info.finite);
    CHECK(info.driving == Approx(s.colwise().norm().mean()).epsilon(1e-12));
    const Eigen::MatrixXd expected = w + 0.5 * model.x * repel::direction(rule, f, s);
    CHECK(test::relative_error(state.particles, expected) < 1e-12);
  };
  check(repel::PlainEnsemble{});
  check(repel::Svgd{});
  check(repel::Wgd{repel::Kde{}});
  check(repel::Wgd{repel::Sge{}});
  check(repel::Wgd{repel::Ssge{}});
}

TEST_CASE("a linear model in function space reaches its exact posterior", "[recovery][function_space]") {
  // Bayesian linear regression with prior w ~ N(0, I) and noise sd 0.7, seen at the 3 training points: f = Xᵀ w has the
  // prior N(0, XᵀX), so the posterior precision is (XᵀX)⁻¹ + I/σ².
  const Eigen::MatrixXd x = repel::normal(4, 3, 7);
  const Eigen::Vector3d y(1.0, -0.5, 0.8);
  const Eigen::MatrixXd prior = x.transpose() * x;
  const Eigen::MatrixXd precision = prior.inverse() + Eigen::MatrixXd::Identity(3, 3) / 0.49;
  const Eigen::MatrixXd covariance = precision.inverse();
  const Eigen::VectorXd mean = covariance * y / 0.49;
  const Linear model{x, precision, mean};

  const auto sample = [&](const auto& rule) {
    auto sampler = repel::function_space(model, rule, repel::Adam{.learning_rate = 0.05});
    auto state = sampler.init(repel::normal(4, 200, 42));
    REQUIRE(repel::run(sampler, state, 300).finished());
    auto fine = repel::function_space(model, rule, repel::Adam{.learning_rate = 0.005});
    const repel::Report last = repel::run(fine, state, 150);
    REQUIRE(last.finished());
    return std::pair{moments(x.transpose() * state.particles), last.last.bandwidth};
  };
  const auto check = [&](const char* name, const Moments& m, const Eigen::MatrixXd& expected, double tolerance) {
    CAPTURE(name, m.covariance, expected);
    CHECK(largest_difference(m.mean, mean) < 0.02);
    CHECK(largest_difference(m.covariance, expected) < tolerance);
  };
  // The estimators' own bias, as in weight space: 200 particles in 3-D miss the tails, which costs SVGD, SGE and SSGE
  // about a tenth of the variance here (largest entry 0.38); KDE settles a further h/2 below on every axis.
  check("Svgd", sample(repel::Svgd{}).first, covariance, 0.06);
  check("Sge", sample(repel::Wgd{repel::Sge{}}).first, covariance, 0.06);
  check("Ssge", sample(repel::Wgd{repel::Ssge{}}).first, covariance, 0.06);
  const auto [kde, h] = sample(repel::Wgd{repel::Kde{}});
  check("Kde", kde, covariance - h / 2 * Eigen::MatrixXd::Identity(3, 3), 0.06);
  check("Map", sample(repel::PlainEnsemble{}).first, Eigen::MatrixXd::Zero(3, 3), 1e-3);
}

namespace {

/// Functions that are free at every point, with nothing but a prior: the parameters are the outputs.
template <class Prior>
struct PriorOnly {
  Prior prior;
  Eigen::MatrixXd points;
  Index per_point = 1;
  repel::WorkspaceOf<Prior, double> workspace{};

  const Eigen::MatrixXd& inputs() const { return points; }
  Index outputs() const { return per_point; }
  Index output_dim() const { return per_point * points.cols(); }
  void predict(const auto& w, auto& f) const { f = w; }
  void score(const auto& f, auto& g) {
    g.setZero();
    prior.add_score(*this, f, g, workspace);
  }
  void pullback(const auto&, const auto& v, auto& out) const { out = v; }
};

}  // namespace

TEST_CASE("a Gaussian process prior without data gives back the process", "[recovery][function_space]") {
  const Eigen::MatrixXd points{{0.0, 0.6, 1.7}};
  const auto check = [&](const auto& kernel) {
    const repel::GpPrior prior{kernel, 2.0, 0.01, 0.5};
    Eigen::MatrixXd expected = 2.0 * repel::gram(kernel, points);
    expected.diagonal().array() += 0.02;
    // The score itself, to rounding.
    PriorOnly<std::remove_cvref_t<decltype(prior)>> model{prior, points};
    const Eigen::MatrixXd f = repel::normal(3, 4, 1);
    Eigen::MatrixXd g(3, 4);
    model.score(f, g);
    CHECK(test::relative_error(g, -expected.inverse() * (f.array() - 0.5).matrix()) < 1e-10);
    // And what a sampler makes of it. 200 particles miss about 7 % of the variance here, as in weight space.
    auto sampler = repel::function_space(model, repel::Wgd{repel::Sge{}}, repel::Adam{.learning_rate = 0.05});
    auto state = sampler.init(repel::normal(3, 200, 42));
    REQUIRE(repel::run(sampler, state, 500).finished());
    auto fine = repel::function_space(model, repel::Wgd{repel::Sge{}}, repel::Adam{.learning_rate = 0.005});
    REQUIRE(repel::run(fine, state, 200).finished());
    const Moments m = moments(state.particles);
    CAPTURE(m.mean, m.covariance, expected);
    CHECK(largest_difference(m.mean, Eigen::VectorXd::Constant(3, 0.5)) < 0.05);
    CHECK(largest_difference(m.covariance, expected) < 0.1 * expected.maxCoeff());
  };
  check(repel::Rbf{repel::FixedBandwidth{1.5}});
  check(repel::Matern52{repel::FixedBandwidth{1.0}});
}

TEST_CASE("a Gaussian process prior holds in float", "[function_space]") {
  // Points as close as those of a batch, at the default jitter: (K + 1e-4 I)⁻¹ amplifies the rounding of f by up to
  // 1e4.
  const Eigen::MatrixXd points = 7 * (repel::normal(1, 40, 3).array() * 0.3).tanh();
  const repel::GpPrior prior{repel::Rbf{repel::FixedBandwidth{2.0}}, 4.0};
  const Eigen::MatrixXd f = 2 * repel::normal(40, 3, 1);
  struct At {
    Eigen::MatrixXf points;
    const Eigen::MatrixXf& inputs() const { return points; }
    Index outputs() const { return 1; }
  } at{points.cast<float>()};
  repel::GpPrior<repel::Rbf<repel::FixedBandwidth>>::Workspace<float> workspace;
  Eigen::MatrixXf g = Eigen::MatrixXf::Zero(40, 3);
  prior.add_score(at, f.cast<float>().eval(), g, workspace);
  Eigen::MatrixXd k = repel::gram(prior.kernel, points);
  k.diagonal().array() += 1e-4;
  CHECK(test::relative_error(g, -k.inverse() * f / 4) < 0.02);
}

TEST_CASE("a Gaussian process prior treats the outputs of a point as independent", "[function_space]") {
  const Eigen::MatrixXd points = repel::normal(2, 5, 3);
  const repel::GpPrior prior{repel::Rbf{repel::FixedBandwidth{2.0}}, 1.3, 1e-3};
  PriorOnly<std::remove_cvref_t<decltype(prior)>> two{prior, points, 2}, one{prior, points, 1};
  const Eigen::MatrixXd f = repel::normal(10, 3, 4);
  Eigen::MatrixXd g(10, 3), single(5, 3);
  two.score(f, g);
  for (Index o = 0; o < 2; ++o) {
    const auto rows = Eigen::seqN(o, 5, 2);
    one.score(Eigen::MatrixXd(f(rows, Eigen::seqN(0, f.cols()))), single);
    CHECK(test::relative_error(g(rows, Eigen::seqN(0, g.cols())).eval(), single) < 1e-10);
  }
  CHECK_THROWS_WITH((repel::GpPrior{repel::Rbf{repel::FixedBandwidth{2.0}}, 0.0}.validate()),
                    contains("variance is 0, but must be finite and larger than 0"));
  Eigen::MatrixXd twice(2, 2);
  twice << 1, 1, 1, 1;
  PriorOnly<repel::GpPrior<repel::Rbf<repel::FixedBandwidth>>> singular{{repel::Rbf{repel::FixedBandwidth{1.0}}, 1, 0},
                                                                        twice};
  Eigen::MatrixXd at(2, 2);
  CHECK_THROWS_WITH(singular.score(Eigen::MatrixXd(twice), at), contains("jitter is 0, but must be larger"));
}

namespace {

/// A model that does one thing wrong.
struct Wrong {
  std::string how;
  Index output_dim() const { return how == "no outputs" ? 0 : 2; }
  void predict(const auto& w, auto& f) const {
    if (how == "forgets") return;
    f = w.topRows(2);
    if (how == "resizes") f.setZero(3, w.cols());
    if (how == "nan") f(1, 2) = std::nan("");
  }
  void score(const auto& f, auto& g) const { g = -f; }
  void pullback(const auto& w, const auto& v, auto& out) const {
    out.setZero();
    out.topRows(2) = v;
    if (how == "pullback") out.setZero(1, w.cols());
  }
};

}  // namespace

TEST_CASE("a model that breaks the contract is told so, and nothing moves", "[function_space]") {
  const Eigen::MatrixXd w = repel::normal(3, 4, 1);
  const auto step = [&](const std::string& how) {
    auto sampler = repel::function_space(Wrong{how}, repel::Svgd{}, repel::Sgd{});
    auto state = sampler.init(w);
    try {
      const repel::StepInfo info = sampler.step(state);
      CHECK(info.finite == (state.particles != w));
      return std::pair{std::string(), info};
    } catch (const std::invalid_argument& error) {
      CHECK(state.particles == w);
      return std::pair{std::string(error.what()), repel::StepInfo{}};
    }
  };
  CHECK(step("right").second.finite);
  CHECK_FALSE(step("forgets").second.finite);
  CHECK_FALSE(step("nan").second.finite);
  CHECK(step("nan").second.particle == 2);
  CHECK_THAT(step("resizes").first, contains("the outputs written by predict() is 3x4, but must be 2x4"));
  CHECK_THAT(step("pullback").first, contains("the direction written by pullback() is 1x4, but must be 3x4"));
  CHECK_THROWS_WITH(step("no outputs"), contains("output_dim() is 0, but must be at least 1"));
}

namespace {

/// Outputs of a model with two numbers per point at four points, the first three of them data.
struct Layered {
  Eigen::MatrixXd x;  // 5×8
  repel::FunctionLayout layout() const { return {2, 4, 3, 0}; }
  Index output_dim() const { return 8; }
  void predict(const auto& w, auto& f) const { f.noalias() = x.transpose() * w; }
  void score(const auto& f, auto& g) const { g = -f; }
  void pullback(const auto&, const auto& v, auto& out) const { out.noalias() = x * v; }
};

/// A view of three rows that writes NaN for particle 4, or nothing at all.
struct Broken {
  bool writes;
  repel::FunctionLayout seen(const repel::FunctionLayout&) const { return {1, 3, 3, 0}; }
  void view(const auto& f, const repel::FunctionLayout&, auto&, auto& z) const {
    if (writes) z = f.topRows(3), z(1, 4) = std::nan("");
  }
  void view_vjp(const auto& f, const repel::FunctionLayout&, auto&, const auto&, auto& out) const {
    out.setZero(f.rows(), f.cols());
  }
};

/// Any view against finite differences and against its own definition, a function of one particle's outputs.
template <class V>
void check_view(const V& view, const repel::FunctionLayout& layout,
                const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& definition) {
  repel::WorkspaceOf<V, double> workspace;
  const Eigen::MatrixXd f = repel::normal(layout.rows(), 3, 11);
  Eigen::MatrixXd z, back, up, down;
  view.view(f, layout, workspace, z);
  REQUIRE(z.rows() == view.seen(layout).rows());
  for (Index j = 0; j < 3; ++j) CHECK((z.col(j) - definition(f.col(j))).norm() < 1e-14);
  // view_vjp is the transposed derivative of view: u·(∂z/∂f)ᵀv = v·∂z/∂u for any u and v.
  const Eigen::MatrixXd u = repel::normal(f.rows(), 3, 4), v = repel::normal(z.rows(), 3, 5);
  view.view_vjp(f, layout, workspace, v, back);
  view.view(Eigen::MatrixXd(f + 1e-6 * u), layout, workspace, up);
  view.view(Eigen::MatrixXd(f - 1e-6 * u), layout, workspace, down);
  CHECK(u.cwiseProduct(back).sum() == Approx(v.cwiseProduct(up - down).sum() / 2e-6).epsilon(1e-7));
}

Eigen::VectorXd softmax_of_points(const Eigen::VectorXd& f, Index classes) {
  Eigen::VectorXd p = f.array().exp();
  for (Index i = 0; i < p.size(); i += classes) p.segment(i, classes) /= p.segment(i, classes).sum();
  return p;
}

}  // namespace

TEST_CASE("views agree with their definitions and derivatives", "[function_space][view]") {
  namespace view = repel::view;
  const repel::FunctionLayout plain{3, 5, 3, 0}, with_features{3, 5, 3, 2};
  check_view(view::Outputs{}, plain, [](const auto& f) { return f; });
  check_view(view::Outputs{}, with_features, [](const auto& f) { return f.head(15).eval(); });
  check_view(view::Points{1, 2}, plain, [](const auto& f) { return f.segment(3, 6).eval(); });
  check_view(view::AddedPoints{}, with_features, [](const auto& f) { return f.segment(9, 6).eval(); });
  check_view(view::Features{}, with_features, [](const auto& f) { return f.tail(10).eval(); });
  check_view(view::Probabilities{}, plain, [](const auto& f) { return softmax_of_points(f, 3); });
  check_view(view::Probabilities{view::AddedPoints{}}, plain,
             [](const auto& f) { return softmax_of_points(f.tail(6).eval(), 3); });
  CHECK(view::AddedPoints{}.seen(plain).batch == 0);
  CHECK(view::Points{1, 3}.seen(plain).batch == 2);

  CHECK_THROWS_WITH(view::AddedPoints{}.seen({3, 5, 5, 0}), contains("but there must be others for the kernel to see"));
  CHECK_THROWS_WITH(view::Features{}.seen(plain), contains("the model shows no features"));
  CHECK_THROWS_WITH((view::Points{3, 4}.seen(plain)), contains("first + count is 7, but must be at most 5"));
  CHECK_THROWS_WITH(view::Probabilities{}.seen({1, 5, 5, 0}), contains("needs one per class"));
  const Layered model{repel::normal(5, 8, 1)};
  CHECK_THROWS_WITH(repel::function_space(model, repel::Svgd{}, repel::Adam{}, view::Points{-1, 2}),
                    contains("view::Points: first and count are -1 and 2"));
}

TEST_CASE("a rule acts through a view: repulsion is mapped back, the driving force is not", "[function_space][view]") {
  const Layered model{repel::normal(5, 8, 1)};
  const Eigen::MatrixXd w = repel::normal(5, 7, 2), f = model.x.transpose() * w, s = -f;
  const auto kernel = repel::Rbf{repel::FixedBandwidth{3.0}};
  const auto moved_by = [&](const auto& rule, const auto& view) {
    auto sampler = repel::function_space(model, rule, repel::Sgd{.learning_rate = 1}, view);
    auto state = sampler.init(w);
    const repel::StepInfo info = sampler.step(state);
    CHECK(info.finite);
    return std::pair{Eigen::MatrixXd(state.particles - w), info};
  };
  // The kernel sees the outputs at the added point, rows 6 and 7.
  const Eigen::MatrixXd z = f.bottomRows(2);
  Eigen::MatrixXd wgd = s, svgd = Eigen::MatrixXd::Zero(8, 7), repulsion = Eigen::MatrixXd::Zero(8, 7);
  wgd.bottomRows(2) -= repel::estimate_score(repel::Kde{kernel}, z);
  for (Index j = 0; j < 7; ++j)
    for (Index i = 0; i < 7; ++i) {
      const double k = std::exp(-(z.col(i) - z.col(j)).squaredNorm() / 3);
      svgd.col(j) += k * s.col(i) / 7;
      repulsion.col(j).tail(2) += 2.0 / 3 * k * (z.col(j) - z.col(i)) / 7;
    }
  svgd += repulsion;
  const auto [by_wgd, wgd_info] = moved_by(repel::Wgd{repel::Kde{kernel}}, repel::view::AddedPoints{});
  CHECK(test::relative_error(by_wgd, model.x * wgd) < 1e-12);
  CHECK(wgd_info.direction == Approx(wgd.colwise().norm().mean()).epsilon(1e-12));
  const auto [by_svgd, svgd_info] = moved_by(repel::Svgd{kernel}, repel::view::AddedPoints{});
  CHECK(test::relative_error(by_svgd, model.x * svgd) < 1e-12);
  CHECK(svgd_info.repulsion == Approx(repulsion.colwise().norm().mean()).epsilon(1e-12));
  CHECK(svgd_info.driving == Approx(s.colwise().norm().mean()).epsilon(1e-12));

  // A view that is not finite, or writes nothing, moves nothing.
  for (const bool writes : {true, false}) {
    auto broken = repel::function_space(model, repel::Svgd{kernel}, repel::Sgd{}, Broken{writes});
    auto still = broken.init(w);
    const repel::StepInfo info = broken.step(still);
    CHECK_FALSE(info.finite);
    CHECK(info.particle == (writes ? 4 : 0));
    CHECK(info.fault == (writes ? repel::Fault::direction : repel::Fault::unwritten));
    CHECK(still.particles == w);
  }

  // A view of all outputs is no view.
  const auto [all, all_info] = moved_by(repel::Svgd{kernel}, repel::view::Points{0, 4});
  const auto [none, none_info] = moved_by(repel::Svgd{kernel}, repel::view::Outputs{});
  CHECK(test::relative_error(all, none) < 1e-12);
  CHECK(all_info.direction == Approx(none_info.direction).epsilon(1e-12));
}

TEST_CASE("targets and models behind plain functions give the same bits", "[sampler][function_space]") {
  const Layered model{repel::normal(5, 8, 1)};
  const Eigen::MatrixXd w = repel::normal(5, 7, 2);
  const auto after = [&](auto sampler) {
    auto state = sampler.init(w);
    CHECK(repel::run(sampler, state, 5).finished());
    return state.particles;
  };
  const repel::view::Probabilities probabilities{};
  CHECK(after(repel::function_space(repel::AnyModel<double>(model), repel::Svgd{}, repel::Adam{}, probabilities)) ==
        after(repel::function_space(model, repel::Svgd{}, repel::Adam{}, probabilities)));
  const auto target = [](const auto& x, auto& g) { g = -x; };
  CHECK(after(repel::weight_space(repel::AnyTarget<double>(target), repel::Svgd{})) ==
        after(repel::weight_space(target, repel::Svgd{})));
  // std::ref is kept by reference, with all that the target has.
  struct Counts {
    int begun = 0;
    void begin_step(Index) { ++begun; }
    void operator()(const Eigen::MatrixXd& x, Eigen::MatrixXd& g) { g = -x; }
    void log_density(const Eigen::MatrixXd& x, Eigen::VectorXd& v) { v.setZero(x.cols()); }
  } counts;
  repel::AnyTarget<double> referred(std::ref(counts));
  CHECK(after(repel::weight_space(referred, repel::Svgd{})) == after(repel::weight_space(target, repel::Svgd{})));
  CHECK(counts.begun == 5);
  Eigen::VectorXd values;
  referred.log_density(w, values);
  CHECK(values.size() == 7);
  CHECK_THROWS_WITH(repel::AnyTarget<double>(target).log_density(w, values), contains("has no log_density(w, values)"));
}

TEST_CASE("the temperature in function space is that of the outputs, annealing left aside",
          "[function_space][virial]") {
  Linear model{repel::normal(6, 3, 1), Eigen::MatrixXd::Identity(3, 3) * 2, Eigen::VectorXd::Ones(3)};
  auto sampler = repel::function_space(model, repel::Wgd{repel::Kde{}}, repel::Adam{}, repel::anneal::Constant{0.25});
  auto state = sampler.init(repel::normal(6, 20, 2));
  Eigen::MatrixXd outputs, score;
  model.predict(state.particles, outputs);
  model.score(outputs, score);
  const double expected = repel::temperature(outputs, score);
  CHECK(sampler.step(state).temperature == Approx(expected).epsilon(1e-12));
  // Calibrated in function space: T = 1 at the fixed point of a normal posterior over the outputs.
  auto calibrated = repel::function_space(
      model, repel::Wgd{repel::Calibrated{repel::Kde{}}},
      repel::Scheduled{repel::Adam{.learning_rate = 0.05}, repel::schedule::Cosine{.steps = 1500}});
  auto settled = calibrated.init(repel::normal(6, 40, 2));
  CHECK(repel::run(calibrated, settled, 1500).temperature == Approx(1).margin(0.02));
}

}  // namespace space_function_space_test
