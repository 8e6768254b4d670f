// expect: repel::weight_space: the target must be callable as target(w, g)
#include <repel/repel.hpp>

int main() {
  auto sampler =
      repel::weight_space([](const Eigen::MatrixXd& w) { return Eigen::MatrixXd(-w); }, repel::PlainEnsemble{});
  sampler.init(repel::normal(2, 5, 1));
}
