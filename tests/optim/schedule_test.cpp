#include "catch.hpp"
#include "support/folder.hpp"
#include "support/tolerance.hpp"

#include <repel/checkpoint.hpp>
#include <repel/core/random.hpp>
#include <repel/optim/adagrad.hpp>
#include <repel/optim/adam.hpp>
#include <repel/optim/clipped.hpp>
#include <repel/optim/rmsprop.hpp>
#include <repel/optim/schedule.hpp>
#include <repel/optim/sgd.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/space/weight_space.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace optim_schedule_test {

using namespace repel;

namespace {

/// Plain loops: the optimiser with a rate of its own for every step, on directions cut column by column.
template <class P, class O>
P oracle(O optimiser, const P& start, double max_norm, const std::function<double(Index)>& factor, Index steps) {
  P particles = start;
  auto memory = optimiser.init(particles);
  const double rate = optimiser.learning_rate;
  for (Index t = 1; t <= steps; ++t) {
    P phi = normal<typename P::Scalar>(start.rows(), start.cols(), static_cast<std::uint64_t>(t));
    for (Index j = 0; j < phi.cols(); ++j) {
      const auto norm = static_cast<double>(phi.col(j).norm());
      if (norm > max_norm) phi.col(j) *= static_cast<typename P::Scalar>(max_norm / norm);
    }
    optimiser.learning_rate = rate * factor(t - 1);
    optimiser.update(memory, t, phi, particles);
  }
  return particles;
}

template <class P, class O>
P moved(const O& optimiser, const P& start, Index steps) {
  static_assert(Optimiser<O>);
  optimiser.validate();
  P particles = start;
  auto memory = optimiser.init(particles);
  for (Index t = 1; t <= steps; ++t) {
    const P phi = normal<typename P::Scalar>(start.rows(), start.cols(), static_cast<std::uint64_t>(t));
    optimiser.update(memory, t, phi, particles);
  }
  return particles;
}

auto target() {
  return [](const auto& w, auto& g) { g = -w; };
}

}  // namespace

TEST_CASE("the schedules are the curves they say", "[optim][schedule]") {
  const schedule::Cosine cosine{.steps = 10, .last = 0.2};
  CHECK(cosine(0) == 1);
  CHECK(cosine(5) == Approx(0.6));
  CHECK(cosine(9) == Approx(0.2 + 0.8 * (1 + std::cos(0.9 * 3.14159265358979)) / 2));
  CHECK(cosine(10) == 0.2);
  CHECK(cosine(1000) == 0.2);
  const schedule::Step step{.every = 3, .factor = 0.5};
  CHECK(step(2) == 1);
  CHECK(step(3) == 0.5);
  CHECK(step(8) == 0.25);
  const schedule::WarmUp warm{.steps = 4};
  CHECK(warm(0) == 0.25);
  CHECK(warm(2) == 0.75);
  CHECK(warm(3) == 1);
  CHECK(warm(9) == 1);
  const auto all = schedule::product(warm, step, [](Index t) { return t == 1 ? 10.0 : 1.0; });
  CHECK(all(1) == 5);
  CHECK(all(3) == 0.5);
}

TEMPLATE_TEST_CASE("a schedule and a cut do to any optimiser what plain loops do", "[optim][schedule]", float, double) {
  const Matrix<TestType> start = normal<TestType>(3, 40, 99);  // norms of about 1.7, so that some are cut
  const schedule::Cosine cosine{.steps = 6, .last = 0.1};
  const double bound = test::rounding<TestType>();
  const auto check = [&](const auto& o) {
    const auto one = [](Index) { return 1.0; };
    CHECK(test::relative_error(moved(Scheduled{o, cosine}, start, 9), oracle(o, start, 1e9, cosine, 9)) < bound);
    CHECK(test::relative_error(moved(Clipped{o, 1.5}, start, 9), oracle(o, start, 1.5, one, 9)) < bound);
    const auto both = oracle(o, start, 1.5, cosine, 9);
    CHECK(test::relative_error(moved(Scheduled{Clipped{o, 1.5}, cosine}, start, 9), both) < bound);
    CHECK(test::relative_error(moved(Clipped{Scheduled{o, cosine}, 1.5}, start, 9), both) < bound);
    const auto twice = [&](Index t) { return cosine(t) * schedule::WarmUp{5}(t); };
    CHECK(test::relative_error(moved(Scheduled{Scheduled{o, cosine}, schedule::WarmUp{5}}, start, 9),
                               oracle(o, start, 1e9, twice, 9)) < bound);
  };
  check(Adam{.learning_rate = 0.1});
  check(Sgd{.learning_rate = 0.1, .momentum = 0.9});
  check(AdaGrad{.learning_rate = 0.1});
  check(RmsProp{.learning_rate = 0.1});
  // Stored by rows, and nothing to cut: the very same bits.
  using ByRows = Eigen::Matrix<TestType, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const ByRows rows = start;
  CHECK(test::relative_error(moved(Clipped{Adam{}, 1.5}, rows, 3), moved(Clipped{Adam{}, 1.5}, start, 3)) < bound);
  CHECK(moved(Clipped{Adam{}, 100}, start, 3) == moved(Adam{}, start, 3));
}

TEST_CASE("a state and its checkpoint go on with or without the wrappers", "[optim][schedule]") {
  const test::Folder folder;
  const Scheduled decayed{Clipped{Adam{.learning_rate = 0.1}, 0.5}, schedule::Cosine{.steps = 20}};
  const Clipped cut{Scheduled{Adam{.learning_rate = 0.1}, schedule::Cosine{.steps = 20}}, 0.5};
  auto plain = weight_space(target(), Svgd{}, Adam{.learning_rate = 0.1});
  auto wrapped = weight_space(target(), Svgd{}, decayed);
  auto otherwise = weight_space(target(), Svgd{}, cut);
  auto state = wrapped.init(normal(2, 10, 1, 5));
  auto same = plain.init(state.particles);
  static_assert(std::is_same_v<decltype(state), decltype(same)>);
  for (int t = 0; t < 5; ++t) CHECK(plain.step(state).finite);
  for (int t = 0; t < 5; ++t) wrapped.step(state);
  save_checkpoint(folder.path / "state", state, "settings");
  load_checkpoint(folder.path / "state", same, "settings");
  CHECK(same.step == 10);
  for (int t = 0; t < 5; ++t) wrapped.step(state);
  for (int t = 0; t < 5; ++t) otherwise.step(same);
  CHECK(state.particles == same.particles);
  for (int t = 0; t < 10; ++t) wrapped.step(state);
  const Eigen::MatrixXd last = state.particles;  // the rate is 0 from here on
  for (int t = 0; t < 3; ++t) CHECK(wrapped.step(state).direction > 0);
  CHECK(state.particles == last);
}

TEST_CASE("the wrappers' settings are checked, and what is inside", "[optim][schedule][bad-input]") {
  CHECK_THROWS_WITH((Scheduled{Adam{.learning_rate = -1}, schedule::WarmUp{3}}.validate()),
                    contains("Adam: learning_rate is -1"));
  CHECK_THROWS_WITH((Scheduled{Adam{}, schedule::Cosine{.steps = 0}}.validate()),
                    "repel::schedule::Cosine: steps is 0, but must be at least 1");
  CHECK_THROWS_WITH((schedule::product(schedule::WarmUp{3}, schedule::Step{.every = 5, .factor = -1}).validate()),
                    contains("schedule::Step: factor is -1"));
  CHECK_THROWS_WITH((Clipped{Adam{}, 0}.validate()),
                    "repel::Clipped: max_norm is 0, but must be finite and larger than 0");
  auto sampler = weight_space(target(), Svgd{}, Scheduled{Adam{}, [](Index) { return -1.0; }});
  auto state = sampler.init(normal(2, 3, 1));
  CHECK_THROWS_WITH(sampler.step(state), contains("the schedule's factor for step 1 is -1"));
}

}  // namespace optim_schedule_test
