#pragma once

// What compare.py talks to. Reads lines "name scalar n d seconds" from standard input; for each, takes steps for about
// that long (three at least) and prints the median time of a step in seconds.

#include <repel/core/types.hpp>

#include "../roofline.hpp"

#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace peers {

/// Takes one step.
using Step = std::function<void()>;
/// Sets everything up for n particles.
using Setup = std::function<Step(repel::Index n, repel::Index d)>;

inline double time_steps(const Step& step, double seconds) {
  std::vector<double> times;
  const auto begin = bench::Clock::now();
  while (times.size() < 4 || bench::since(begin) < seconds) {
    const auto start = bench::Clock::now();
    step();
    times.push_back(bench::since(start));
  }
  times.erase(times.begin());
  return bench::median(times);
}

/// `setups` by name and scalar, as in "Svgd double".
inline void serve(int argc, char** argv, const std::map<std::string, Setup>& setups) {
  const int threads = argc > 1 ? std::stoi(argv[1]) : 2;
  repel::set_threads(threads);
  std::cout << "ready repel threads " << threads << std::endl;
  std::string name, scalar;
  repel::Index n = 0, d = 0;
  double seconds = 0;
  while (std::cin >> name >> scalar >> n >> d >> seconds)
    std::cout << time_steps(setups.at(name + " " + scalar)(n, d), seconds) << std::endl;
}

}  // namespace peers
