#include "catch.hpp"
#include "mpi/compare.hpp"

#include <repel/bnn.hpp>
#include <repel/hmc.hpp>

namespace mpi_networks_test {

// Networks and chains over processes.

namespace {

using namespace mpi_test;

const auto minus = [](const auto& w, auto& g) { g = -w; };

}  // namespace

// A network sees its weights as if they were aligned, wherever they are: without MPI small ones round elsewhere.
TEST_CASE("Bayesian networks over processes", "[mpi]") {
  using namespace repel;
  const Eigen::MatrixXd inputs = normal(2, 30, 1);
  const Eigen::MatrixXd targets = inputs.colwise().sum();
  const Mlp network({2, 7, 1});
  const auto bnn_with = [&](Minibatch batch) {
    return Bnn(network, GaussianLikelihood{0.1}, NormalPrior{}, inputs, targets, batch);
  };
  const Eigen::MatrixXd w = he_draws(network, 11, 3);
  const Adam adam{.learning_rate = 0.01};
  compare("weight space", weight_space(bnn_with({.size = 8, .seed = 2}).target(), Svgd{}, adam), w, 30, 1e-9);
  compare("a batch per particle",
          weight_space(bnn_with({.size = 8, .seed = 2, .per_particle = true}).target(), Wgd{}, adam), w, 30, 1e-9);
  compare("function space", function_space(bnn_with({.size = 8, .seed = 2}).functions(FlatPrior{}), Wgd{Kde{}}, adam),
          w, 30, 1e-9);
  compare("function space, SVGD", function_space(bnn_with({.size = 8}).functions(FlatPrior{}), Svgd{}, adam), w, 30,
          1e-9);
  compare("function space, implicit prior",
          function_space(bnn_with({.size = 8}).functions(ImplicitPrior{}), Wgd{}, adam), w, 5, 1e-9);
}

// Columns of 35 floats begin anywhere, and Eigen's exp and sums round by where they begin.
TEST_CASE("classifiers whose outputs are not aligned, over processes", "[mpi]") {
  using namespace repel;
  const Eigen::MatrixXf inputs = normal<float>(3, 40, 1);
  Eigen::RowVectorXi labels(40);
  for (Index i = 0; i < 40; ++i) labels(i) = static_cast<int>(i % 5);
  const Mlp network({3, 6, 5});
  const Bnn bnn(network, CategoricalLikelihood{}, NormalPrior{}, inputs, labels, Minibatch{.size = 7, .seed = 2});
  const Eigen::MatrixXf w = he_draws<float>(network, 11, 3);
  const Adam adam{.learning_rate = 0.01};
  compare("implicit prior", function_space(bnn.functions(ImplicitPrior{}), Wgd{Kde{}}, adam), w, 10, 1e-3);
  compare("flat prior, SVGD", function_space(bnn.functions(FlatPrior{}), Svgd{}, adam), w, 10, 1e-3);
  compare("probabilities", function_space(bnn.probability_functions(FlatPrior{}), Wgd{Kde{}}, adam), w, 10, 1e-3);
  compare("Gaussian process", function_space(bnn.functions(GpPrior{Rbf{FixedBandwidth{2.0}}}), Wgd{Kde{}}, adam), w, 10,
          1e-3);
  compare("weight space", weight_space(bnn.target(), Wgd{Kde{}}, adam), w, 10, 1e-3);
}

TEST_CASE("chains over processes", "[mpi]") {
  using namespace repel;
  const auto target = with_log_density(minus, [](const auto& w, auto& values) {
    values.resize(w.cols());
    for (Index j = 0; j < w.cols(); ++j)
      values(j) = -0.5 * repel::detail::steady_dot(&w.coeffRef(0, j), &w.coeffRef(0, j), w.rows());
  });
  const Eigen::MatrixXd initial = normal(3, 5, 2);
  const Hmc settings{.warmup = 60, .samples = 40, .seed = 4};
  const auto alone = hmc(target, initial, settings), divided = hmc(mpi::divided(target), initial, settings);
  CHECK((divided.draws == alone.draws));
  CHECK((divided.step_size == alone.step_size));
  const Nuts nuts_settings{.warmup = 60, .samples = 40, .seed = 4};
  CHECK((nuts(mpi::divided(target), initial, nuts_settings).draws == nuts(target, initial, nuts_settings).draws));
}

}  // namespace mpi_networks_test
