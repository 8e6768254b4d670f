#include "catch.hpp"
#include "mpi/compare.hpp"

#include <string>

namespace mpi_policies_test {

// What depends on the number of a particle, on all of them, or on how many there are, is what it is without MPI.

namespace {

using namespace mpi_test;

const auto minus = [](const auto& w, auto& g) { g = -w; };
const Eigen::MatrixXd few = repel::normal(3, 40, 7), many = repel::normal(5, 700, 8);

}  // namespace

TEST_CASE("estimators, kernels, optimisers and coordinates over processes", "[mpi]") {
  using namespace repel;
  const Adam adam{.learning_rate = 0.01};
  compare("Calibrated", weight_space(minus, Wgd{Calibrated{Kde{}, Calibration::coordinates}}, adam), many, 3);
  compare("Calibrated, full", weight_space(minus, Wgd{Calibrated{Sge{}, Calibration::full}}, adam), few, 20);
  compare("Ard", weight_space(minus, Svgd{Ard{}}, Scheduled{Clipped{adam, 0.5}, schedule::Cosine{.steps = 100}}), few,
          50);
  compare("HeatBandwidth", weight_space(minus, Wgd{Kde{Rbf{HeatBandwidth{}}}}, adam), few, 5);
  compare("Ssge", weight_space(minus, Wgd{Ssge{Rbf{}, 0.01, LargestEigenpairs{5}}}, adam), many, 2);
  compare("conjugate gradients", weight_space(minus, Wgd{Sge{Rbf{}, 0.01, IterativeSolver{1e-6, 50, 40}}}, adam), many,
          2);
  compare("MemberRates", weight_space(minus, Svgd{}, MemberRates{adam, {1, 0.3, 3}}), few, 20);
  compare("Langevin", weight_space(minus, Langevin{Svgd{}, 0.1, 3}, adam), few, 20);
  compare("Langevin of WGD", weight_space(minus, Langevin{Wgd{}, 0.1, 3}, Sgd{.learning_rate = 0.01}), few, 20);
  compare("annealed", weight_space(minus, Wgd{}, adam, anneal::Linear{.steps = 10}), few, 20);
  compare("Standardised", weight_space(minus, Svgd{}, adam, coordinates::Standardised{}), few, 30);
  compare("Whitened", weight_space(minus, Svgd{}, adam, coordinates::Whitened{}), few, 30);
}

TEST_CASE("loops that processes share, at their own sizes", "[mpi]") {
  using namespace repel;
  compare("10-D", weight_space(minus, Svgd{}, Adam{}), Eigen::MatrixXd(normal(10, 2500, 9)), 2);
  compare("20-D, in strips", weight_space(minus, Wgd{Kde{}}, Adam{}), Eigen::MatrixXd(normal(20, 4200, 10)), 1);
}

}  // namespace mpi_policies_test
