#include "data.hpp"

#include "../common/statistics.hpp"

#include <repel/core/random.hpp>
#include <repel/data.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace uci {

namespace {

namespace fs = std::filesystem;
using repel::Index;

struct Known {
  std::string name;
  std::vector<Published> published;
};

/// Test RMSE and log-likelihood with standard errors: PBP (Hernández-Lobato & Adams 2015) and SVGD (Liu & Wang 2016),
/// both as in table 1 of the latter.
const std::vector<Known> kKnown{
    {"yacht", {{"PBP", 0.778, 0.042, -1.211, 0.044}, {"SVGD, paper", 0.864, 0.052, -1.225, 0.042}}},
    {"bostonHousing", {{"PBP", 2.977, 0.093, -2.579, 0.052}, {"SVGD, paper", 2.957, 0.099, -2.504, 0.029}}},
    {"energy", {{"PBP", 1.734, 0.051, -1.981, 0.028}, {"SVGD, paper", 1.374, 0.045, -1.767, 0.024}}},
    {"concrete", {{"PBP", 5.506, 0.103, -3.137, 0.021}, {"SVGD, paper", 5.324, 0.104, -3.082, 0.018}}},
    {"wine-quality-red", {{"PBP", 0.614, 0.008, -0.931, 0.014}, {"SVGD, paper", 0.609, 0.010, -0.925, 0.014}}},
    {"kin8nm", {{"PBP", 0.098, 0.001, 0.901, 0.010}, {"SVGD, paper", 0.090, 0.001, 0.984, 0.008}}},
    {"power-plant", {{"PBP", 4.052, 0.031, -2.819, 0.008}, {"SVGD, paper", 4.033, 0.033, -2.815, 0.008}}},
    {"naval-propulsion-plant", {{"PBP", 0.006, 0.000, 3.735, 0.004}, {"SVGD, paper", 0.004, 0.000, 4.089, 0.012}}},
    {"protein-tertiary-structure",
     {{"PBP", 4.623, 0.009, -2.950, 0.002}, {"SVGD, paper", 4.606, 0.013, -2.947, 0.003}}},
};

std::vector<double> read_list(const fs::path& file) {
  const Eigen::MatrixXd values = repel::data::read_csv(file, ' ').values;
  if (values.cols() != 1) throw std::runtime_error(file.string() + " must have one number in each line");
  return {values.data(), values.data() + values.size()};
}

/// Indices into `count` things.
std::vector<Index> read_indices(const fs::path& file, Index count) {
  std::vector<Index> out;
  for (const double value : read_list(file)) {
    if (value != std::floor(value) || value < 0 || value >= static_cast<double>(count))
      throw std::runtime_error(file.string() + ": " + std::to_string(value) + " must be a whole number from 0 to " +
                               std::to_string(count - 1));
    out.push_back(static_cast<Index>(value));
  }
  return out;
}

std::vector<Split> random_splits(Index points) {
  std::vector<Split> splits;
  for (std::uint64_t k = 0; k < 20; ++k) {
    std::vector<Index> order(static_cast<std::size_t>(points));
    std::iota(order.begin(), order.end(), Index{0});
    repel::Random random(repel::stream_seed(2026, k));
    for (std::size_t i = order.size() - 1; i > 0; --i)
      std::swap(order[i], order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i + 1))]);
    const auto cut = static_cast<std::ptrdiff_t>(std::lround(0.9 * static_cast<double>(points)));
    splits.push_back({{order.begin(), order.begin() + cut}, {order.begin() + cut, order.end()}});
  }
  return splits;
}

/// Dropout's figures (Gal & Ghahramani 2016), a number per split, published with the splits.
void add_dropout(const fs::path& folder, std::vector<Published>& published) {
  const fs::path rmse = folder / "test_MC_rmse_100_xepochs_1_hidden_layers.txt",
                 ll = folder / "test_ll_100_xepochs_1_hidden_layers.txt";
  if (!fs::exists(rmse) || !fs::exists(ll)) return;
  const example::MeanAndError by_rmse = example::mean_and_error(read_list(rmse)),
                              by_ll = example::mean_and_error(read_list(ll));
  published.push_back({"dropout", by_rmse.mean, by_rmse.error, by_ll.mean, by_ll.error});
}

}  // namespace

const std::vector<std::string>& names() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> out;
    for (const Known& known : kKnown) out.push_back(known.name);
    return out;
  }();
  return all;
}

Dataset read(const fs::path& folder, const std::string& name) {
  const fs::path data = folder / name / "data";
  Dataset set;
  set.name = name;
  for (const Known& known : kKnown)
    if (known.name == name) set.published = known.published;
  Eigen::MatrixXd table;
  std::vector<Index> features;
  Index target = 0;
  if (fs::exists(data / "data.txt")) {
    table = repel::data::read_csv(data / "data.txt", ' ').values;
    features = read_indices(data / "index_features.txt", table.cols());
    const std::vector<Index> targets = read_indices(data / "index_target.txt", table.cols());
    if (targets.size() != 1) throw std::runtime_error(name + ": index_target.txt must have one number");
    target = targets.front();
    set.hidden = static_cast<Index>(read_list(data / "n_hidden.txt").at(0));
    const auto splits = static_cast<int>(read_list(data / "n_splits.txt").at(0));
    for (int k = 0; k < splits; ++k) {
      const auto part = [&](const std::string& which) {
        return read_indices(data / ("index_" + which + "_" + std::to_string(k) + ".txt"), table.rows());
      };
      set.splits.push_back({part("train"), part("test")});
    }
    set.standard_splits = true;
    add_dropout(folder / name / "results", set.published);
  } else {
    table = repel::data::read_csv(data / "data.csv").values;
    target = table.cols() - 1;
    for (Index k = 0; k < target; ++k) features.push_back(k);
    set.splits = random_splits(table.rows());
  }
  set.targets = table.col(target).transpose();
  set.inputs.resize(static_cast<Index>(features.size()), table.rows());
  Index kept = 0;
  for (const Index k : features)
    if (table.col(k).maxCoeff() > table.col(k).minCoeff()) set.inputs.row(kept++) = table.col(k).transpose();
  set.inputs.conservativeResize(kept, Eigen::NoChange);
  return set;
}

}  // namespace uci
