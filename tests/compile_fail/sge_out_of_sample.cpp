// expect: repel::estimate_score: this estimator is defined at the particles only
#include <repel/repel.hpp>

int main() {
  const Eigen::MatrixXd x = repel::normal(2, 5, 1);
  repel::estimate_score(repel::Sge{}, x, x);
}
