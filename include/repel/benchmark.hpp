// SPDX-License-Identifier: MIT
#pragma once

#include <repel/benchmark/roofline.hpp>
#include <repel/benchmark/subject.hpp>
#include <repel/benchmark/work.hpp>
#include <repel/bnn.hpp>
#include <repel/repel.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// repel's benchmarks with your own kernel, estimator, rule, target or network. Needs Google Benchmark; in CMake:
//
//   target_link_libraries(mine PRIVATE repel::benchmark)      # there if find_package(benchmark) finds it
//
//   #include <repel/benchmark.hpp>
//
//   int main(int argc, char** argv) {
//     repel::set_threads(0);                                               // all cores, or as you will use it
//     repel::bench::add_rule("Svgd<Cauchy>", repel::Svgd{Cauchy{}});
//     repel::bench::add_rule<float>("Wgd<MyEstimator>", repel::Wgd{MyEstimator{}}, {.sizes = {{50, 2701}}});
//     repel::bench::add_target("my model", my_target, /*dim=*/10);
//     repel::bench::add_posterior("my network", posterior);                // a Bnn
//     return repel::bench::run(argc, argv);                                // options: --help
//   }
//
// Each prints steps/s, of_roofline and the ratios to bundled policies, measured in alternation (benchmark/subject.hpp).
// Compile for your processor (-O2 -march=…): a ratio to the roofline of slow code says little.

namespace repel::bench {

/// How many particles of how many coordinates.
struct Size {
  Index particles;  ///< how many
  Index dim;        ///< of how many coordinates
};

/// What add_rule() measures.
struct RuleOptions {
  std::vector<Size> sizes{{100, 2}, {1000, 2}, {100, 1000}, {1000, 100}};  ///< a line each
  /// Of a step, where the default, of the nearest bundled rule, is not right.
  std::function<Work(Index particles, Index dim)> work{};
  bool compare = true;  ///< with SVGD and with WGD by kernel density estimates
};

/// What add_target() measures.
struct TargetOptions {
  std::vector<Index> particles{100};  ///< how many, a line each
  /// Of a gradient for all particles; that of the rule is added.
  std::function<Work(Index particles)> work{};
};

/// What add_posterior() measures.
struct PosteriorOptions {
  std::vector<Index> particles{20};  ///< how many members, a line each
  /// Of a gradient, per parameter and data point: a dense layer multiplies and adds once forward and twice backward.
  double flops = 6;
};

namespace detail {

/// A target that costs next to nothing, so that the rest of the step is what is measured.
struct StandardNormal {
  void operator()(const auto& w, auto& g) const { g = -w; }
};

inline auto* prepared(::benchmark::internal::Benchmark* bench) {
  return bench->Unit(::benchmark::kMicrosecond)->UseManualTime();
}

inline Work sum(const Work& a, const Work& b) { return {a.exps + b.exps, a.flops + b.flops, a.bytes + b.bytes}; }

/// A multilayer perceptron with one hidden layer and about as many parameters.
template <class Network>
Mlp similar_mlp(const Network& network) {
  const Index in = network.inputs(), out = network.outputs();
  return Mlp({in, std::max<Index>(1, (network.parameters() - out) / (in + out + 1)), out});
}

}  // namespace detail

/// Steps of a rule in weight space with Adam, on a target that costs next to nothing. of_Svgd and of_Kde compare it with
/// the bundled Svgd{} and Wgd{Kde{}} at the same size.
template <class Scalar = double, class Rule>
::benchmark::internal::Benchmark* add_rule(const std::string& name, const Rule& rule, const RuleOptions& options = {}) {
  auto* bench = ::benchmark::RegisterBenchmark(name.c_str(), [rule, options](::benchmark::State& state) {
    const auto n = static_cast<Index>(state.range(0)), d = static_cast<Index>(state.range(1));
    const auto of = [n, d](const char* label, const auto& r) {
      return subject(label, weight_space(detail::StandardNormal{}, r, Adam{.learning_rate = 1e-3}),
                     [n, d] { return normal<Scalar>(d, n, 42); });
    };
    std::vector<Subject> peers;
    if (options.compare) peers = {of("Svgd", Svgd{}), of("Kde", Wgd{Kde{}})};
    const Work work = options.work ? options.work(n, d) : step_work<Scalar>(kRuleKind<Rule>, n, d);
    measure<Scalar>(state, of("mine", rule), work, peers);
  });
  detail::prepared(bench)->ArgNames({"n", "d"});
  for (const Size& size : options.sizes) bench->Args({size.particles, size.dim});
  return bench;
}

/// Steps of WGD with a kernel density estimate on your target, of particles of `dim` coordinates. of_free compares it with
/// a target that costs next to nothing: the share of the step that is not your gradient.
template <class Scalar = double, class T>
::benchmark::internal::Benchmark* add_target(const std::string& name, const T& target, Index dim,
                                             const TargetOptions& options = {}) {
  auto* bench = ::benchmark::RegisterBenchmark(name.c_str(), [target, dim, options](::benchmark::State& state) {
    const auto n = static_cast<Index>(state.range(0));
    const auto of = [n, dim](const char* label, const auto& t) {
      return subject(label, weight_space(t, Wgd{Kde{}}, Adam{.learning_rate = 1e-3}),
                     [n, dim] { return normal<Scalar>(dim, n, 42); });
    };
    const Work rule = step_work<Scalar>(RuleKind::kde, n, dim);
    measure<Scalar>(state, of("mine", target), options.work ? detail::sum(rule, options.work(n)) : rule,
                    {of("free", detail::StandardNormal{})});
  });
  detail::prepared(bench)->ArgNames({"n"});
  for (const Index n : options.particles) bench->Args({n});
  return bench;
}

/// Steps of WGD with a kernel density estimate in weight space on a Bnn, such as one with a network of your own. of_Mlp
/// compares it with an Mlp of one hidden layer and about as many parameters on the same data.
template <class N, class L, class Prior, class Scalar>
::benchmark::internal::Benchmark* add_posterior(const std::string& name, const Bnn<N, L, Prior, Scalar>& posterior,
                                                const PosteriorOptions& options = {}) {
  auto* bench = ::benchmark::RegisterBenchmark(name.c_str(), [posterior, options](::benchmark::State& state) {
    const auto n = static_cast<Index>(state.range(0));
    const auto of = [n](const char* label, const auto& p) {
      return subject(label, weight_space(p.target(), Wgd{Kde{}}, Adam{.learning_rate = 1e-3}),
                     [n, p] { return p.prior_draws(n, 42); });
    };
    const Bnn mlp(detail::similar_mlp(posterior.network()), posterior.likelihood(), NormalPrior{1.0},
                  posterior.inputs(), posterior.targets(), posterior.minibatch());
    const Index size = posterior.minibatch().size, points = size > 0 ? size : posterior.inputs().cols();
    Work work = step_work<Scalar>(RuleKind::kde, n, posterior.dim());
    work.flops += options.flops * static_cast<double>(posterior.network().parameters()) * static_cast<double>(points) *
                  static_cast<double>(n);
    measure<Scalar>(state, of("mine", posterior), work, {of("Mlp", mlp)});
  });
  detail::prepared(bench)->ArgNames({"n"});
  for (const Index n : options.particles) bench->Args({n});
  return bench;
}

/// Steps of any sampler, against any peers.
template <class Scalar = double>
::benchmark::internal::Benchmark* add(const Subject& mine, const Work& work, const std::vector<Subject>& peers = {}) {
  return detail::prepared(::benchmark::RegisterBenchmark(
      mine.name.c_str(), [=](::benchmark::State& state) { measure<Scalar>(state, mine, work, peers); }));
}

/// Runs what was added, with Google Benchmark's options from the command line. 0 if all went well: for main to return.
inline int run(int argc, char** argv) {
  ::benchmark::Initialize(&argc, argv);
  if (::benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  const bool any = ::benchmark::RunSpecifiedBenchmarks() > 0;
  ::benchmark::Shutdown();
  return any ? 0 : 1;
}

}  // namespace repel::bench
