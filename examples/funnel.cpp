// The paper's second experiment: Neal's funnel, p(x, y) = N(y | 0, 3²) N(x | 0, exp(y/2)²), sampled by every update
// rule.

#include "common/picture.hpp"

#include <repel/repel.hpp>

#include <iostream>

namespace {

double median(Eigen::VectorXd values) {
  std::sort(values.begin(), values.end());
  const auto n = values.size();
  return n % 2 == 1 ? values(n / 2) : 0.5 * (values(n / 2 - 1) + values(n / 2));
}

double standard_deviation(const Eigen::ArrayXd& values) {
  return std::sqrt((values - values.mean()).square().sum() / std::max(1.0, static_cast<double>(values.size() - 1)));
}

/// The figures that tell whether a sample has the funnel's shape: y wide, x narrow where y is low.
std::vector<std::string> figures(const Eigen::MatrixXd& particles) {
  const Eigen::ArrayXd x = particles.row(0).transpose(), y = particles.row(1).transpose();
  return {example::fixed(y.mean(), 3), example::fixed(standard_deviation(y), 3),
          example::fixed(median(x.abs().matrix()), 3), example::fixed(standard_deviation(x * (-y / 2).exp()), 3)};
}

}  // namespace

int main(int argc, char** argv) try {
  example::Options options;
  if (const auto code =
          example::parse(argc, argv,
                         "Samples Neal's funnel with every update rule, and compares the shape of the "
                         "samples with exact draws.",
                         "funnel", /*quick=*/{200, 500}, /*paper=*/{500, 2000}, example::kMethods, options))
    return *code;

  const auto grad_log_posterior = [](const auto& w, auto&& g) {
    const auto x = w.row(0).array(), y = w.row(1).array();
    g.row(0).array() = -x * (-y).exp();
    g.row(1).array() = -y / 9 - 0.5 + 0.5 * x.square() * (-y).exp();
  };

  const Eigen::MatrixXd start = repel::normal(2, options.particles, options.seed, std::sqrt(3.0));
  const auto results =
      example::run_methods(options, repel::AnyTarget<double>(grad_log_posterior), /*h=*/0.5, start, 0.1);

  // Many exact draws, to compare with.
  Eigen::MatrixXd exact = repel::normal(2, 1'000'000, options.seed);
  exact.row(1) *= 3;
  exact.row(0).array() *= (0.5 * exact.row(1).array()).exp();

  example::Table table(
      {"method", "steps", "seconds", "us_per_step", "mean_y", "sd_y", "median_abs_x", "sd_x_scaled", "bandwidth"});
  const auto add = [&](std::vector<std::string> row, const Eigen::MatrixXd& particles, const std::string& bandwidth) {
    const auto shape = figures(particles);
    row.insert(row.end(), shape.begin(), shape.end());
    row.push_back(bandwidth);
    table.add(row);
  };
  add({"exact", "", "", ""}, exact, "");
  for (const auto& r : results)
    add({r.method, std::to_string(r.steps), example::fixed(r.seconds, 3),
         example::fixed(1e6 * r.seconds / static_cast<double>(std::max<repel::Index>(1, r.steps)), 1)},
        r.particles, example::fixed(r.bandwidth, 4));
  table.write(options.out);

  const auto normal_density = [](double at, double sd) {
    return std::exp(-0.5 * at * at / (sd * sd)) / (sd * std::sqrt(2 * std::numbers::pi));
  };
  example::draw_panels(
      "funnel", options.out,
      {.log_density = [](double x, double y) { return -y * y / 18 - y / 2 - 0.5 * x * x * std::exp(-y); },
       .marginal_x =
           [&](double x) {  // ∫ N(y | 0, 3²) N(x | 0, exp(y/2)²) dy, by the trapezium rule
             double sum = 0;
             for (int i = 0; i <= 600; ++i) {
               const double y = -15 + 0.05 * i;
               sum += 0.05 * normal_density(y, 3) * normal_density(x, std::exp(y / 2));
             }
             return std::min(sum, 1.0);  // it has a pole at 0
           },
       .marginal_y = [&](double y) { return normal_density(y, 3); },
       .x_low = -10,
       .x_high = 10,
       .y_low = -10,
       .y_high = 8,
       .levels = {-8.0, -6.0, -4.5, -3.0, -1.5, 0.0}},
      results);
  return repel::StopOnInterrupt::interrupted() ? 130 : 0;
} catch (const std::exception& error) {
  std::cerr << "funnel: " << error.what() << '\n';
  return 1;
}
