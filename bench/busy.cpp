// What steps take on a busy machine: beside as many busy loops as there are cores, with one thread and with several,
// measured alternately; and the same with the loops stopped. A library that waits for its threads is many times slower
// with several of them on a busy machine than with one.

#include "roofline.hpp"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using repel::Index;
using Step = std::function<void()>;

/// Processes that do nothing but use their core, until it is destroyed.
class BusyLoops {
 public:
  explicit BusyLoops(int count) {
    for (int i = 0; i < count; ++i) {
      const pid_t child = fork();
      if (child == 0)
        for (volatile unsigned k = 0;;) k = k + 1;
      if (child > 0) children_.push_back(child);
    }
    usleep(200'000);  // until they have their cores
  }
  ~BusyLoops() {
    for (const pid_t child : children_) kill(child, SIGKILL), waitpid(child, nullptr, 0);
  }
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  std::vector<pid_t> children_;
};

template <class Rule>
std::function<Step(Index, Index)> steps_of(const Rule& rule) {
  return [rule](Index n, Index d) -> Step {
    auto sampler =
        repel::weight_space([](const auto& w, auto& g) { g = -w; }, rule, repel::Adam{.learning_rate = 1e-3});
    auto state =
        std::make_shared<decltype(sampler.init(repel::normal(d, n, 42)))>(sampler.init(repel::normal(d, n, 42)));
    return [sampler, state]() mutable { sampler.step(*state); };
  };
}

/// Seconds of a step, the mean over about `budget` seconds: waits are rare and long, so that a median would not see
/// them.
double mean_seconds(const Step& step, double budget) {
  const auto start = bench::Clock::now();
  Index steps = 0;
  do {
    step();
    ++steps;
  } while (bench::since(start) < budget);
  return bench::since(start) / static_cast<double>(steps);
}

struct Times {
  double one, several, ratio;
};

Times measure(const Step& step, int threads, int rounds, double budget) {
  std::vector<double> one, several, ratios;
  for (int r = 0; r < rounds; ++r) {
    repel::set_threads(1);
    one.push_back(mean_seconds(step, budget));
    repel::set_threads(threads);
    several.push_back(mean_seconds(step, budget));
    ratios.push_back(several.back() / one.back());
  }
  return {bench::median(one), bench::median(several), bench::median(ratios)};
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string usage =
      "usage: busy [--threads N] [--rounds R] [--seconds S]\n"
      "Times steps with one thread and with N [2], alternately, R [7] times S [0.5] seconds each, on the machine as it "
      "is and\n"
      "beside as many busy loops as it has cores.\n";
  int threads = 2, rounds = 7;
  double seconds = 0.5;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") return std::cout << usage, 0;
    if (i + 1 == argc || (word != "--threads" && word != "--rounds" && word != "--seconds")) {
      std::cerr << "busy: " << word << " is not an option, or lacks its value\n" << usage;
      return 2;
    }
    const double value = std::stod(argv[++i]);
    if (word == "--seconds")
      seconds = value;
    else
      (word == "--threads" ? threads : rounds) = std::max(1, static_cast<int>(value));
  }
  const auto cores = static_cast<int>(std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN)));
  const std::vector<std::pair<std::string, std::function<Step(Index, Index)>>> rules = {
      {"Svgd", steps_of(repel::Svgd{})},
      {"Kde", steps_of(repel::Wgd{repel::Kde{}})},
      {"Sge", steps_of(repel::Wgd{repel::Sge{}})}};
  std::printf("| rule | n, d | quiet: 1 thread | %d threads | ratio | busy: 1 thread | %d threads | ratio |\n", threads,
              threads);
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const auto& [name, make] : rules)
    for (const auto& [n, d] : {std::pair<Index, Index>{100, 2}, {500, 2}, {50, 2701}, {1000, 100}}) {
      const Step step = make(n, d);
      for (int i = 0; i < 3; ++i) step();  // the first steps allocate
      const Times quiet = measure(step, threads, rounds, seconds);
      const BusyLoops beside(cores);
      const Times busy = measure(step, threads, rounds, seconds);
      std::printf("| %s | %ld, %ld | %.3g ms | %.3g ms | %.2f | %.3g ms | %.3g ms | **%.2f** |\n", name.c_str(),
                  static_cast<long>(n), static_cast<long>(d), 1e3 * quiet.one, 1e3 * quiet.several, quiet.ratio,
                  1e3 * busy.one, 1e3 * busy.several, busy.ratio);
      std::fflush(stdout);
    }
} catch (const std::exception& error) {
  std::cerr << "busy: " << error.what() << '\n';
  return 1;
}
