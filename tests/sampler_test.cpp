#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/repel.hpp>

#include <stdexcept>

namespace sampler_test {

using repel::Index;

namespace {

/// ∇ log N(0, I).
struct StandardNormal {
  void operator()(const auto& w, auto& g) const { g = -w; }
};

struct Minibatch {
  std::vector<Index> seen;
  void begin_step(Index step) { seen.push_back(step); }
  void operator()(const auto& w, auto& g) { g = -w; }
};

struct One {
  std::vector<Index>* seen;
  void begin_step(Index step) { seen->push_back(step); }
  void operator()(const auto& w, auto&& g) const { g = -w; }
};

}  // namespace

TEST_CASE("the program of the documentation compiles and runs", "[sampler][contract]") {
  const Eigen::Matrix2d precision = Eigen::Vector2d(1.0, 2.0).asDiagonal();
  const Eigen::Vector2d mean(1, -1);
  auto grad_log_posterior = [&](const auto& w, auto&& g) {
    g.noalias() = precision * (mean.replicate(1, w.cols()) - w);
  };
  auto sampler =
      repel::weight_space(grad_log_posterior, repel::Wgd{repel::Sge{repel::Rbf{}}}, repel::Adam{.learning_rate = 0.1});
  auto state = sampler.init(repel::normal(2, 100, /*seed=*/42, /*sd=*/1.7));
  repel::StepInfo info = sampler.step(state);
  CHECK(info.step == 1);
  CHECK(info.finite);
  CHECK(info.bandwidth > 0);
  CHECK(info.driving > 0);
  CHECK(info.repulsion > 0);
  CHECK(info.direction > 0);
  CHECK(state.step == 1);
  repel::Report report = repel::run(sampler, state, 50);
  CHECK(report.steps == 50);
  CHECK(state.step == 51);
}

TEST_CASE("a step is the rule's direction through the optimiser", "[sampler]") {
  const Eigen::MatrixXd x = Eigen::MatrixXd::Random(3, 7);
  const repel::Svgd rule{repel::Rbf{}};
  auto sampler = repel::weight_space(StandardNormal{}, rule, repel::Sgd{.learning_rate = 0.5});
  auto state = sampler.init(x);
  Eigen::MatrixXd expected = x;
  for (int t = 0; t < 3; ++t) {
    const Eigen::MatrixXd phi = repel::direction(rule, expected, Eigen::MatrixXd(-expected));
    const double driving = expected.colwise().norm().mean();
    expected += 0.5 * phi;
    const repel::StepInfo info = sampler.step(state);
    CHECK(test::relative_error(state.particles, expected) < 1e-13);
    CHECK(info.driving == Approx(driving).epsilon(1e-12));
    CHECK(info.direction == Approx(phi.colwise().norm().mean()).epsilon(1e-12));
  }
}

TEST_CASE("the state keeps the particles' type, and every type gives the same numbers", "[sampler]") {
  const Eigen::MatrixXd x = repel::normal(2, 20, 1);
  const auto after = [](auto particles) {
    auto sampler = repel::weight_space(StandardNormal{}, repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.05});
    auto state = sampler.init(particles);
    static_assert(std::is_same_v<decltype(state.particles), decltype(particles)>);
    CHECK(repel::run(sampler, state, 30).finished());
    return Eigen::MatrixXd(state.particles.template cast<double>());
  };
  const Eigen::MatrixXd reference = after(x);
  CHECK(after(Eigen::Matrix<double, 2, Eigen::Dynamic>(x)) == reference);
  CHECK(test::relative_error(after(Eigen::MatrixXf(x.cast<float>())), reference) < 1e-4);
  CHECK(test::relative_error(after(Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>(x)),
                             reference) < 1e-12);
  // An expression is evaluated.
  auto sampler = repel::weight_space(StandardNormal{}, repel::PlainEnsemble{});
  CHECK(sampler.init(2 * x).particles == 2 * x);
}

TEST_CASE("copies of a sampler and a state go their own ways", "[sampler]") {
  auto sampler = repel::weight_space(StandardNormal{}, repel::Svgd{});
  auto state = sampler.init(repel::normal(2, 10, 3));
  CHECK(repel::run(sampler, state, 5).finished());
  auto other_sampler = sampler;
  auto other = state;
  CHECK(repel::run(sampler, state, 5).finished());
  const Eigen::MatrixXd once = state.particles;
  CHECK(other.step == 5);
  CHECK(repel::run(other_sampler, other, 5).finished());
  CHECK(other.particles == once);
}

TEST_CASE("begin_step is called once before each step, with the steps taken so far", "[sampler]") {
  Minibatch target;
  auto sampler = repel::weight_space(std::ref(target), repel::PlainEnsemble{});  // kept by reference
  auto state = sampler.init(repel::normal(2, 3, 1));
  CHECK(repel::run(sampler, state, 3).finished());
  CHECK(target.seen == std::vector<Index>{0, 1, 2});

  // Through per_particle as well.
  std::vector<Index> seen;
  auto each = repel::weight_space(repel::per_particle(One{&seen}), repel::PlainEnsemble{});
  auto each_state = each.init(repel::normal(2, 3, 1));
  each.step(each_state);
  CHECK(seen == std::vector<Index>{0});
  One one{&seen};
  auto by_reference = repel::weight_space(repel::per_particle(std::ref(one)), repel::PlainEnsemble{});
  by_reference.step(each_state);
  CHECK(seen == std::vector<Index>{0, 1});
}

TEST_CASE("per_particle is the batch target, column by column", "[sampler]") {
  const Eigen::MatrixXd x = repel::normal(300, 9, 5);  // large enough to use threads
  auto batch = repel::weight_space(StandardNormal{}, repel::PlainEnsemble{}, repel::Sgd{});
  auto single = repel::weight_space(repel::per_particle([](const auto& w, auto&& g) { g = -w; }),
                                    repel::PlainEnsemble{}, repel::Sgd{});
  // Concrete types work as well as generic ones.
  auto concrete = repel::weight_space(
      repel::per_particle([](const Eigen::Ref<const Eigen::VectorXd>& w, Eigen::Ref<Eigen::VectorXd> g) { g = -w; }),
      repel::PlainEnsemble{}, repel::Sgd{});
  auto lvalue = repel::weight_space(repel::per_particle([](const auto& w, auto& g) { g = -w; }), repel::PlainEnsemble{},
                                    repel::Sgd{});
  auto a = batch.init(x);
  auto b = single.init(x);
  auto c = concrete.init(x);
  batch.step(a);
  single.step(b);
  concrete.step(c);
  CHECK(a.particles == b.particles);
  CHECK(a.particles == c.particles);
  CHECK(a.particles != x);
  auto d = lvalue.init(x);
  lvalue.step(d);
  CHECK(a.particles == d.particles);
}

TEST_CASE("annealing scales the driving force", "[sampler]") {
  const Eigen::MatrixXd x = repel::normal(2, 5, 2);
  auto sampler = repel::weight_space(StandardNormal{}, repel::PlainEnsemble{}, repel::Sgd{.learning_rate = 1},
                                     [](Index step) { return step == 0 ? 0.0 : 0.25; });
  auto state = sampler.init(x);
  CHECK(sampler.step(state).driving == 0);
  CHECK(state.particles == x);
  sampler.step(state);
  CHECK(test::relative_error(state.particles, 0.75 * x) < 1e-15);
}

TEST_CASE("a step that is not finite moves nothing", "[sampler][bad-input]") {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), 1e200}) {
    int calls = 0;
    auto sampler = repel::weight_space(
        [&](const auto& w, auto&& g) {
          g = -w;
          if (++calls == 3) g(1, 4) = bad;
        },
        repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.1});
    auto state = sampler.init(repel::normal(2, 6, 11));
    sampler.step(state);
    sampler.step(state);
    const auto before = state;
    const repel::StepInfo info = sampler.step(state);
    CHECK_FALSE(info.finite);
    CHECK(info.step == 3);
    CHECK(info.particle == 4);
    CHECK(state.particles == before.particles);
    CHECK(state.step == 2);
    CHECK(state.memory.mean == before.memory.mean);
    CHECK(state.memory.square == before.memory.square);
    // The state is sound: the next step goes on.
    CHECK(sampler.step(state).finite);
    CHECK(state.step == 3);
  }
}

TEST_CASE("one bad gradient among many particles is noticed, wherever it is", "[sampler][bad-input]") {
  for (const Index n : {Index{65}, Index{200}, Index{100'000}})
    for (const Index bad : {Index{0}, Index{63}, Index{64}, n - 1}) {
      CAPTURE(n, bad);
      auto sampler = repel::weight_space(
          [&](const auto& w, auto& g) {
            g = -w;
            g(1, bad) = std::nan("");
          },
          repel::PlainEnsemble{});
      auto state = sampler.init(repel::normal(2, n, 1));
      const repel::StepInfo info = sampler.step(state);
      CHECK_FALSE(info.finite);
      CHECK(info.particle == bad);
      CHECK(info.fault == repel::Fault::gradient);
      CHECK(state.particles.allFinite());
    }
}

TEST_CASE("particles broken by hand are noticed before anything moves", "[sampler][bad-input]") {
  auto sampler = repel::weight_space([](const auto&, auto& g) { g.setZero(); }, repel::Svgd{});
  auto state = sampler.init(repel::normal(2, 6, 11));
  state.particles(0, 2) = std::nan("");
  const repel::StepInfo info = sampler.step(state);
  CHECK_FALSE(info.finite);
  CHECK(info.particle == 2);
  state.particles = repel::normal(2, 7, 11);
  CHECK_THROWS_WITH(sampler.step(state), contains("state.particles is 2x7, but must be 2x6"));
}

TEST_CASE("a target that throws leaves the state as it was", "[sampler][bad-input]") {
  bool broken = false;
  auto sampler = repel::weight_space(
      [&](const auto& w, auto&& g) {
        if (broken) throw std::runtime_error("out of data");
        g = -w;
      },
      repel::Svgd{});
  auto state = sampler.init(repel::normal(2, 6, 11));
  sampler.step(state);
  const auto before = state;
  broken = true;
  CHECK_THROWS_WITH(sampler.step(state), "out of data");
  CHECK(state.particles == before.particles);
  CHECK(state.step == 1);
}

TEST_CASE("bad input is refused by name before anything moves", "[sampler][bad-input]") {
  const auto make = [](auto rule) { return repel::weight_space(StandardNormal{}, rule); };
  const auto good = make(repel::Svgd{});
  Eigen::MatrixXd x = repel::normal(3, 20, 1);
  x(2, 17) = std::nan("");
  CHECK_THROWS_WITH(good.init(x), "repel::weight_space: particles(2, 17) is nan, but must be finite");
  x(2, 17) = -std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(good.init(x), "repel::weight_space: particles(2, 17) is -inf, but must be finite");
  CHECK_THROWS_WITH(good.init(Eigen::MatrixXd(2, 0)), contains("particles has 0 columns"));
  CHECK_THROWS_WITH(good.init(Eigen::MatrixXd(0, 2)), contains("particles has 0 rows"));
  CHECK_THROWS_WITH(good.init(Eigen::MatrixXf::Constant(2, 2, 1e30f)), contains("would overflow 32-bit"));

  CHECK_THROWS_WITH(make(repel::Svgd{repel::Rbf{repel::FixedBandwidth{-2.0}}}), contains("FixedBandwidth: h is -2"));
  CHECK_THROWS_WITH(make(repel::Wgd{repel::Sge{repel::Rbf{}, -0.01}}), contains("Sge: ridge is -0.01"));
  CHECK_THROWS_WITH(make(repel::Wgd{repel::Ssge{repel::Rbf{}, 0.01, repel::LargestEigenpairs{0}}}),
                    contains("LargestEigenpairs: J is 0"));
  CHECK_THROWS_WITH(repel::weight_space(StandardNormal{}, repel::PlainEnsemble{}, repel::Adam{.learning_rate = 0}),
                    contains("Adam: learning_rate is 0"));
  CHECK_THROWS_WITH(
      repel::weight_space(StandardNormal{}, repel::PlainEnsemble{}, repel::Adam{}, repel::anneal::Linear{0}),
      contains("anneal::Linear: steps is 0"));

  // A target that writes a gradient of the wrong shape, or none.
  auto wrong =
      repel::weight_space([](const auto&, auto&& g) { g = Eigen::MatrixXd::Zero(3, 3); }, repel::PlainEnsemble{});
  auto state = wrong.init(repel::normal(2, 6, 11));
  CHECK_THROWS_WITH(wrong.step(state),
                    "repel::weight_space: the gradient written by the target is 3x3, but must be "
                    "2x6 like the particles");
  auto once = repel::weight_space(
      [n = 0](const auto& w, auto&& g) mutable {
        if (++n == 1)
          g = Eigen::MatrixXd::Zero(1, 1);
        else
          g.col(w.cols() - 1).setZero();  // relies on the shape that was promised
      },
      repel::PlainEnsemble{});
  auto resized = once.init(repel::normal(2, 6, 11));
  CHECK_THROWS_WITH(once.step(resized), contains("is 1x1, but must be 2x6"));
  CHECK_FALSE(once.step(resized).finite);  // the other columns were never written
  auto moved_from = wrong.init(repel::normal(2, 6, 11));
  const auto kept = std::move(moved_from);
  CHECK_THROWS_WITH(wrong.step(moved_from),
                    "repel::weight_space: state.particles is empty, but must be as init() made it");
  auto forgetful = repel::weight_space([](const auto&, auto&&) {}, repel::PlainEnsemble{});
  auto untouched = forgetful.init(repel::normal(2, 6, 11));
  CHECK_FALSE(forgetful.step(untouched).finite);
}

TEMPLATE_TEST_CASE("the largest usable values and rates stay finite", "[sampler][degenerate]", float, double) {
  using M = repel::Matrix<TestType>;
  const TestType top = repel::detail::largest_coordinate<TestType>();
  M x = M::Constant(2, 4, top);
  x.col(0) *= -1;
  auto sampler =
      repel::weight_space([](const auto& w, auto& g) { g = w; }, repel::Svgd{}, repel::Sgd{.learning_rate = 1e9});
  auto state = sampler.init(x);
  CHECK(sampler.step(state).finite);
  CHECK(state.particles != x);
  CHECK(state.particles.allFinite());
  // They are beyond what can be squared now: the next step says so and leaves them alone.
  const M moved = state.particles;
  CHECK_FALSE(sampler.step(state).finite);
  CHECK(state.particles == moved);
  CHECK_THROWS_WITH(repel::weight_space(StandardNormal{}, repel::PlainEnsemble{}, repel::Sgd{.learning_rate = 1e300}),
                    "repel::Sgd: learning_rate is 1e+300, but must be larger than 0 and at most 1e9");
}

TEST_CASE("a state goes on under other settings, or on another target", "[sampler]") {
  auto plain = repel::weight_space(StandardNormal{}, repel::PlainEnsemble{}, repel::Sgd{.learning_rate = 0.1});
  auto momentum =
      repel::weight_space(StandardNormal{}, repel::PlainEnsemble{}, repel::Sgd{.learning_rate = 0.1, .momentum = 0.9});
  auto state = plain.init(repel::normal(2, 3, 1));
  CHECK(plain.step(state).finite);
  CHECK(momentum.step(state).finite);
  CHECK(state.memory.velocity.rows() == 2);
  auto tempered =
      repel::weight_space([](const auto& w, auto& g) { g = -w / 10; }, repel::PlainEnsemble{}, repel::Sgd{});
  CHECK(tempered.step(state).finite);
}

TEST_CASE("a state goes on under another rule, and a snapshot is particles and memory", "[sampler]") {
  auto svgd = repel::weight_space(StandardNormal{}, repel::Svgd{}, repel::Adam{.learning_rate = 0.05});
  auto kde = repel::weight_space(StandardNormal{}, repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.05});
  auto state = svgd.init(repel::normal(2, 40, 1));
  static_assert(std::is_same_v<decltype(state), decltype(kde.init(repel::normal(2, 40, 1)))>);
  CHECK(repel::run(svgd, state, 20).finished());
  auto copy = state;
  CHECK(repel::run(kde, state, 20).finished());
  CHECK(state.step == 40);
  // The other sampler, fresh, takes the same way from the same state.
  auto fresh = repel::weight_space(StandardNormal{}, repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.05});
  CHECK(repel::run(fresh, copy, 20).finished());
  CHECK(copy.particles == state.particles);
  CHECK(copy.memory.square == state.memory.square);
  CHECK(sizeof(state) <= 3 * sizeof(Eigen::MatrixXd) + sizeof(Index));
}

TEST_CASE("one sampler serves states of different shapes and types in turn", "[sampler]") {
  auto sampler = repel::weight_space(StandardNormal{}, repel::Wgd{repel::Kde{}}, repel::Sgd{});
  const auto once = [&](auto particles) {
    auto fresh = sampler;
    auto a = fresh.init(particles), b = sampler.init(particles);
    fresh.step(a);
    sampler.step(b);
    CHECK(a.particles == b.particles);
  };
  for (int round = 0; round < 2; ++round) {
    once(repel::normal(2, 20, 1));
    once(repel::normal(20, 15, 1));
    once(repel::normal<float>(3, 9, 1));
    once(Eigen::Matrix<double, 2, Eigen::Dynamic>(repel::normal(2, 12, 1)));
  }
}

TEST_CASE("WGD ends where its direction vanishes, which StopWhen can tell", "[sampler][run]") {
  auto sampler = repel::weight_space(StandardNormal{}, repel::Wgd{repel::Kde{}}, repel::Sgd{.learning_rate = 0.2});
  auto state = sampler.init(repel::normal(1, 10, 1));
  const repel::Report report = repel::run(
      sampler, state, 5000, repel::StopWhen([](const auto&, const auto& info) { return info.direction < 1e-6; }));
  CHECK(report.stop == repel::Report::Stop::by_observer);
  CHECK(report.last.driving > 0.1);  // the two parts balance, neither vanishes
  CHECK(report.last.repulsion == Approx(report.last.driving).epsilon(1e-4));
}

TEST_CASE("denormal numbers count as zero in a step, and the caller's mode is kept", "[sampler]") {
  if (!repel::detail::kHasFloatMode) return;
  const auto vanishes = [] {
    volatile float tiny = 1e-38F, part = 0.01F;
    return tiny * part == 0;
  };
  bool in_step = false;
  auto sampler = repel::weight_space(
      [&](const auto& w, auto& g) {
        in_step = vanishes();
        g = -w;
      },
      repel::PlainEnsemble{});
  auto state = sampler.init(repel::normal<float>(2, 3, 1));
  sampler.step(state);
  CHECK(in_step);
  CHECK_FALSE(vanishes());
  // Adam's average of a weight that no longer gets a gradient decays to zero, not into denormal numbers.
  auto dead = repel::weight_space([](const auto&, auto& g) { g.setZero(); }, repel::PlainEnsemble{});
  auto still = dead.init(repel::normal<float>(2, 3, 1));
  still.memory.mean.setConstant(1e-30F);
  CHECK(repel::run(dead, still, 300).finished());
  CHECK(still.memory.mean.isZero(0));
}

}  // namespace sampler_test
