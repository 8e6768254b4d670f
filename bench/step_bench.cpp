// One whole step (target, rule, optimiser) of every update rule, over sizes from toy to network.

#include <repel/repel.hpp>

#include <benchmark/benchmark.h>

namespace {

/// A target that costs next to nothing, so that the step is what is measured.
struct StandardNormal {
  void operator()(const auto& w, auto& g) const { g = -w; }
};

template <class Scalar, class Rule>
void step(benchmark::State& bench, const Rule& rule) {
  const auto n = static_cast<repel::Index>(bench.range(0)), d = static_cast<repel::Index>(bench.range(1));
  auto sampler = repel::weight_space(StandardNormal{}, rule, repel::Adam{.learning_rate = 1e-3});
  auto state = sampler.init(repel::normal<Scalar>(d, n, 42));
  sampler.step(state);
  for (auto _ : bench) benchmark::DoNotOptimize(sampler.step(state).finite);
  bench.counters["pairs/s"] = benchmark::Counter(static_cast<double>(n) * static_cast<double>(n),
                                                 benchmark::Counter::kIsIterationInvariantRate);
}

template <class Scalar, class Rule>
void add(const char* name, const Rule& rule) {
  auto* bench = benchmark::RegisterBenchmark(name, [rule](benchmark::State& state) { step<Scalar>(state, rule); });
  bench->ArgNames({"n", "d"})->Unit(benchmark::kMicrosecond)->UseRealTime();
  for (const auto& [n, d] : {std::pair{100, 2}, {500, 2}, {50, 2701}, {100, 1000}}) bench->Args({n, d});
}

template <class Scalar>
void add_all(const std::string& scalar) {
  using namespace repel;
  add<Scalar>(("Map/" + scalar).c_str(), Map{});
  add<Scalar>(("Svgd/" + scalar).c_str(), Svgd{});
  add<Scalar>(("Kde/" + scalar).c_str(), Wgd{Kde{}});
  add<Scalar>(("Sge/" + scalar).c_str(), Wgd{Sge{}});
  add<Scalar>(("Ssge/" + scalar).c_str(), Wgd{Ssge{}});
  add<Scalar>(("Blob/" + scalar).c_str(), Wgd{Blob{}});
  add<Scalar>(("LaplaceKde/" + scalar).c_str(), Wgd{Kde{Laplace{}}});
}

[[maybe_unused]] const bool registered = [] {
  add_all<double>("double");
  add_all<float>("float");
  return true;
}();

}  // namespace
