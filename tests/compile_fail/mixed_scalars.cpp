// expect: repel::direction: X and grad_log_p must have the same scalar type
#include <repel/repel.hpp>

int main() {
  const Eigen::MatrixXd x = repel::normal(2, 5, 1);
  repel::direction(repel::Svgd{}, x, x.cast<float>());
}
