// Networks: one gradient of all particles and one forward pass, beside what the same machine does in plain matrix
// products at the same moment. The counters say how much of that rate the network reaches.

#include <repel/bnn.hpp>
#include <repel/repel.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace {

using repel::Index;

/// Multiply-adds of a gradient count twice each: forward, the weights' gradient, and what is passed down (but for the
/// first layer, below which there is nothing).
double gradient_flops(const repel::Mlp& network, Index points, Index particles) {
  double sum = 0;
  for (const auto& layer : network.layers())
    sum += (&layer == &network.layers().front() ? 4.0 : 6.0) * static_cast<double>(layer.in * layer.out);
  return sum * static_cast<double>(points) * static_cast<double>(particles);
}

/// GFLOP/s of large square products on all threads, one product per thread.
template <class Scalar>
double product_rate() {
  constexpr Index size = 1024;
  const Index count = repel::detail::thread_slots();
  const repel::Matrix<Scalar> a = repel::normal<Scalar>(size, size, 1), b = repel::normal<Scalar>(size, size, 2);
  std::vector<repel::Matrix<Scalar>> out(static_cast<std::size_t>(count), repel::Matrix<Scalar>(size, size));
  const auto start = std::chrono::steady_clock::now();
  repel::detail::parallel_for(count, 1e9, [&](Index i) { out[static_cast<std::size_t>(i)].noalias() = a * b; });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return 2e-9 * static_cast<double>(count * size * size * size) / seconds;
}

/// Alternates the work with plain products, so that both see the same machine, and reports the medians.
template <class Scalar, class Work>
void compare(benchmark::State& bench, double flops, const Work& work) {
  std::vector<double> rates, ratios;
  work();
  for (auto _ : bench) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    bench.SetIterationTime(seconds);
    const double rate = product_rate<Scalar>();
    rates.push_back(rate);
    ratios.push_back(1e-9 * flops / seconds / rate);
  }
  const auto median = [](std::vector<double>& values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
  };
  const double rate = median(rates), ratio = median(ratios);
  bench.counters["GFLOP/s"] = rate * ratio;
  bench.counters["GEMM_GFLOP/s"] = rate;
  bench.counters["of_GEMM"] = ratio;
}

template <class Scalar>
void gradient(benchmark::State& bench, const std::vector<Index>& widths, Index points, Index particles) {
  const repel::Mlp network(widths);
  const Eigen::VectorXi labels = Eigen::VectorXi::Zero(points);
  const repel::Bnn posterior(network, repel::CategoricalLikelihood{}, repel::NormalPrior{1.0},
                             repel::normal<Scalar>(widths.front(), points, 1), labels);
  auto target = posterior.target();
  const repel::Matrix<Scalar> w = repel::pytorch_draws<Scalar>(network, particles, 2);
  repel::Matrix<Scalar> g(w.rows(), w.cols());
  compare<Scalar>(bench, gradient_flops(network, points, particles), [&] { target(w, g); });
}

template <class Scalar>
void step(benchmark::State& bench, bool functions) {
  const repel::Matrix<Scalar> x = repel::normal<Scalar>(1, 90, 1), y = repel::normal<Scalar>(1, 90, 2);
  const repel::Bnn posterior(repel::Mlp({1, 50, 50, 1}), repel::GaussianLikelihood{1.0}, repel::NormalPrior{1.0}, x, y,
                             repel::Minibatch{64, 1});
  const auto measure = [&](auto sampler) {
    auto state = sampler.init(posterior.prior_draws(50, 1));
    for (int i = 0; i < 20; ++i) sampler.step(state);
    for (auto _ : bench) benchmark::DoNotOptimize(sampler.step(state).finite);
  };
  if (functions)
    measure(repel::function_space(posterior.functions(), repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.01}));
  else
    measure(repel::weight_space(posterior.target(), repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.01}));
}

[[maybe_unused]] const bool registered = [] {
  const auto add = [](const char* name, auto run) {
    benchmark::RegisterBenchmark(name, run)->Unit(benchmark::kMillisecond)->UseManualTime();
  };
  add("gradient/784-100-100-100-10/B=256/n=50/float", [](auto& b) {
    gradient<float>(b, {784, 100, 100, 100, 10}, 256, 50);
  });
  add("gradient/784-100-100-100-10/B=256/n=50/double", [](auto& b) {
    gradient<double>(b, {784, 100, 100, 100, 10}, 256, 50);
  });
  add("gradient/2-50-50-5/B=64/n=100/float", [](auto& b) { gradient<float>(b, {2, 50, 50, 5}, 64, 100); });
  const auto add_step = [](const char* name, auto run) {
    benchmark::RegisterBenchmark(name, run)->Unit(benchmark::kMillisecond)->UseRealTime();
  };
  add_step("step/1-50-50-1/B=64/n=50/kde-WGD/float", [](auto& b) { step<float>(b, false); });
  add_step("step/1-50-50-1/B=64/n=50/kde-fWGD/float", [](auto& b) { step<float>(b, true); });
  return true;
}();

}  // namespace
