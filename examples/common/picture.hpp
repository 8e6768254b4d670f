#pragma once

#include "gnuplot.hpp"
#include "methods.hpp"

#include <cmath>
#include <functional>
#include <numbers>

// The picture of a 2-D example, drawn by gnuplot: a panel per method with the particles over the contours of the
// target's density, and the marginals of both on the top and on the right.

namespace example {

struct Density2d {
  std::function<double(double x, double y)> log_density;  ///< up to a constant
  std::function<double(double x)> marginal_x;
  std::function<double(double y)> marginal_y;
  double x_low, x_high, y_low, y_high;  ///< the part to show
  std::vector<double> levels;           ///< contours of log_density
};

namespace detail {

/// Gaussian kernel density estimate of one coordinate, with Silverman's bandwidth. Particles that have collapsed onto a
/// point are drawn as a narrow bump of 1 % of the window.
inline std::string marginal_of_particles(const Eigen::VectorXd& values, double low, double high) {
  constexpr int points = 200;
  const auto n = static_cast<double>(values.size());
  const double sd = std::sqrt((values.array() - values.mean()).square().sum() / std::max(1.0, n - 1));
  const double width = std::max(1.06 * sd * std::pow(n, -0.2), 0.01 * (high - low));
  std::string text;
  for (int i = 0; i <= points; ++i) {
    const double at = low + (high - low) * i / points;
    const double density =
        (-0.5 * ((values.array() - at) / width).square()).exp().sum() / (n * width * std::sqrt(2 * std::numbers::pi));
    text += number(at) + ' ' + number(density) + '\n';
  }
  return text;
}

inline std::string tabulate(const std::function<double(double)>& f, double low, double high) {
  constexpr int points = 200;
  std::string text;
  for (int i = 0; i <= points; ++i) {
    const double at = low + (high - low) * i / points;
    text += number(at) + ' ' + number(f(at)) + '\n';
  }
  return text;
}

inline double largest(const std::function<double(double)>& f, double low, double high) {
  double top = 0;
  for (int i = 0; i <= 200; ++i) top = std::max(top, f(low + (high - low) * i / 200));
  return top;
}

}  // namespace detail

/// Writes data files and a gnuplot script into options.out and draws NAME.png there. Returns false, with a word to the
/// user, where there is no gnuplot.
inline bool draw_panels(const std::string& name, const std::filesystem::path& out, const Density2d& density,
                        const std::vector<Result>& results) {
  const auto& d = density;
  const std::filesystem::path data = out / (name + "-data");
  std::filesystem::create_directories(data);

  // The target: log density on a grid, and its marginals.
  constexpr int cells = 160;
  std::string grid;
  for (int i = 0; i <= cells; ++i) {
    const double x = d.x_low + (d.x_high - d.x_low) * i / cells;
    for (int j = 0; j <= cells; ++j) {
      const double y = d.y_low + (d.y_high - d.y_low) * j / cells;
      grid += detail::number(x) + ' ' + detail::number(y) + ' ' + detail::number(d.log_density(x, y)) + '\n';
    }
    grid += '\n';
  }
  write_file(data / "density.txt", grid);
  write_file(data / "marginal-x.txt", detail::tabulate(d.marginal_x, d.x_low, d.x_high));
  write_file(data / "marginal-y.txt", detail::tabulate(d.marginal_y, d.y_low, d.y_high));
  for (const Result& result : results) {
    std::string text;
    for (repel::Index j = 0; j < result.particles.cols(); ++j)
      text += detail::number(result.particles(0, j)) + ' ' + detail::number(result.particles(1, j)) + '\n';
    write_file(data / (result.method + ".txt"), text);
    write_file(data / (result.method + "-x.txt"),
               detail::marginal_of_particles(result.particles.row(0).transpose(), d.x_low, d.x_high));
    write_file(data / (result.method + "-y.txt"),
               detail::marginal_of_particles(result.particles.row(1).transpose(), d.y_low, d.y_high));
  }

  // The script, with paths relative to the output folder.
  const int columns = static_cast<int>(std::min<std::size_t>(3, results.size()));
  const int rows = (static_cast<int>(results.size()) + columns - 1) / columns;
  const std::string folder = name + "-data/";
  std::ostringstream gp;
  gp << "set terminal pngcairo size " << 400 * columns << ',' << 400 * rows << " font 'DejaVu Sans,10'\n"
     << "set contour base\nunset surface\nset view map\n"
     << "set cntrparam levels discrete ";
  for (std::size_t i = 0; i < d.levels.size(); ++i) gp << (i == 0 ? "" : ",") << d.levels[i];
  gp << "\nset cntrparam bspline\nset table '" << folder << "contours.txt'\n"
     << "splot '" << folder << "density.txt' using 1:2:3 notitle\n"
     << "unset table\nunset contour\nset surface\n"
     << "set output '" << name << ".png'\nset multiplot\nunset key\n";
  const auto margins = [&](double left, double right, double bottom, double top) {
    gp << "set lmargin at screen " << left << "\nset rmargin at screen " << right << "\nset bmargin at screen "
       << bottom << "\nset tmargin at screen " << top << '\n';
  };
  const double width = 1.0 / columns, height = 1.0 / rows;
  const double x_top = 1.6 * detail::largest(d.marginal_x, d.x_low, d.x_high);
  const double y_top = 1.6 * detail::largest(d.marginal_y, d.y_low, d.y_high);
  for (std::size_t p = 0; p < results.size(); ++p) {
    const std::string method = results[p].method, file = folder + method;
    const double left = (static_cast<int>(p) % columns + 0.10) * width;
    const double bottom = 1 - (static_cast<int>(p) / columns + 1) * height + 0.09 * height;
    const double inner_right = left + 0.68 * width, inner_top = bottom + 0.66 * height;
    gp << "\n# " << method << "\nset border 15 lc rgb '#666666'\nset tics out nomirror\nset format '%g'\n";
    margins(left, inner_right, bottom, inner_top);
    gp << "set xrange [" << d.x_low << ':' << d.x_high << "]\nset yrange [" << d.y_low << ':' << d.y_high << "]\n"
       << "set title\nplot '" << folder << "contours.txt' using 1:2 with lines lc rgb '#d62728' lw 1 dt 1, '" << file
       << ".txt' using 1:2 with points pt 7 ps 0.55 lc rgb '#1f5fbf'\n"
       << "set border 1\nunset ytics\nset format x ''\nset xtics scale 0.4\n";
    margins(left, inner_right, inner_top + 0.01 * height, inner_top + 0.17 * height);
    gp << "set yrange [0:" << x_top << "]\nset title '" << (method == "MAP" ? "MAP (plain ensemble)" : method)
       << "' offset 0,-0.5 font ',13'\nplot '" << folder << "marginal-x.txt' with lines lc rgb '#d62728' lw 1.5, '"
       << file << "-x.txt' with filledcurves y1=0 fs solid 0.25 lc rgb '#1f5fbf', '" << file
       << "-x.txt' with lines lc rgb '#1f5fbf' lw 1.5\nset title\nset border 2\nunset xtics\n";
    margins(inner_right + 0.01 * width, inner_right + 0.17 * width, bottom, inner_top);
    gp << "set xrange [0:" << y_top << "]\nset yrange [" << d.y_low << ':' << d.y_high << "]\nplot '" << folder
       << "marginal-y.txt' using 2:1 with lines lc rgb '#d62728' lw 1.5, '" << file
       << "-y.txt' using 2:1 with filledcurves x1=0 fs solid 0.25 lc rgb '#1f5fbf', '" << file
       << "-y.txt' using 2:1 with lines lc rgb '#1f5fbf' lw 1.5\nset xtics\nset ytics\n";
  }
  gp << "\nunset multiplot\n";
  return run_gnuplot(out, name, gp.str());
}

}  // namespace example
