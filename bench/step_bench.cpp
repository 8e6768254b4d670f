// One whole step (target, rule, optimiser) of every update rule, over sizes from toy to large, and how close it comes
// to what the machine can do (roofline.hpp):
//   of_roofline   the time that the step's unavoidable arithmetic and memory traffic takes at the machine's rates, over
//                 the time the step takes; in it the median is a pass that could be avoided, and so are the solver's
//                 iterations
//   of_exp        the time of its n²/2 exponentials alone, over the time the step takes
//   bytes         held by state and sampler: particles, optimiser and all buffers

#include "roofline.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

using bench::Work;
using repel::Index;

/// A target that costs next to nothing, so that the step is what is measured.
struct StandardNormal {
  void operator()(const auto& w, auto& g) const { g = -w; }
};

double bytes_in_use() {
#ifdef __GLIBC__
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
#else
  return 0;
#endif
}

enum class Kind { plain, kde, svgd, blob, sge, ssge };

template <class Scalar>
Work work_of(Kind kind, Index count, Index dim) {
  const auto n = static_cast<double>(count), d = static_cast<double>(dim), pairs = n * n / 2;
  Work work;
  work.bytes = 12 * n * d * sizeof(Scalar);  // the target, the rule, and Adam with its two averages
  if (work.bytes < 8e6) work.bytes = 0;      // it stays in the caches
  if (kind == Kind::plain) return work;
  const bool few = dim <= 16;
  work.exps = pairs;
  work.flops =
      3 * d * pairs + (few ? 4 * d * pairs : 2 * n * n * d);   // distances and gradient sums, on both sides of a pair
  if (kind == Kind::svgd && few) work.flops += 4 * d * pairs;  // else one product does both
  if (kind == Kind::blob && few) work.exps *= 2, work.flops *= 2;  // K is not kept
  if (kind == Kind::sge) work.flops += n * n * n / 3 + 2 * n * n * std::min(n, d);
  if (kind == Kind::ssge) work.flops += n * n * n / 3 + 4 * n * n * std::min(n, d);
  return work;
}

template <class Scalar, class Rule>
void step(benchmark::State& bench, const Rule& rule, Kind kind) {
  const auto n = static_cast<Index>(bench.range(0)), d = static_cast<Index>(bench.range(1));
  const double before = bytes_in_use();
  auto sampler = repel::weight_space(StandardNormal{}, rule, repel::Adam{.learning_rate = 1e-3});
  auto state = sampler.init(repel::normal<Scalar>(d, n, 42));
  for (int i = 0; i < 3; ++i) sampler.step(state);  // buffers find their size, the median its bracket
  const double bytes = bytes_in_use() - before;
  const Work work = work_of<Scalar>(kind, n, d);
  std::vector<double> of_roofline, of_exp;
  double spent = 0;
  Index steps = 0;
  auto roofline = bench::Roofline<Scalar>::measure();
  for (auto _ : bench) {
    const auto start = bench::Clock::now();
    benchmark::DoNotOptimize(sampler.step(state).finite);
    const double seconds = bench::since(start);
    bench.SetIterationTime(seconds);
    spent += seconds;
    ++steps;
    if (spent > 0.2) {  // the machine's rates again, since they change with its other guests
      of_roofline.push_back(roofline.seconds(work) * static_cast<double>(steps) / spent);
      of_exp.push_back(work.exps / roofline.exps * static_cast<double>(steps) / spent);
      roofline = bench::Roofline<Scalar>::measure();
      spent = 0;
      steps = 0;
    }
  }
  if (of_roofline.empty() && steps > 0) {
    of_roofline.push_back(roofline.seconds(work) * static_cast<double>(steps) / spent);
    of_exp.push_back(work.exps / roofline.exps * static_cast<double>(steps) / spent);
  }
  const auto median = [](std::vector<double>& v) {
    if (v.empty()) return 0.0;
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
  };
  bench.counters["of_roofline"] = median(of_roofline);
  bench.counters["of_exp"] = median(of_exp);
  bench.counters["bytes"] = benchmark::Counter(bytes, benchmark::Counter::kDefaults, benchmark::Counter::kIs1024);
}

template <class Scalar, class Rule>
void add(const std::string& name, const Rule& rule, Kind kind, bool large) {
  auto* bench =
      benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { step<Scalar>(state, rule, kind); });
  bench->ArgNames({"n", "d"})->Unit(benchmark::kMicrosecond)->UseManualTime();
  for (const auto& [n, d] : {std::pair{100, 2},
                             {500, 2},
                             {5000, 2},
                             {50, 2701},
                             {100, 1000},
                             {1000, 100},
                             {1000, 1000},
                             {50, 100000},
                             {20000, 10},
                             {100000, 2}})
    if (n < 5000 || (n == 5000 && kind != Kind::sge && kind != Kind::ssge) || (n > 5000 && large)) bench->Args({n, d});
}

template <class Scalar>
void add_all(const std::string& scalar) {
  using namespace repel;
  add<Scalar>("PlainEnsemble/" + scalar, PlainEnsemble{}, Kind::plain, true);
  add<Scalar>("Svgd/" + scalar, Svgd{}, Kind::svgd, true);
  add<Scalar>("Kde/" + scalar, Wgd{Kde{}}, Kind::kde, true);
  add<Scalar>("Sge/" + scalar, Wgd{Sge{}}, Kind::sge, false);  // beyond 4096 particles: see scaling.cpp
  add<Scalar>("Ssge/" + scalar, Wgd{Ssge{}}, Kind::ssge, false);
  add<Scalar>("Blob/" + scalar, Wgd{Blob{}}, Kind::blob, false);
  add<Scalar>("LaplaceKde/" + scalar, Wgd{Kde{Laplace{}}}, Kind::kde, false);
}

[[maybe_unused]] const bool registered = [] {
  add_all<double>("double");
  add_all<float>("float");
  return true;
}();

}  // namespace
