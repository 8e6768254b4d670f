// The paper's 2-D classification: where does each method know that it does not know?

#include "common/figures.hpp"
#include "common/gnuplot.hpp"
#include "common/networks.hpp"

#include <repel/data/synthetic.hpp>
#include <repel/metrics.hpp>

#include <cmath>
#include <iostream>

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using repel::Index;

constexpr Index kClasses = 5;
constexpr Index kCells = 64;      // of the grid, per side
constexpr double kExtent = 12.0;  // it spans [−12, 12]²

/// What an ensemble says about a set of points.
struct Prediction {
  MatrixXd probabilities;  ///< the Bayesian model average, classes×points
  MatrixXd sd;             ///< over the members (n − 1), classes×points
  VectorXd entropy;        ///< of the average, divided by log(classes): 1 is to know nothing
  VectorXd disagreement;   ///< the paper's MD: sd over members, averaged over the classes
};

template <class Posterior>
Prediction predict(const Posterior& posterior, const MatrixXd& particles, const MatrixXd& points) {
  const auto p = posterior.predict(particles, points);
  Prediction out;
  out.probabilities = p.probabilities;
  const VectorXd mean = p.members.rowwise().mean();
  const double n = std::max<double>(1, static_cast<double>(particles.cols()) - 1);
  const VectorXd sd = ((p.members.colwise() - mean).rowwise().squaredNorm() / n).cwiseSqrt();
  out.sd = sd.reshaped(kClasses, points.cols());
  out.entropy = repel::metrics::entropy(p.probabilities) / std::log(static_cast<double>(kClasses));
  out.disagreement = repel::metrics::disagreement(p.members, kClasses);
  return out;
}

double mean_over(const VectorXd& values, const VectorXd& radius, double low, double high) {
  double sum = 0, count = 0;
  for (Index i = 0; i < values.size(); ++i)
    if (radius(i) >= low && radius(i) <= high) {
      sum += values(i);
      ++count;
    }
  return sum / count;
}

void draw(const std::filesystem::path& out, const std::string& name, const MatrixXd& x, const Eigen::VectorXi& labels,
          const MatrixXd& grid, double top, const std::vector<std::pair<std::string, VectorXd>>& maps) {
  using example::detail::number;
  const std::filesystem::path data = out / (name + "-data");
  std::filesystem::create_directories(data);
  std::string text;
  for (Index i = 0; i < x.cols(); ++i)
    text += number(x(0, i)) + ' ' + number(x(1, i)) + ' ' + std::to_string(labels(i)) + '\n';
  example::write_file(data / "data.txt", text);
  for (const auto& [method, values] : maps) {
    text.clear();
    for (Index i = 0; i < grid.cols(); ++i) {
      if (i > 0 && i % kCells == 0) text += '\n';
      text += number(grid(0, i)) + ' ' + number(grid(1, i)) + ' ' + number(values(i)) + '\n';
    }
    example::write_file(data / (method + ".txt"), text);
  }
  if (maps.empty()) return;
  const int columns = example::panel_columns(maps.size());
  const int rows = (static_cast<int>(maps.size()) + columns - 1) / columns;
  std::ostringstream gp;
  const int width = 290 * columns + 80, height = 300 * rows;
  gp << "set terminal pngcairo size " << width << ',' << height << " font 'DejaVu Sans,10'\n"
     << "set output '" << name << ".png'\nset multiplot layout " << rows << ',' << columns
     << example::panel_margins(width, height, 46, 107, 36, 42, 31, 60)
     << "\nunset key\nset xrange [-12:12]\nset yrange [-12:12]\n"
     << "set size ratio 1\nset border 15 lc rgb '#666666'\nset tics out nomirror\nset xtics 6\nset ytics 6\nset "
        "cbrange [0:"
     << top << "]\n"
     << "set palette defined (0 '#fbfaf4', 0.25 '#f3d99a', 0.5 '#e2955b', 0.75 '#b04a5a', 1 '#4b1d52')\n"
     << "unset colorbox\n";
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const auto& method = maps[i].first;
    if (i + 1 == maps.size())
      gp << "set colorbox user origin " << 1 - 84.0 / width << ",0.1 size " << 23.0 / width << ",0.8\n";
    gp << "set title '" << method << "' font ',13' offset 0,-0.6\nplot '" << name << "-data/" << method
       << ".txt' using 1:2:3 with image, ";
    const char* colours[] = {"#1b9e77", "#2b6cb0", "#7b3fa0", "#c2185b", "#5d7a1e"};
    for (Index c = 0; c < kClasses; ++c)
      gp << (c == 0 ? "" : ", ") << "'" << name << "-data/data.txt' using ($3==" << c
         << "?$1:1/0):2 with points pt 7 ps 0.45 lc rgb '" << colours[c] << "'";
    gp << '\n';
  }
  gp << "unset multiplot\n";
  example::run_gnuplot(out, name, gp.str());
}

}  // namespace

int main(int argc, char** argv) try {
  example::NetworkOptions options;
  options.learning_rate = 0.001;
  options.box_low = -kExtent;
  options.box_high = kExtent;
  if (const auto code = example::parse(
          argc, argv,
          "Bayesian neural network classification of five Gaussians on a ring, as in the paper: the entropy of every "
          "method's predictions and the disagreement of its members, against Hamiltonian Monte Carlo.",
          "classification_2d", /*quick=*/{50, 1500}, /*paper=*/{100, 10000}, example::kNetworkMethods, options,
          [&](CLI::App& app) { options.add_to(app); }))
    return *code;
  options.settle(/*quick=*/{4, 40, 120, 200}, /*paper=*/{8, 500, 500, 100});

  // The data of the paper's appendix: 200 points around five centres on a ring of radius 5, with unit covariance.
  const auto sample = repel::data::ring_of_gaussians((200 + 2000) / kClasses, options.seed);
  const MatrixXd x = sample.inputs.leftCols(200), test_x = sample.inputs.rightCols(2000);
  const Eigen::VectorXi labels = sample.labels.head(200), test_labels = sample.labels.tail(2000);
  MatrixXd grid(2, kCells * kCells);
  for (Index i = 0; i < kCells; ++i)
    for (Index j = 0; j < kCells; ++j) {
      const auto at = [](Index k) { return -kExtent + 2 * kExtent * (static_cast<double>(k) + 0.5) / kCells; };
      grid.col(i * kCells + j) << at(j), at(i);
    }
  const VectorXd radius = grid.colwise().norm().transpose();

  const repel::Mlp network({2, 50, 50, kClasses}, repel::Activation::relu);
  const repel::CategoricalLikelihood likelihood;
  const repel::NormalPrior prior{1.0};
  const repel::Bnn whole(network, likelihood, prior, x, labels);
  const MatrixXd coarse =
      grid(Eigen::seqN(0, grid.rows()), Eigen::seqN(0, kCells * kCells / 37, 37));  // for the chains' diagnostics
  const auto results = example::run_network_methods(options, [&](std::uint64_t seed) {
    const repel::Bnn posterior(network, likelihood, prior, x.cast<float>(), labels,
                               repel::Minibatch{options.batch, seed});
    return make_problem(options, seed, posterior, whole, coarse);
  });

  std::vector<std::pair<std::string, VectorXd>> entropies, disagreements;
  Prediction hmc;
  example::Figures table({{"steps", 0, false},
                          {"seconds", 2, false},
                          {"ms_per_step", 3, false},
                          {"T", 3},
                          {"r_hat", 2, false},
                          {"accuracy", 4},
                          {"nll", 4},
                          {"H_data", 3},
                          {"H_centre", 3},
                          {"H_far", 3},
                          {"MD_data", 3},
                          {"MD_centre", 3},
                          {"MD_far", 3},
                          {"probability_vs_hmc", 4},
                          {"sd_vs_hmc", 4}});
  for (const auto& r : results) {
    // Thousands of HMC draws at thousands of points: a part of them will do for the pictures.
    const Index stride = std::max<Index>(1, r.particles.cols() / 1000);
    const MatrixXd members =
        r.particles(Eigen::seqN(0, r.particles.rows()), Eigen::seqN(0, r.particles.cols() / stride, stride));
    const Prediction on_grid = predict(whole, members, grid), on_test = predict(whole, members, test_x);
    if (r.method == "HMC") hmc = on_grid;
    const auto difference = [&](const MatrixXd& a, const MatrixXd& b) {
      return b.size() > 0 && r.method != "HMC" ? (a - b).cwiseAbs().mean() : std::nan("");
    };
    const auto centre = [&](const VectorXd& map) { return mean_over(map, radius, 0, 1.5); };
    const auto far = [&](const VectorXd& map) { return mean_over(map, radius, 10, 100); };
    table.add(
        r.method,
        {static_cast<double>(r.steps), r.seconds, 1e3 * r.seconds / std::max(1.0, static_cast<double>(r.steps)),
         r.temperature, r.r_hat, repel::metrics::accuracy(on_test.probabilities, test_labels),
         repel::metrics::nll(on_test.probabilities, test_labels), on_test.entropy.mean(), centre(on_grid.entropy),
         far(on_grid.entropy), on_test.disagreement.mean(), centre(on_grid.disagreement), far(on_grid.disagreement),
         difference(on_grid.probabilities, hmc.probabilities), difference(on_grid.sd, hmc.sd)});
    if (!r.first) continue;
    entropies.emplace_back(r.method, on_grid.entropy);
    disagreements.emplace_back(r.method, on_grid.disagreement);
  }
  table.write(options.out);
  draw(options.out, "classification_2d", x, labels, grid, 1.0, entropies);
  draw(options.out, "classification_2d_disagreement", x, labels, grid, 0.4, disagreements);
  return repel::StopOnInterrupt::interrupted() ? 130 : 0;
} catch (const std::exception& error) {
  std::cerr << "classification_2d: " << error.what() << '\n';
  return 1;
}
