// The paper's 1-D regression: what does each method know between two clusters of data, and beyond them?

#include "common/bands.hpp"
#include "common/figures.hpp"
#include "common/networks.hpp"

#include <repel/metrics.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <iostream>

namespace {

using Eigen::RowVectorXd;

double truth(double x) { return x * std::sin(x); }

/// Mean of values over the points of a grid that lie in a region.
template <class Inside>
double mean_over(const RowVectorXd& grid, const RowVectorXd& values, const Inside& inside) {
  double sum = 0, count = 0;
  for (Eigen::Index i = 0; i < grid.size(); ++i)
    if (inside(grid(i))) {
      sum += values(i);
      ++count;
    }
  return sum / count;
}

}  // namespace

int main(int argc, char** argv) try {
  example::NetworkOptions options;
  options.learning_rate = 0.01;
  options.box_low = 0;
  options.box_high = 7;
  double noise = 1;
  if (const auto code = example::parse(
          argc, argv,
          "Bayesian neural network regression of y = x sin x from two clusters of points, as in the paper: mean and "
          "uncertainty of every method, against Hamiltonian Monte Carlo.",
          "regression_1d", /*quick=*/{20, 4000}, /*paper=*/{50, 15000}, example::kNetworkMethods, options,
          [&](CLI::App& app) {
            options.add_to(app);
            app.add_option("--noise", noise, "Standard deviation of the likelihood")
                ->check(CLI::PositiveNumber)
                ->capture_default_str();
          }))
    return *code;
  options.settle(/*quick=*/{4, 40, 80, 1000}, /*paper=*/{8, 200, 200, 600});

  // The data of the paper's appendix: 45 + 45 points, noise of variance 0.25.
  repel::Random random(options.seed);
  RowVectorXd x(90), y(90);
  for (Eigen::Index i = 0; i < 90; ++i) x(i) = i < 45 ? 1.5 + random.uniform() : 4.5 + 1.5 * random.uniform();
  for (Eigen::Index i = 0; i < 90; ++i) y(i) = truth(x(i)) + 0.5 * random.normal();
  const RowVectorXd grid = RowVectorXd::LinSpaced(141, 0, 7);
  // And the paper's test: 100 points in [0, 7].
  const RowVectorXd test_x = RowVectorXd::LinSpaced(100, 0, 7);
  RowVectorXd test_y(100);
  for (Eigen::Index i = 0; i < 100; ++i) test_y(i) = truth(test_x(i)) + 0.5 * random.normal();

  const repel::Mlp network({1, 50, 50, 1}, repel::Activation::relu);
  const repel::GaussianLikelihood likelihood{noise};
  const repel::NormalPrior prior{1.0};
  const repel::Bnn whole(network, likelihood, prior, x, y);
  const auto results = example::run_network_methods(options, [&](std::uint64_t seed) {
    const repel::Bnn posterior(network, likelihood, prior, x.cast<float>(), y.cast<float>(),
                               repel::Minibatch{options.batch, seed});
    return make_problem(options, seed, posterior, whole, grid);
  });

  const auto on_data = [](double at) { return (at >= 1.5 && at <= 2.5) || (at >= 4.5 && at <= 6); };
  const auto in_gap = [](double at) { return at > 2.75 && at < 4.25; };
  const auto far = [](double at) { return at < 1; };
  std::vector<example::Band> predictions;
  example::Figures table({{"steps", 0, false},
                          {"seconds", 2, false},
                          {"ms_per_step", 3, false},
                          {"T", 3},
                          {"r_hat", 2, false},
                          {"rmse_data", 3},
                          {"rmse", 3},
                          {"nll", 3},
                          {"sd_data", 3},
                          {"sd_gap", 3},
                          {"sd_far", 3},
                          {"mean_vs_hmc", 3},
                          {"sd_vs_hmc", 3}});
  const bool has_hmc = !results.empty() && results[0].method == "HMC";
  for (const auto& r : results) {
    const auto p = whole.predict(r.particles, grid);
    const auto t = whole.predict(r.particles, test_x);
    const RowVectorXd squares = (t.mean - test_y).array().square();
    if (r.first) predictions.push_back({r.method, p.mean, p.sd});
    const auto& hmc = predictions[0];
    const auto difference = [&](const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
      return has_hmc && r.method != "HMC" ? (a - b).cwiseAbs().mean() : std::nan("");
    };
    table.add(r.method,
              {static_cast<double>(r.steps), r.seconds, 1e3 * r.seconds / std::max(1.0, static_cast<double>(r.steps)),
               r.temperature, r.r_hat, std::sqrt(mean_over(test_x, squares, on_data)),
               repel::metrics::rmse(t.mean, test_y), repel::metrics::gaussian_nll(t.mean, t.sd_with_noise, test_y),
               mean_over(grid, p.sd, on_data), mean_over(grid, p.sd, in_gap), mean_over(grid, p.sd, far),
               difference(p.mean, hmc.mean), difference(p.sd, hmc.sd)});
  }
  table.write(options.out);
  example::draw_bands("regression_1d", options.out, x, y, grid, predictions, -12, 10, "x*sin(x)");
  return repel::StopOnInterrupt::interrupted() ? 130 : 0;
} catch (const std::exception& error) {
  std::cerr << "regression_1d: " << error.what() << '\n';
  return 1;
}
