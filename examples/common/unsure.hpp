#pragma once

#include "gnuplot.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace example {

/// Draws NAME.png: the square pictures (a column of `inputs` each) whose class probabilities have the largest entropy, and
/// the probabilities below, with the true class in red.
inline bool draw_unsure(const std::string& name, const std::filesystem::path& out, const Eigen::MatrixXf& inputs,
                        const Eigen::VectorXi& labels, const Eigen::MatrixXf& probabilities,
                        const Eigen::VectorXd& entropy, const std::string& title) {
  using Eigen::Index;
  const std::filesystem::path data = out / (name + "-data");
  std::filesystem::create_directories(data);
  std::vector<Index> order(static_cast<std::size_t>(inputs.cols()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto shown = static_cast<Index>(std::min<std::size_t>(8, order.size()));
  std::partial_sort(order.begin(), order.begin() + shown, order.end(),
                    [&](Index a, Index b) { return entropy(a) > entropy(b); });
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(inputs.rows()))));
  float top = 0;
  std::ostringstream gp;
  gp << "set terminal pngcairo size " << 130 * shown << ",270 font 'DejaVu Sans,9'\nset output '" << name
     << ".png'\nset multiplot layout 2," << shown << " title '" << title
     << "'\nunset colorbox\nset palette gray negative\nunset key\nunset tics\nset border 0\n"
     << "set yrange [*:*] reverse\nset size ratio -1\nset cbrange [0:1]\n";
  for (Index k = 0; k < shown; ++k) {
    const Index i = order[static_cast<std::size_t>(k)];
    std::ostringstream pixels, bars;
    top = std::max(top, probabilities.col(i).maxCoeff());
    for (Index r = 0; r < side; ++r)
      for (Index c = 0; c < side; ++c) pixels << inputs(r * side + c, i) << (c + 1 < side ? ' ' : '\n');
    for (Index c = 0; c < probabilities.rows(); ++c)
      bars << c << ' ' << probabilities(c, i) << ' ' << (c == labels(i) ? 0xd62728 : 0x1f77b4) << '\n';
    write_file(data / ("picture" + std::to_string(k) + ".txt"), pixels.str());
    write_file(data / ("probabilities" + std::to_string(k) + ".txt"), bars.str());
    gp << "plot '" << name << "-data/picture" << k << ".txt' matrix with image\n";
  }
  gp << "set size noratio\nset border 1\nset xtics 0,3 nomirror scale 0\nset yrange [0:" << 1.05 * top
     << "] noreverse\nset xrange [-0.7:" << static_cast<double>(probabilities.rows()) - 0.3 << "]\n"
     << "set style fill solid 1 noborder\nset boxwidth 0.8\n";
  for (Index k = 0; k < shown; ++k)
    gp << "plot '" << name << "-data/probabilities" << k << ".txt' using 1:2:3 with boxes lc rgb variable\n";
  gp << "unset multiplot\n";
  return run_gnuplot(out, name, gp.str());
}

}  // namespace example
