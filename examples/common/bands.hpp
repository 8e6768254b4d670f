#pragma once

#include "gnuplot.hpp"

#include <Eigen/Core>

#include <algorithm>

namespace example {

/// A prediction of y for every x of a grid.
struct Band {
  std::string title;
  Eigen::RowVectorXd mean, sd;
};

/// Draws NAME.png: a panel per prediction with its mean, ±1, 2, 3 standard deviations and the data; `truth` is a
/// formula in x for a dashed line.
inline bool draw_bands(const std::string& name, const std::filesystem::path& out, const Eigen::RowVectorXd& x,
                       const Eigen::RowVectorXd& y, const Eigen::RowVectorXd& grid, const std::vector<Band>& bands,
                       double y_low, double y_high, const std::string& truth) {
  using detail::number;
  const std::filesystem::path data = out / (name + "-data");
  std::filesystem::create_directories(data);
  std::string text;
  for (Eigen::Index i = 0; i < x.size(); ++i) text += number(x(i)) + ' ' + number(y(i)) + '\n';
  write_file(data / "data.txt", text);
  if (bands.empty()) return false;
  const int columns = panel_columns(bands.size());
  const int rows = (static_cast<int>(bands.size()) + columns - 1) / columns;
  std::ostringstream gp;
  const int width = std::max(660, 330 * columns), height = std::max(400, 270 * rows);
  gp << "set terminal pngcairo size " << width << ',' << height << " font 'DejaVu Sans,10'\nset output '" << name
     << ".png'\nset multiplot layout " << rows << ',' << columns << panel_margins(width, height, 48, 16, 38, 36, 50, 66)
     << "\nunset key\n"
     << "set xrange [" << grid.minCoeff() << ':' << grid.maxCoeff() << "]\nset yrange [" << y_low << ':' << y_high
     << "]\nset border 15 lc rgb '#666666'\nset tics out nomirror\nset samples 200\n";
  for (const Band& band : bands) {
    text.clear();
    for (Eigen::Index i = 0; i < grid.size(); ++i)
      text += number(grid(i)) + ' ' + number(band.mean(i)) + ' ' + number(band.sd(i)) + '\n';
    write_file(data / (band.title + ".txt"), text);
    const std::string file = "'" + name + "-data/" + band.title + ".txt'";
    gp << "set title '" << band.title << "' font ',13' offset 0,-0.6\nplot ";
    for (const int k : {3, 2, 1})
      gp << file << " using 1:($2-" << k << "*$3):($2+" << k << "*$3) with filledcurves fs solid noborder lc rgb '"
         << (k == 3   ? "#dce8f5"
             : k == 2 ? "#b9d2ec"
                      : "#8db6df")
         << "', ";
    gp << truth << " with lines dt 2 lc rgb '#444444', " << file << " using 1:2 with lines lw 2 lc rgb '#1f5fbf', '"
       << name << "-data/data.txt' using 1:2 with points pt 7 ps 0.35 lc rgb '#d62728'\n";
  }
  gp << "unset multiplot\n";
  return run_gnuplot(out, name, gp.str());
}

}  // namespace example
