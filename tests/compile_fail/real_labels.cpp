// expect: this likelihood takes labels, integers from 0 on, but the targets are real numbers
#include <repel/bnn.hpp>
#include <repel/repel.hpp>

int main() {
  const Eigen::MatrixXd x = repel::normal(2, 10, 1);
  const Eigen::RowVectorXd y = Eigen::RowVectorXd::Zero(10);
  const repel::Bnn posterior(repel::Mlp({2, 3}), repel::CategoricalLikelihood{}, repel::NormalPrior{}, x, y);
}
