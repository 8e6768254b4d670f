#include "catch.hpp"
#include "support/memory.hpp"

#include <repel/repel.hpp>

#include <cstdio>
#include <vector>

// A long run needs no more memory than a short one. A million steps of each rule, half a minute:
// build/test/tests/repel_tests '[.soak]'

namespace soak_test {

namespace {

/// The most memory of a run of so many steps, observed and in whitened coordinates, in MiB.
template <class Rule>
double peak(const Rule& rule, repel::Index steps, bool keep = false) {
  return test::peak_memory([&] {
    auto target = [](const auto& w, auto& g) { g = -w; };
    auto sampler = repel::weight_space(target, rule, repel::Adam{.learning_rate = 0.01}, repel::anneal::Constant{},
                                       repel::coordinates::Whitened{});
    auto state = sampler.init(repel::normal(2, 10, 1));
    std::vector<double> kept;
    const auto look = [&](const auto&, const repel::StepInfo& info) {
      if (keep || kept.empty()) kept.push_back(info.temperature);
    };
    if (!repel::run(sampler, state, steps, look, repel::StopOnInterrupt{}).finished()) throw 1;
  });
}

template <class Rule>
void soak(const char* name, const Rule& rule, repel::Index steps) {
  const double little = peak(rule, 1000), much = peak(rule, steps);
  CAPTURE(name, little, much);
  std::printf("%-24s %8.2f MiB after 1000 steps, %8.2f after %ld\n", name, little, much, static_cast<long>(steps));
  CHECK(little > 0);
  CHECK(much < little + 0.5);  // a byte a step would be 0.95 MiB; pages come and go by some 0.1
}

void soak_all(repel::Index steps) {
  using namespace repel;
  CHECK(peak(Svgd{}, steps, true) > peak(Svgd{}, 1000) + 7e-6 * static_cast<double>(steps));  // a leak would be seen
  soak("Svgd", Svgd{}, steps);
  soak("Wgd{Kde}", Wgd{Kde{}}, steps);
  soak("Wgd{Sge}", Wgd{Sge{}}, steps);
  soak("Wgd{Ssge}", Wgd{Ssge{}}, steps);
  soak("Wgd{Calibrated{Sge}, full}", Wgd{Calibrated{Sge{}, Calibration::full}}, steps);
  soak("Langevin{Svgd}", Langevin{Svgd{}, 0.1}, steps);
}

}  // namespace

TEST_CASE("a million steps need no more memory than a thousand", "[.soak]") { soak_all(1000000); }

}  // namespace soak_test
