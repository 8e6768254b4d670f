// expect: repel: particles must be a matrix of float or double
#include <repel/repel.hpp>

int main() {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::PlainEnsemble{});
  sampler.init(Eigen::MatrixXi::Zero(2, 5));
}
