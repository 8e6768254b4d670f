// The steps that torch_steps.py takes, taken by repel. Reads lines "rule scalar n d seconds" from standard input; for
// each, takes steps for about that long (three at least) and prints the median time of a step in seconds.

#include <repel/repel.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;
using Run = std::function<double(repel::Index n, repel::Index d, double seconds)>;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

template <class Scalar, class Rule>
Run steps_of(const Rule& rule) {
  return [rule](repel::Index n, repel::Index d, double seconds) {
    // The gradient of a standard normal log density; of long particles one by one, in threads, as PyTorch forms it.
    auto target = [](const auto& w, auto& g) {
      auto one = repel::per_particle([](const auto& particle, auto& gradient) { gradient = -particle; });
      if (w.rows() > 100)
        one(w, g);
      else
        g = -w;
    };
    auto sampler = repel::weight_space(target, rule, repel::Adam{.learning_rate = 1e-3});
    auto state = sampler.init(repel::normal<Scalar>(d, n, 42));
    std::vector<double> times;
    const auto begin = Clock::now();
    while (times.size() < 4 || since(begin) < seconds) {
      const auto start = Clock::now();
      sampler.step(state);
      times.push_back(since(start));
    }
    times.erase(times.begin());
    std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
    return times[times.size() / 2];
  };
}

template <class Scalar>
void add(std::map<std::string, Run>& runs, const std::string& scalar) {
  runs["Svgd " + scalar] = steps_of<Scalar>(repel::Svgd{});
  runs["Kde " + scalar] = steps_of<Scalar>(repel::Wgd{repel::Kde{}});
  runs["Sge " + scalar] = steps_of<Scalar>(repel::Wgd{repel::Sge{}});
  runs["Ssge " + scalar] = steps_of<Scalar>(repel::Wgd{repel::Ssge{}});
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 1;
#ifdef _OPENMP
  threads = argc > 1 ? std::stoi(argv[1]) : 2;
  omp_set_num_threads(threads);
#else
  (void)argc, (void)argv;
#endif
  std::cout << "ready repel threads " << threads << std::endl;
  std::map<std::string, Run> runs;
  add<double>(runs, "double");
  add<float>(runs, "float");
  std::string rule, scalar;
  repel::Index n = 0, d = 0;
  double seconds = 0;
  while (std::cin >> rule >> scalar >> n >> d >> seconds)
    std::cout << runs.at(rule + " " + scalar)(n, d, seconds) << std::endl;
}
