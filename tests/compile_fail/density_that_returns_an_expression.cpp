// expect: the log density must be a template that returns T, the scalar of its argument
#include <repel/repel.hpp>

int main() {
  auto target = repel::differentiated([](const auto& w) { return -0.5 * w(0) * w(0); });
  Eigen::MatrixXd w = repel::normal(1, 5, 1), g = w;
  target(w, g);
}
