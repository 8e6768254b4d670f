// Time and memory of a step against the number of particles (in 2-D) and against the dimension (for 50 particles), as a
// table and a picture.

#include "../examples/common/gnuplot.hpp"
#include "roofline.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace {

using repel::Index;

struct Measured {
  double seconds, bytes;
};
using Measure = std::function<Measured(Index n, Index d)>;

double bytes_in_use() {
#ifdef __GLIBC__
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
#else
  return std::nan("");
#endif
}

template <class Rule>
Measure measure(const Rule& rule) {
  return [rule](Index n, Index d) {
    const double before = bytes_in_use();
    auto sampler =
        repel::weight_space([](const auto& w, auto& g) { g = -w; }, rule, repel::Adam{.learning_rate = 1e-3});
    auto state = sampler.init(repel::normal(d, n, 42));
    for (int i = 0; i < 2; ++i) sampler.step(state);
    std::vector<double> times;
    double spent = 0;
    while (times.size() < 3 || (spent < 0.2 && times.size() < 1000)) {
      const auto start = bench::Clock::now();
      sampler.step(state);
      times.push_back(bench::since(start));
      spent += times.back();
      if (spent > 20) break;
    }
    return Measured{bench::median(times), bytes_in_use() - before};
  };
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string usage =
      "usage: scaling [--out DIR] [--large]\n"
      "Times a step against n (d = 2) and against d (n = 50), and draws scaling.png into DIR\n"
      "[scaling-out]. --large goes on to 100 000 particles (some minutes).\n";
  std::filesystem::path out = "scaling-out";
  bool large = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") return std::cout << usage, 0;
    if (word == "--large") {
      large = true;
    } else if (word == "--out" && i + 1 < argc) {
      out = argv[++i];
    } else {
      std::cerr << "scaling: unknown argument " << word << '\n' << usage;
      return 2;
    }
  }
  using namespace repel;
  const std::vector<std::pair<std::string, Measure>> rules = {{"PlainEnsemble", measure(PlainEnsemble{})},
                                                              {"Svgd", measure(Svgd{})},
                                                              {"Kde", measure(Wgd{Kde{}})},
                                                              {"Blob", measure(Wgd{Blob{}})},
                                                              {"LaplaceKde", measure(Wgd{Kde{Laplace{}}})},
                                                              {"Sge", measure(Wgd{Sge{}})},
                                                              {"Ssge", measure(Wgd{Ssge{}})}};
  example::Table table({"rule", "n", "d", "seconds", "bytes"});
  std::string data;
  const auto run = [&](const std::vector<std::pair<Index, Index>>& sizes, bool by_n) {
    for (const auto& [name, rule] : rules) {
      for (const auto& [n, d] : sizes) {
        const bool solves = name == "Sge" || name == "Ssge";
        if (solves && n > (large ? 20000 : 2000)) continue;
        const Measured m = rule(n, d);
        table.add({name, std::to_string(n), std::to_string(d), example::detail::number(m.seconds),
                   example::detail::number(m.bytes)});
        data += std::to_string(by_n ? n : d) + " " + example::detail::number(m.seconds) + " " +
                example::detail::number(m.bytes) + "\n";
        std::cout << name << " n " << n << " d " << d << ": " << m.seconds << " s" << std::endl;
      }
      data += "\n\n";
    }
  };
  std::vector<std::pair<Index, Index>> by_n = {{50, 2},   {100, 2},  {200, 2},  {500, 2},
                                               {1000, 2}, {2000, 2}, {5000, 2}, {10000, 2}};
  if (large) by_n.insert(by_n.end(), {{20000, 2}, {50000, 2}, {100000, 2}});
  run(by_n, true);
  run({{50, 2}, {50, 8}, {50, 16}, {50, 17}, {50, 50}, {50, 200}, {50, 1000}, {50, 5000}, {50, 20000}, {50, 100000}},
      false);
  table.write(out);
  example::write_file(out / "scaling.dat", data);
  std::string script =
      "set terminal pngcairo size 1200,900 font 'DejaVu Sans,11'\nset output 'scaling.png'\nset multiplot layout 2,2\n"
      "set logscale xy\nset format x '10^{%L}'\nset format y '10^{%L}'\nset grid\nset key left top\n";
  const auto panel = [&](const std::string& title, const std::string& xlabel, const std::string& ylabel,
                         std::size_t first, int column) {
    script += "set title '" + title + "'\nset xlabel '" + xlabel + "'\nset ylabel '" + ylabel + "'\nplot ";
    for (std::size_t r = 0; r < rules.size(); ++r)
      script += std::string(r > 0 ? ", " : "") + "'scaling.dat' index " + std::to_string(first + r) +
                " using 1:" + std::to_string(column) + " with linespoints pt 7 ps 0.6 lw 1.5 title '" + rules[r].first +
                "'";
    script += "\n";
  };
  panel("Time of a step, d = 2, double", "particles n", "seconds", 0, 2);
  panel("Memory held, d = 2, double", "particles n", "bytes", 0, 3);
  panel("Time of a step, n = 50, double", "dimension d", "seconds", rules.size(), 2);
  panel("Memory held, n = 50, double", "dimension d", "bytes", rules.size(), 3);
  script += "unset multiplot\n";
  example::run_gnuplot(out, "scaling", script);
  return 0;
} catch (const std::exception& error) {
  std::cerr << "scaling: " << error.what() << '\n';
  return 1;
}
