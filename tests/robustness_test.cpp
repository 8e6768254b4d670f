#include "catch.hpp"

#include <repel/repel.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

// What may go wrong in the middle of a step, or at the ends of what an Index can count.

namespace robustness_test {

namespace {

using repel::Index;

/// An executor that gives up in the middle of its loop number `at`.
struct GivesUp {
  Index at;
  Index loops = 0;
  Index slots() const { return 1; }
  void run(Index pieces, const std::function<void(Index, Index)>& piece) {
    const bool fails = ++loops == at;
    for (Index p = 0; p < pieces; ++p) {
      if (fails && p >= pieces / 2) throw std::runtime_error("no more threads");
      piece(p, 0);
    }
  }
};

/// All that an optimiser remembers, one after the other.
template <class Memory>
std::vector<double> numbers(const Memory& memory) {
  std::vector<double> all;
  repel::detail::for_each_field(
      memory, [&](const auto& field) { all.insert(all.end(), field.data(), field.data() + field.size()); });
  return all;
}

template <class Sampler>
void check_whole_or_not_at_all(Sampler sampler, Index d, Index n) {
  auto start = sampler.init(repel::normal(d, n, 1));
  (void)repel::run(sampler, start, 3);
  Index thrown = 0;
  for (Index at = 1;; ++at) {
    CAPTURE(at);
    auto state = start;
    GivesUp executor{at};
    const repel::UseExecutor use(executor);
    bool threw = false;
    try {
      sampler.step(state);
    } catch (const std::runtime_error&) {
      threw = true;
    }
    if (!threw) break;
    ++thrown;
    REQUIRE(state.step == start.step);
    REQUIRE(state.particles == start.particles);
    REQUIRE(numbers(state.memory) == numbers(start.memory));
  }
  CHECK(thrown > 1);
}

auto normal_target() {
  return [](const auto& w, auto& g) { g = -w; };
}

}  // namespace

TEST_CASE("a step that an executor gives up moves nothing", "[threads][robustness]") {
  check_whole_or_not_at_all(repel::weight_space(normal_target(), repel::PlainEnsemble{}, repel::Adam{}), 3000, 20);
  check_whole_or_not_at_all(
      repel::weight_space(normal_target(), repel::Langevin{repel::PlainEnsemble{}, 1.0}, repel::Adam{}), 3000, 20);
  check_whole_or_not_at_all(repel::weight_space(normal_target(), repel::PlainEnsemble{}, repel::Adam{},
                                                repel::coordinates::Standardised{.until = 2}),
                            3000, 20);
}

TEMPLATE_TEST_CASE("iterative SGE of particles that coincide refuses, or is sane", "[solver][robustness]", float,
                   double) {
  Index refused = 0;
  for (const Index d : {1, 2, 20})
    for (const Index n : {2, 3, 10, 60})
      for (const Index rank : {256, 5})
        for (const double scale : {1.0, 4.0})
          for (std::uint64_t seed = 0; seed < 3; ++seed) {
            CAPTURE(d, n, rank, scale, seed);
            repel::Matrix<TestType> x = static_cast<TestType>(scale) * repel::normal<TestType>(d, n, seed);
            x.col(n - 1) = x.col(0);
            const auto with_ridge = repel::estimate_score(repel::Sge{repel::Rbf{}, 1e-3, repel::DenseSolver{}}, x);
            try {
              const auto without =
                  repel::estimate_score(repel::Sge{repel::Rbf{}, 0.0, repel::IterativeSolver{1e-12, 200, rank}}, x);
              // K is nearly singular: without a ridge the answer may well be larger, but not by the 1e21 of an unchecked one.
              CHECK(without.cwiseAbs().maxCoeff() <= 1e5 * with_ridge.cwiseAbs().maxCoeff());
            } catch (const std::invalid_argument& error) {
              CHECK_THAT(error.what(), contains("ridge is 0, but must be larger for these particles"));
              ++refused;
            }
          }
  CHECK(refused > 0);
  const repel::Matrix<TestType> apart = 4 * repel::normal<TestType>(20, 60, 3);
  const auto dense = repel::estimate_score(repel::Sge{repel::Rbf{}, 0.0, repel::DenseSolver{}}, apart);
  const auto iterative = repel::estimate_score(repel::Sge{repel::Rbf{}, 0.0, repel::IterativeSolver{1e-7}}, apart);
  CHECK((dense - iterative).norm() < 1e-2 * dense.norm());
}

TEST_CASE("a progress bar of a run without end, and of one that was set back", "[observe][robustness]") {
  constexpr Index most = std::numeric_limits<Index>::max();
  const auto shown = [](Index first, Index steps, Index done) {
    std::FILE* out = std::tmpfile();
    REQUIRE(out != nullptr);
    repel::ProgressBar bar("", out);
    struct {
      Index step;
    } state{first};
    bar.on_start(state, steps);
    repel::Report report;
    report.steps = done;
    report.seconds = 1;
    report.stop = repel::Report::Stop::by_observer;
    bar.on_finish(report);
    std::rewind(out);
    char text[256] = {};
    const std::size_t length = std::fread(text, 1, sizeof text - 1, out);
    std::fclose(out);
    return std::string(text, length);
  };
  CHECK_THAT(shown(0, 200, 100), contains(" 50%  100/200 steps"));
  CHECK_THAT(shown(100, most, 100), contains("  0%  200/" + std::to_string(most) + " steps"));
  CHECK_THAT(shown(most - 5, most, 5), contains("100%  " + std::to_string(most) + "/" + std::to_string(most)));
  CHECK_THAT(shown(0, 10, 20), contains("100%  20/10 steps"));
}

}  // namespace robustness_test
