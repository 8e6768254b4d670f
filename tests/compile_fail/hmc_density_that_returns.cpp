// expect: repel::with_log_density: the log density must be callable as log_density(w, values)
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

int main() {
  const auto gradient = [](const auto& w, auto& g) { g = -w; };
  const auto log_density = [](const Eigen::MatrixXd& w) { return -0.5 * w.squaredNorm(); };
  repel::hmc(repel::with_log_density(gradient, log_density), repel::normal(1, 3, 1));
}
