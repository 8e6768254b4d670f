#pragma once

#include "paths.hpp"

namespace example {

/// Draws that fall into families, such as the ways to solve a task: which share of them lies in each, method by method,
/// and a picture of their paths, whose colours are the families'.
class Families {
 public:
  /// path(draw) gives its path and the number of its family.
  Families(std::vector<std::string> names, std::function<Path(const Eigen::VectorXd&)> path)
      : names_(std::move(names)), path_(std::move(path)) {}

  void add(const std::string& method, const Eigen::MatrixXd& draws, const std::string& verdict) {
    std::cout << method << ": " << verdict << '\n';
    methods_.push_back({method, draws});
  }

  void write(const std::filesystem::path& folder) const {
    std::vector<std::string> header = names_;
    header.insert(header.begin(), {"method", "draws"});
    Table table(header);
    for (const auto& [method, draws] : methods_) {
      Eigen::VectorXd count = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(names_.size()));
      for (Eigen::Index j = 0; j < draws.cols(); ++j) count(path_(draws.col(j)).second) += 1;
      std::vector<std::string> row{method, std::to_string(draws.cols())};
      for (const double each : count)
        row.push_back(draws.cols() > 0 ? fixed(each / static_cast<double>(draws.cols()), 3) : "");
      table.add(row);
    }
    table.write(folder);
  }

  /// Draws NAME.png, with at most `count` paths of each method; see draw_paths().
  bool draw(const std::string& name, const std::filesystem::path& out, Eigen::Index count,
            const Eigen::MatrixXd& points, const Window& window, const std::string& commands) const {
    std::vector<PathPanel> panels;
    for (const auto& [method, draws] : methods_) panels.push_back(paths_of(method, draws, count, path_));
    return draw_paths(name, out, panels, points, window, commands);
  }

 private:
  std::vector<std::string> names_;
  std::function<Path(const Eigen::VectorXd&)> path_;
  std::vector<std::pair<std::string, Eigen::MatrixXd>> methods_;
};

}  // namespace example
