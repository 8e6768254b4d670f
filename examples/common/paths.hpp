#pragma once

#include "comparison.hpp"
#include "gnuplot.hpp"

#include <cmath>
#include <functional>

namespace example {

/// A path in the plane: 2×(points), and the number of its colour.
using Path = std::pair<Eigen::MatrixXd, int>;

struct PathPanel {
  std::string title;
  std::vector<Path> paths;
};

/// A panel with the path of every draw, or of `count` of them.
inline PathPanel paths_of(const std::string& title, const Eigen::MatrixXd& draws, Eigen::Index count,
                          const std::function<Path(const Eigen::VectorXd&)>& path) {
  PathPanel panel{title, {}};
  for (Eigen::Index j = 0; j < draws.cols();
       j += std::max<Eigen::Index>(1, draws.cols() / std::max<Eigen::Index>(1, count)))
    panel.paths.push_back(path(draws.col(j)));
  return panel;
}

/// The panels of all methods of a comparison.
inline std::vector<PathPanel> paths_of(const Comparison& comparison, Eigen::Index count,
                                       const std::function<Path(const Eigen::VectorXd&)>& path) {
  std::vector<PathPanel> panels;
  for (const Comparison::Entry& e : comparison.entries())
    if (e.draws.size() > 0) panels.push_back(paths_of(e.method, e.draws, count, path));
  return panels;
}

/// The straight line w_0 + w_1 x + w_2 y = 0.
inline Path line(const Eigen::VectorXd& w, int colour) {
  const Eigen::Vector2d normal = w.tail(2), foot = -w(0) / normal.squaredNorm() * normal;
  const Eigen::Vector2d along = 100 * Eigen::Vector2d(normal(1), -normal(0)).normalized();
  return {(Eigen::MatrixXd(2, 2) << foot - along, foot + along).finished(), colour};
}

/// The part of the plane to show.
struct Window {
  double x_low, x_high, y_low, y_high;
};

/// Draws NAME.png: the panels side by side, over the same points, whose rows are x, y and the number of their colour;
/// `commands` is what else gnuplot should do first.
inline bool draw_paths(const std::string& name, const std::filesystem::path& out, const std::vector<PathPanel>& panels,
                       const Eigen::MatrixXd& points, const Window& window, const std::string& commands = "") {
  using detail::number;
  const std::filesystem::path data = out / (name + "-data");
  std::filesystem::create_directories(data);
  if (panels.empty()) return false;
  const char* colours[] = {"1f5fbf", "d62728", "2a9d5c", "e69f00", "8e44ad", "444444"};
  const auto lines_of = [](const Eigen::MatrixXd& path) {
    std::string text;
    for (Eigen::Index i = 0; i < path.cols(); ++i) text += number(path(0, i)) + ' ' + number(path(1, i)) + '\n';
    return text;
  };
  std::string shown;
  for (Eigen::Index i = 0; i < points.cols(); ++i)
    shown += number(points(0, i)) + ' ' + number(points(1, i)) + " 0x" + colours[std::lround(points(2, i))] + '\n';
  write_file(data / "points.txt", shown);
  std::ostringstream gp;
  const int width = 60 + 290 * static_cast<int>(panels.size()), height = 320;
  gp << "set terminal pngcairo size " << width << ',' << height << " font 'DejaVu Sans,10'\nset output '" << name
     << ".png'\nset multiplot layout 1," << panels.size() << panel_margins(width, height, 44, 16, 32, 36, 50, 0)
     << "\nunset key\nset border 15 lc rgb '#666666'\nset tics out nomirror\nset clip two\n"
     << "set xrange [" << window.x_low << ':' << window.x_high << "]\nset yrange [" << window.y_low << ':'
     << window.y_high << "]\n"
     << commands << '\n';
  for (std::size_t p = 0; p < panels.size(); ++p) {
    const auto many = static_cast<double>(panels[p].paths.size());
    const auto transparent = static_cast<int>(255 * (1 - std::clamp(25 / many, 0.05, 1.0)));
    gp << "set title '" << panels[p].title << "' font ',12' offset 0,-0.5 noenhanced\nplot ";
    for (int colour = 0; colour < 6; ++colour) {
      std::string text;  // an empty line ends a path
      for (const auto& [path, of] : panels[p].paths) {
        if (of == colour) text += lines_of(path) + '\n';
      }
      if (text.empty()) continue;
      const std::string file = "panel-" + std::to_string(p + 1) + "-" + std::to_string(colour + 1) + ".txt";
      write_file(data / file, text);
      std::ostringstream alpha;
      alpha << std::hex << transparent;
      gp << "'" << name << "-data/" << file << "' with lines lw 1.5 lc rgb '#" << (transparent < 16 ? "0" : "")
         << alpha.str() << colours[colour] << "', ";
    }
    gp << "'" << name << "-data/points.txt' using 1:2:3 with points pt 7 ps " << (points.cols() > 20 ? 0.4 : 1.2)
       << " lc rgb variable\n";
  }
  gp << "unset multiplot\n";
  return run_gnuplot(out, name, gp.str());
}

}  // namespace example
