// The speed-up of a step with several threads, next to that of as many independent loops: exponentials of numbers in
// each core's nearest cache, which share nothing. Both are measured alternately. On a shared machine even the latter is
// often less than the number of cores.

#include "roofline.hpp"

#include <algorithm>
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

double seconds(const Step& step) {
  const auto start = bench::Clock::now();
  step();
  return bench::since(start);
}

/// Exponentials in `pieces` pieces that share nothing.
Step own_work(Index pieces) {
  using Array = Eigen::ArrayXd;
  auto u = std::make_shared<std::vector<Array>>(static_cast<std::size_t>(pieces), Array::LinSpaced(1024, 0, 20));
  return [u, pieces] {
    repel::detail::parallel_for(pieces, 1e9, [&](Index piece) {
      Array& mine = (*u)[static_cast<std::size_t>(piece)];
      Array k(mine.size());
      for (Index r = 0; r < 5000; ++r) {
        k = repel::exp_minus(mine);
        mine(r % mine.size()) = k(0);  // so that no round can be left out
      }
    });
  };
}

template <class Rule>
Step step_of(const Rule& rule, Index n, Index d) {
  auto target = repel::per_particle([](const auto& w, auto& g) { g = -w; });
  auto sampler = repel::weight_space(target, rule, repel::Adam{.learning_rate = 1e-3});
  auto state = std::make_shared<decltype(sampler.init(repel::normal(d, n, 42)))>(sampler.init(repel::normal(d, n, 42)));
  return [sampler, state]() mutable { sampler.step(*state); };
}

struct Case {
  std::string rule;
  Index n, d;
  std::function<Step(Index, Index)> make;
};

}  // namespace

int main(int argc, char** argv) try {
  const std::string usage =
      "usage: threads [--threads N] [--rounds R] [--only TEXT]\n"
      "Times steps with one thread and with N [2], alternately, R [15] times each, and prints the medians and the\n"
      "ratio of the two beside what the machine gives to work that shares nothing. --only: rows that contain TEXT.\n";
  int threads = 2, rounds = 15;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") return std::cout << usage, 0;
    if (i + 1 == argc || (word != "--threads" && word != "--rounds" && word != "--only")) {
      std::cerr << "threads: " << word << " is not an option, or lacks its value\n" << usage;
      return 2;
    }
    const std::string value = argv[++i];
    if (word == "--only")
      only = value;
    else
      (word == "--threads" ? threads : rounds) = std::max(1, std::stoi(value));
  }

  using Make = std::function<Step(Index, Index)>;
  const auto rule = [](auto value) -> Make { return [value](Index n, Index d) { return step_of(value, n, d); }; };
  const Make svgd = rule(repel::Svgd{}), kde = rule(repel::Wgd{repel::Kde{}}), sge = rule(repel::Wgd{repel::Sge{}}),
             ssge = rule(repel::Wgd{repel::Ssge{}}), blob = rule(repel::Wgd{repel::Blob{}}),
             laplace = rule(repel::Wgd{repel::Kde{repel::Laplace{}}});
  std::vector<Case> cases;
  for (const auto& [n, d] : {std::pair<Index, Index>{5000, 2}, {1000, 100}, {1000, 1000}, {20000, 10}}) {
    cases.push_back({"Svgd", n, d, svgd});
    cases.push_back({"Kde", n, d, kde});
    if (n == 20000) continue;
    cases.push_back({"Blob", n, d, blob});
    cases.push_back({"Laplace-Kde", n, d, laplace});
    if (n == 5000) continue;  // a Cholesky factor of 200 MB
    cases.push_back({"Sge", n, d, sge});
    cases.push_back({"Ssge", n, d, ssge});
  }

  const Step own = own_work(threads);
  std::printf("| rule | n, d | 1 thread | %d threads | ratio | the machine's own |\n", threads);
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  for (const Case& c : cases) {
    const std::string name = c.rule + " " + std::to_string(c.n) + ", " + std::to_string(c.d);
    if (name.find(only) == std::string::npos) continue;
    const Step step = c.make(c.n, c.d);
    std::vector<double> one, several, ratios, own_ratios;
    for (int r = -1; r < rounds; ++r) {
      repel::set_threads(1);
      const double a = seconds(step), own_a = seconds(own);
      repel::set_threads(threads);
      const double b = seconds(step), own_b = seconds(own);
      if (r < 0) continue;  // the first steps allocate
      one.push_back(a), several.push_back(b), ratios.push_back(a / b), own_ratios.push_back(own_a / own_b);
    }
    std::printf("| %s | %ld, %ld | %.3g ms | %.3g ms | **%.2f** | %.2f |\n", c.rule.c_str(), static_cast<long>(c.n),
                static_cast<long>(c.d), 1e3 * bench::median(one), 1e3 * bench::median(several), bench::median(ratios),
                bench::median(own_ratios));
    std::fflush(stdout);
  }
} catch (const std::exception& error) {
  std::cerr << "threads: " << error.what() << '\n';
  return 1;
}
