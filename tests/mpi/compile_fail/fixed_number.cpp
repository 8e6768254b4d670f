// expect: repel::mpi::spread: the number of particles must be a run-time number
#include <repel/mpi.hpp>
#include <repel/repel.hpp>

void f(const Eigen::Matrix<double, 2, 10>& x) {
  auto sampler = repel::mpi::spread(repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{}));
  sampler.init(x);
}
