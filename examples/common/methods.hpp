#pragma once

#include "options.hpp"

#include <repel/repel.hpp>

#include <string>
#include <vector>

namespace example {

/// Where a method ended.
struct Result {
  std::string method;
  Eigen::MatrixXd particles;
  repel::Index steps;
  double seconds;
  double bandwidth;
};

inline const std::vector<std::string> kMethods{"MAP", "SVGD", "KDE", "SGE", "SSGE", "Blob"};

/// Runs the chosen ones of kMethods on a target, all from the same initial particles, with the median bandwidth or, if
/// h > 0, a fixed one. Ctrl-C ends the method in hand and skips the rest; what was reached is returned.
std::vector<Result> run_methods(const Options& options, const repel::AnyTarget<double>& target, double h,
                                const Eigen::MatrixXd& start, double learning_rate);

}  // namespace example
