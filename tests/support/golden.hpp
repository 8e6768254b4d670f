#pragma once

#include <Eigen/Core>

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

inline std::ifstream open_golden(const std::string& path) {
  std::ifstream in(std::string(REPEL_GOLDEN_DIR) + "/" + path);
  if (!in) throw std::runtime_error("no golden file " + path);
  return in;
}

/// A CSV of numbers, transposed: the files have a particle per row, the library one per column.
inline Eigen::MatrixXd golden(const std::string& path) {
  auto in = open_golden(path);
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(in, line);) {
    auto& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(std::stod(cell));
  }
  Eigen::MatrixXd out(static_cast<Eigen::Index>(rows.at(0).size()), static_cast<Eigen::Index>(rows.size()));
  for (Eigen::Index j = 0; j < out.cols(); ++j)
    for (Eigen::Index i = 0; i < out.rows(); ++i)
      out(i, j) = rows.at(static_cast<std::size_t>(j)).at(static_cast<std::size_t>(i));
  return out;
}

inline std::map<std::string, double> golden_scalars(const std::string& path) {
  auto in = open_golden(path);
  std::map<std::string, double> out;
  for (std::string line; std::getline(in, line);) {
    const auto comma = line.find(',');
    out[line.substr(0, comma)] = std::stod(line.substr(comma + 1));
  }
  return out;
}

}  // namespace test
