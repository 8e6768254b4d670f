// The inner loops by themselves, each beside the loop that sets its limit, alternately in the same run:
//   exp          exp_minus beside Eigen's exp; items per second
//   L1 distance  beside the same loop with the coordinates loaded and added up, and nothing else
//   L1 gradients likewise, for their sums

#include "roofline.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using repel::Index;

/// Loads and adds, and nothing else.
struct LoadAndAdd {
  template <class Array>
  static const Array& term(const Array& difference) {
    return difference;
  }
};

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Times `work`, and `limit` after each; the counter says how many times as long the work takes.
template <class Work, class Limit>
void beside(benchmark::State& bench, const char* name, const Work& work, const Limit& limit) {
  std::vector<double> ratios;
  for (auto _ : bench) {
    auto start = bench::Clock::now();
    work();
    const double seconds = bench::since(start);
    bench.SetIterationTime(seconds);
    start = bench::Clock::now();
    limit();
    ratios.push_back(seconds / bench::since(start));
  }
  bench.counters[name] = median(ratios);
}

template <class Scalar>
void exponential(benchmark::State& bench) {
  using Array = Eigen::Array<Scalar, Eigen::Dynamic, 1>;
  const Array u = Array::LinSpaced(1024, 0, 20);
  Array k(1024);
  const auto repeat = [&](const auto& once) {
    for (int r = 0; r < 1000; ++r) {
      once();
      benchmark::DoNotOptimize(k.data());
      benchmark::ClobberMemory();
    }
  };
  beside(
      bench, "of_Eigen's_time", [&] { repeat([&] { k = repel::exp_minus(u); }); },
      [&] { repeat([&] { k = (-u).exp(); }); });
  bench.SetItemsProcessed(bench.iterations() * 1000 * 1024);
}

template <class Scalar>
void l1_distances(benchmark::State& bench) {
  repel::detail::PackedPoints<Scalar> points;
  points.assign(repel::normal<Scalar>(static_cast<Index>(bench.range(1)), static_cast<Index>(bench.range(0)), 1));
  repel::Matrix<Scalar> parts, out;
  beside(
      bench, "of_load_and_add", [&] { repel::detail::distances<repel::Manhattan>(points, points, parts, out); },
      [&] { repel::detail::distances<LoadAndAdd>(points, points, parts, out); });
}

template <class Scalar>
void l1_gradients(benchmark::State& bench) {
  const auto n = static_cast<Index>(bench.range(0)), d = static_cast<Index>(bench.range(1));
  repel::detail::PackedPoints<Scalar> points;
  points.assign(repel::normal<Scalar>(d, n, 1));
  const repel::Matrix<Scalar> a = repel::normal<Scalar>(n, n, 2);
  repel::Matrix<Scalar> scratch, out(d, n);
  beside(
      bench, "of_load_and_add",
      [&] { repel::detail::gradient_sums<repel::Manhattan, Scalar>(points, points, a, {}, scratch, out); },
      [&] {
        // The same panels, loaded and added up in registers.
        constexpr Index panel = 4 * repel::detail::kChunk<Scalar>;
        using Panel = Eigen::Array<Scalar, panel, 1>;
        const Index slots = repel::detail::thread_slots();
        scratch.resize(panel * n, slots);
        repel::detail::parallel_for((d + panel - 1) / panel, static_cast<double>(panel * n * n), slots,
                                    [&](Index p, Index slot) {
                                      Scalar* const packed = scratch.col(slot).data();
                                      const Index rows = std::min(panel, d - p * panel);
                                      for (Index i = 0; i < n; ++i)
                                        std::copy_n(&points.columns(p * panel, i), rows, packed + i * panel);
                                      for (Index j = 0; j < n; ++j) {
                                        Panel sum = Panel::Zero();
                                        for (Index i = 0; i < n; ++i)
                                          sum += Eigen::Map<const Panel>(packed + i * panel);
                                        out.col(j).segment(p * panel, rows) = sum.head(rows);
                                      }
                                    });
      });
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const std::string& name, auto run) {
    return benchmark::RegisterBenchmark(name.c_str(), run)->Unit(benchmark::kMicrosecond)->UseManualTime();
  };
  add("exp/double", exponential<double>);
  add("exp/float", exponential<float>);
  for (const auto& [n, d] : {std::pair{50, 2701}, {1000, 1000}}) {
    add("l1_distances/double", l1_distances<double>)->ArgNames({"n", "d"})->Args({n, d});
    add("l1_distances/float", l1_distances<float>)->ArgNames({"n", "d"})->Args({n, d});
    add("l1_gradients/double", l1_gradients<double>)->ArgNames({"n", "d"})->Args({n, d});
    add("l1_gradients/float", l1_gradients<float>)->ArgNames({"n", "d"})->Args({n, d});
  }
  return true;
}();

}  // namespace
