// The paper's first experiment: a correlated 2-D Gaussian, sampled by every update rule.

#include "common/picture.hpp"

#include <repel/repel.hpp>

#include <iostream>

int main(int argc, char** argv) try {
  example::Options options;
  if (const auto code =
          example::parse(argc, argv,
                         "Samples the paper's 2-D Gaussian with every update rule, and compares means and "
                         "covariances with the target's.",
                         "gaussian", /*quick=*/{100, 1000}, /*paper=*/{100, 5000}, example::kMethods, options))
    return *code;

  // The target of the paper's appendix.
  const Eigen::Vector2d mean(-0.6871, 0.8010);
  Eigen::Matrix2d covariance;
  covariance << 1.130, 0.826, 0.826, 3.389;
  const Eigen::Matrix2d precision = covariance.inverse();
  const auto grad_log_posterior = [&](const auto& w, auto&& g) {
    g.noalias() = precision * (mean.replicate(1, w.cols()) - w);
  };

  const Eigen::MatrixXd start = repel::normal(2, options.particles, options.seed, std::sqrt(3.0));
  const auto results = example::run_methods(options, repel::AnyTarget<double>(grad_log_posterior), /*h=*/0, start, 0.1);

  example::Table table(
      {"method", "steps", "seconds", "us_per_step", "mean_x", "mean_y", "cov_xx", "cov_xy", "cov_yy", "bandwidth"});
  table.add({"target", "", "", "", example::fixed(mean(0), 4), example::fixed(mean(1), 4),
             example::fixed(covariance(0, 0), 4), example::fixed(covariance(0, 1), 4),
             example::fixed(covariance(1, 1), 4), ""});
  for (const auto& r : results) {
    const Eigen::Vector2d m = r.particles.rowwise().mean();
    const Eigen::MatrixXd centred = r.particles.colwise() - m;
    const Eigen::Matrix2d c =
        centred * centred.transpose() / std::max(1.0, static_cast<double>(r.particles.cols() - 1));
    table.add({r.method, std::to_string(r.steps), example::fixed(r.seconds, 3),
               example::fixed(1e6 * r.seconds / static_cast<double>(std::max<repel::Index>(1, r.steps)), 1),
               example::fixed(m(0), 4), example::fixed(m(1), 4), example::fixed(c(0, 0), 4), example::fixed(c(0, 1), 4),
               example::fixed(c(1, 1), 4), example::fixed(r.bandwidth, 4)});
  }
  table.write(options.out);

  const auto normal_density = [](double at, double centre, double variance) {
    return std::exp(-0.5 * (at - centre) * (at - centre) / variance) / std::sqrt(2 * std::numbers::pi * variance);
  };
  example::draw_panels("gaussian", options.out,
                       {.log_density =
                            [&](double x, double y) {
                              const Eigen::Vector2d r = Eigen::Vector2d(x, y) - mean;
                              return -0.5 * r.dot(precision * r);
                            },
                        .marginal_x = [&](double x) { return normal_density(x, mean(0), covariance(0, 0)); },
                        .marginal_y = [&](double y) { return normal_density(y, mean(1), covariance(1, 1)); },
                        .x_low = -4.7,
                        .x_high = 3.3,
                        .y_low = -5.5,
                        .y_high = 7.1,
                        .levels = {-4.5, -2.0, -0.5}},  // 3, 2 and 1 standard deviations
                       results);
  return repel::StopOnInterrupt::interrupted() ? 130 : 0;
} catch (const std::exception& error) {
  std::cerr << "gaussian: " << error.what() << '\n';
  return 1;
}
