// Pieces of programs in the documents, as they stand there: compiled and run in places that give them what they name.

#include <repel/bnn.hpp>
#include <repel/repel.hpp>
#if __has_include("distributed_2.inc")  // made where there is MPI
#include <repel/mpi.hpp>
#define REPEL_TEST_MPI
#endif

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace {

void calibration() {
  const auto grad_log_posterior = [](const auto& w, auto& g) { g = -w; };
#include "calibration_1.inc"
}

void threads() {
#include "threads_1.inc"
  repel::set_threads(1);
}

namespace minibatches {

#include "networks_3.inc"

/// The mean of points that are all 1: N(w, 1) each, and no prior.
void Target::operator()(const auto& w, auto& g) const {
  g = (batches.scale() * static_cast<double>(batch.size()) * (1 - w.array())).matrix();
}

bool right() {
  Target target;
  target.begin_step(3);
  Eigen::MatrixXd g(1, 1);
  target(Eigen::MatrixXd::Zero(1, 1), g);
  return target.batch.size() == 32 && std::abs(g(0, 0) - 1000) < 1e-9;
}

}  // namespace minibatches

bool augmentation() {
  const Eigen::RowVectorXf x = repel::normal<float>(1, 20, 1), y = x;
  const repel::Bnn posterior(repel::Mlp({1, 5, 1}, repel::Activation::relu), repel::GaussianLikelihood{.noise = 0.1},
                             repel::NormalPrior{1.0}, x, y);
#include "networks_4.inc"
  auto sampler = repel::weight_space(noisy.target(), repel::PlainEnsemble{}),
       plain = repel::weight_space(posterior.target(), repel::PlainEnsemble{});
  auto state = sampler.init(posterior.prior_draws(3, 1)), other = plain.init(posterior.prior_draws(3, 1));
  return sampler.step(state).finite && plain.step(other).finite && state.particles != other.particles;
}

#ifdef REPEL_TEST_MPI
bool distributed() {
  const std::string settings = "a";
  std::filesystem::remove("run.ckpt");
  auto sampler =
      repel::mpi::spread(repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{}), MPI_COMM_WORLD);
  auto state = sampler.init(repel::normal(2, 10, 1));
  state.step = 49990;
#include "distributed_2.inc"
  return report.finished() && std::filesystem::exists("run.ckpt");
}
#endif

}  // namespace

int main(int argc, char** argv) {
  calibration();
  threads();
  std::cout << "minibatches " << minibatches::right() << ", augmentation " << augmentation();
#ifdef REPEL_TEST_MPI
  MPI_Init(&argc, &argv);
  std::cout << ", distributed " << distributed();
  MPI_Finalize();
#else
  static_cast<void>(argc), static_cast<void>(argv);
#endif
  std::cout << '\n';
}
