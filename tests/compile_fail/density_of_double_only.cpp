// expect: the log density must be a template that returns T, the scalar of its argument
#include <repel/repel.hpp>

int main() {
  (void)repel::differentiated([](const Eigen::VectorXd& w) -> double { return -0.5 * w.squaredNorm(); });
}
