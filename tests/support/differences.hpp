#pragma once

#include <repel/core/types.hpp>

namespace test {

/// ∇ log p of a target by central differences of its log density, accurate to about 1e-9 of the largest entry.
template <class Target>
Eigen::MatrixXd differences(Target target, const Eigen::MatrixXd& w) {
  Eigen::MatrixXd g(w.rows(), w.cols());
  Eigen::VectorXd up, down;
  for (repel::Index k = 0; k < w.rows(); ++k) {
    Eigen::MatrixXd moved = w;
    moved.row(k).array() += 1e-6;
    target.log_density(moved, up);
    moved.row(k).array() -= 2e-6;
    target.log_density(moved, down);
    g.row(k) = ((up - down) / 2e-6).transpose();
  }
  return g;
}

}  // namespace test
