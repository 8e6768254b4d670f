#pragma once

#include "comparison.hpp"
#include "gnuplot.hpp"

namespace example {

/// Draws NAME.png: every quantity of a comparison with its mean and the middle 90 %, the methods side by side.
inline bool draw_intervals(const std::string& name, const std::filesystem::path& out, const Comparison& comparison,
                           const std::string& title) {
  using detail::number;
  const std::filesystem::path data = out / (name + "-data");
  std::filesystem::create_directories(data);
  const auto& quantities = comparison.quantities();
  const auto& entries = comparison.entries();
  const char* colours[] = {"#999999", "#1f5fbf", "#d62728", "#2a9d5c"};
  std::string plot = "plot 0 with lines lc rgb '#bbbbbb' notitle";
  for (std::size_t m = 0; m < entries.size(); ++m) {
    const double shift = 0.17 * (static_cast<double>(m) - 0.5 * static_cast<double>(entries.size() - 1));
    std::string text;
    for (std::size_t q = 0; q < quantities.size(); ++q) {
      const auto k = static_cast<Eigen::Index>(q);
      const Comparison::Entry& e = entries[m];
      if (std::isnan(e.mean(k))) continue;
      text += number(static_cast<double>(q) + shift) + ' ' + number(e.mean(k)) + ' ' +
              number(std::isnan(e.low(k)) ? e.mean(k) : e.low(k)) + ' ' +
              number(std::isnan(e.high(k)) ? e.mean(k) : e.high(k)) + '\n';
    }
    write_file(data / (entries[m].method + ".txt"), text);
    plot += ", '" + name + "-data/" + entries[m].method +
            ".txt' using 1:2:3:4 with yerrorbars lw 2 pt 7 ps 1 lc rgb '" + colours[m % 4] + "' title '" +
            entries[m].method + "'";
  }
  std::ostringstream gp;
  gp << "set terminal pngcairo size 900,440 font 'DejaVu Sans,11'\nset output '" << name
     << ".png'\nset border 15 lc rgb '#666666'\nset tics out nomirror\nset errorbars small\nset title '" << title
     << "' offset 0,-0.5\nset key top right horizontal samplen 1 noenhanced\nset offsets 0,0,graph 0.12,0\nset xrange "
        "[-0.6:"
     << quantities.size() - 1 << ".6]\nset xtics (";
  for (std::size_t q = 0; q < quantities.size(); ++q) gp << (q == 0 ? "" : ",") << "\"" << quantities[q] << "\" " << q;
  gp << ") scale 0 noenhanced\n" << plot << '\n';
  return run_gnuplot(out, name, gp.str());
}

}  // namespace example
