// expect: repel::mpi::spread: particles must be stored by columns
#include <repel/mpi.hpp>
#include <repel/repel.hpp>

void f(const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>& x) {
  auto sampler = repel::mpi::spread(repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{}));
  sampler.init(x);
}
