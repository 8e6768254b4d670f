// SPDX-License-Identifier: MIT
#pragma once

#include <repel/benchmark/roofline.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

// The measurement itself: steps of one sampler, alternating with the machine's own rates and with steps of other samplers,
// because all of them change with whatever else the machine is doing.

namespace repel::bench {

/// Something that makes steps. start() makes a sampler and a state, and returns a function that steps them; it says
/// whether the step was finite.
struct Subject {
  std::string name;                              ///< of the line it prints
  std::function<std::function<bool()>()> start;  ///< see above
};

/// A subject of a sampler (of weight_space or function_space) and of a function that makes its initial particles.
template <class Sampler, class MakeParticles>
Subject subject(std::string name, Sampler sampler, MakeParticles make_particles) {
  return {std::move(name), [sampler = std::move(sampler), make_particles = std::move(make_particles)] {
            auto running = std::make_shared<Sampler>(sampler);
            auto state = std::make_shared<decltype(running->init(make_particles()))>(running->init(make_particles()));
            return std::function<bool()>([running, state] { return running->step(*state).finite; });
          }};
}

/// Memory that the program holds; 0 where the C library does not say.
inline double bytes_in_use() {
#ifdef __GLIBC__
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
#else
  return 0;
#endif
}

namespace detail {

inline std::function<bool()> started(const Subject& subject) {
  auto step = subject.start();
  for (int i = 0; i < 3; ++i) step();  // buffers find their size, the median its bracket
  return step;
}

/// Seconds of the median step, of steps for about this long: when other programs take the core away, single steps take
/// much longer, which the mean would show.
inline double seconds_per_step(const std::function<bool()>& step, double budget) {
  std::vector<double> times;
  const auto begin = Clock::now();
  do {
    const auto start = Clock::now();
    step();
    times.push_back(since(start));
  } while (since(begin) < budget);
  return median(std::move(times));
}

inline double median_or_zero(const std::vector<double>& values) { return values.empty() ? 0 : median(values); }

}  // namespace detail

/// The body of a benchmark with manual time. Its counters are
///   steps/s       of the subject; as all of these, by medians
///   of_roofline   the time that `work` takes at the machine's rates, over the time of a step
///   of_exp        the time of its kernel values alone, over the time of a step
///   of_NAME       the time of a step of each peer, over that of the subject: above 1, the subject is faster
///   bytes         held by the subject: particles, optimiser and buffers
template <class Scalar>
void measure(::benchmark::State& bench, const Subject& mine, const Work& work, const std::vector<Subject>& peers = {}) {
  const double before = bytes_in_use();
  const auto step = detail::started(mine);
  const double bytes = bytes_in_use() - before;
  std::vector<std::function<bool()>> others;
  for (const Subject& peer : peers) others.push_back(detail::started(peer));

  // In seconds: each peer takes a turn after each of the subject's; after a round the machine's rates are measured again.
  constexpr double kTurn = 0.02, kRound = 0.2;
  std::vector<double> times, turn, of_roofline, of_exp;
  std::vector<std::vector<double>> of_peers(peers.size());
  double spent = 0;
  auto roofline = Roofline<Scalar>::measure();
  const auto end_turn = [&] {
    const double seconds = median(turn);
    times.push_back(seconds);
    of_roofline.push_back(roofline.seconds(work) / seconds);
    of_exp.push_back(work.exps / roofline.exps / seconds);
    for (std::size_t i = 0; i < others.size(); ++i)
      of_peers[i].push_back(detail::seconds_per_step(others[i], kTurn) / seconds);
    turn.clear();
  };
  double turn_spent = 0;
  for (auto _ : bench) {
    const auto start = Clock::now();
    const bool finite = step();
    const double seconds = since(start);
    bench.SetIterationTime(seconds);
    if (!finite) {
      bench.SkipWithError("a step is not finite");
      break;
    }
    turn.push_back(seconds);
    turn_spent += seconds;
    if (turn_spent < kTurn) continue;
    end_turn();
    spent += std::exchange(turn_spent, 0.0);
    if (spent > kRound) {
      roofline = Roofline<Scalar>::measure();
      spent = 0;
    }
  }
  if (times.empty() && !turn.empty()) end_turn();

  using ::benchmark::Counter;
  bench.counters["steps/s"] = times.empty() ? 0 : 1 / median(times);
  bench.counters["of_roofline"] = detail::median_or_zero(of_roofline);
  bench.counters["of_exp"] = detail::median_or_zero(of_exp);
  for (std::size_t i = 0; i < peers.size(); ++i)
    bench.counters["of_" + peers[i].name] = detail::median_or_zero(of_peers[i]);
  bench.counters["bytes"] = Counter(bytes, Counter::kDefaults, Counter::kIs1024);
}

}  // namespace repel::bench
