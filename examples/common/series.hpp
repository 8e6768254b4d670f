#pragma once

#include "comparison.hpp"
#include "gnuplot.hpp"

#include <functional>

namespace example {

/// Draws NAME.png: a series of measurements as bars, and over it, in a panel per method, the mean and the middle 90 % of
/// the course that belongs to every draw, and the true one.
inline bool draw_series(const std::string& name, const std::filesystem::path& out, const Eigen::VectorXd& measured,
                        const Comparison& parameters, const Eigen::VectorXd& truth, const std::string& title,
                        const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& course_of) {
  Comparison course{std::vector<std::string>(static_cast<std::size_t>(measured.size()))};
  for (const Comparison::Entry& e : parameters.entries()) {
    Eigen::MatrixXd courses(measured.size(), e.draws.cols());
    for (Eigen::Index j = 0; j < courses.cols(); ++j) courses.col(j) = course_of(e.draws.col(j));
    course.add(e.method, courses);
  }
  using detail::number;
  const std::filesystem::path data = out / (name + "-data");
  std::filesystem::create_directories(data);
  std::string text;
  for (Eigen::Index t = 0; t < measured.size(); ++t)
    text += number(static_cast<double>(t)) + ' ' + number(measured(t)) + ' ' + number(truth(t)) + '\n';
  write_file(data / "data.txt", text);
  if (course.entries().empty()) return false;
  const std::string from = "'" + name + "-data/";
  std::ostringstream gp;
  const int width = 1000, height = 30 + 250 * static_cast<int>(course.entries().size());
  gp << "set terminal pngcairo size " << width << ',' << height << " font 'DejaVu Sans,10'\nset output '" << name
     << ".png'\nset multiplot layout " << course.entries().size() << ",1"
     << panel_margins(width, height, 44, 16, 30, 36, 0, 56)
     << "\nset border 15 lc rgb '#666666'\nset tics out nomirror\nset key top right horizontal samplen 2\nset xrange "
        "[0:"
     << measured.size() - 1 << "]\nset offsets 0,0,graph 0.1,0\n";
  for (const Comparison::Entry& e : course.entries()) {
    text.clear();
    for (Eigen::Index t = 0; t < e.mean.size(); ++t)
      text += number(static_cast<double>(t)) + ' ' + number(e.mean(t)) + ' ' + number(e.low(t)) + ' ' +
              number(e.high(t)) + '\n';
    write_file(data / (e.method + ".txt"), text);
    const std::string file = from + e.method + ".txt'";
    gp << "set title '" << e.method << ": " << title << "' offset 0,-0.5\nplot " << from
       << "data.txt' using 1:2 with impulses lc rgb '#cccccc' title 'measured', " << file
       << " using 1:3:4 with filledcurves fs solid noborder lc rgb '#8db6df' title 'middle 90 %', " << file
       << " using 1:2 with lines lw 1 lc rgb '#1f5fbf' title 'mean', " << from
       << "data.txt' using 1:3 with lines lw 1 lc rgb '#d62728' title 'truth'\n";
  }
  gp << "unset multiplot\n";
  return run_gnuplot(out, name, gp.str());
}

}  // namespace example
