#pragma once

#include "files.hpp"

#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>

namespace example {

/// The same quantities by several methods: means and standard deviations side by side, and what each method says of
/// itself.
class Comparison {
 public:
  /// A method's figures of all quantities. NaN for what there is not.
  struct Entry {
    std::string method;
    Eigen::VectorXd mean, sd, low, high;  ///< low to high: the middle 90 %
    Eigen::MatrixXd draws;                ///< none where it is known otherwise
  };

  explicit Comparison(std::vector<std::string> quantities) : quantities_(std::move(quantities)) {}

  /// Draws of all quantities, a column each. A method that was stopped before its second draw is left out.
  void add(const std::string& method, const Eigen::MatrixXd& draws, const std::string& verdict = "") {
    if (!verdict.empty()) std::cout << method << ": " << verdict << '\n';
    if (draws.cols() < 2) return;
    Entry entry{method, draws.rowwise().mean(), {}, draws.col(0), draws.col(0), draws};
    const auto last = static_cast<double>(draws.cols() - 1);
    entry.sd = ((draws.colwise() - entry.mean).rowwise().squaredNorm() / last).cwiseSqrt();
    for (Eigen::Index k = 0; k < draws.rows(); ++k) {
      std::vector<double> sorted(static_cast<std::size_t>(draws.cols()));
      Eigen::RowVectorXd::Map(sorted.data(), draws.cols()) = draws.row(k);
      std::sort(sorted.begin(), sorted.end());
      entry.low(k) = sorted[static_cast<std::size_t>(std::lround(0.05 * last))];
      entry.high(k) = sorted[static_cast<std::size_t>(std::lround(0.95 * last))];
    }
    entries_.push_back(entry);
  }

  /// What is known otherwise, of the first quantities: measured values with errors, or the truth, which has none.
  void add_known(const std::string& title, const Eigen::VectorXd& mean, const Eigen::VectorXd& sd) {
    const auto all = static_cast<Eigen::Index>(quantities_.size());
    const Eigen::VectorXd none = Eigen::VectorXd::Constant(all, std::numeric_limits<double>::quiet_NaN());
    Entry entry{title, none, none, none, none, {}};
    entry.mean.head(mean.size()) = mean;
    entry.sd.head(sd.size()) = sd;
    entry.low = entry.mean - 1.645 * entry.sd;
    entry.high = entry.mean + 1.645 * entry.sd;
    entries_.push_back(entry);
  }

  void write(const std::filesystem::path& folder, int digits) const {
    std::vector<std::string> header{"quantity"};
    const auto known = [](const Eigen::VectorXd& v) { return !v.array().isNaN().all(); };
    for (const Entry& e : entries_) {
      header.push_back(e.method + (known(e.sd) ? "_mean" : ""));
      if (known(e.sd)) header.push_back(e.method + "_sd");
    }
    Table table(header);
    for (std::size_t q = 0; q < quantities_.size(); ++q) {
      std::vector<std::string> row{quantities_[q]};
      const auto k = static_cast<Eigen::Index>(q);
      const auto text = [&](double value) { return std::isnan(value) ? "" : fixed(value, digits); };
      for (const Entry& e : entries_) {
        row.push_back(text(e.mean(k)));
        if (known(e.sd)) row.push_back(text(e.sd(k)));
      }
      table.add(row);
    }
    table.write(folder);
  }

  const std::vector<std::string>& quantities() const { return quantities_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<std::string> quantities_;
  std::vector<Entry> entries_;
};

/// What a method says of itself, in a line.
inline std::string verdict(const repel::SampleReport& r) {
  return r.message + "; " + std::to_string(r.gradients) + " gradients, " + fixed(r.seconds, 1) + " s";
}
inline std::string verdict(const repel::Report& r) {
  return r.message + "; temperature " + fixed(r.temperature, 2) + ", " + fixed(r.seconds, 1) + " s";
}
inline std::string verdict(const repel::HmcResult<double>& r) {
  if (r.draws_per_chain < 4) return "stopped before there were draws";
  return std::to_string(r.chains) + " chains of " + std::to_string(r.draws_per_chain) + " draws, largest R-hat " +
         fixed(r.diagnostics.r_hat.maxCoeff(), 3) + ", smallest effective sample size " +
         fixed(r.diagnostics.effective_samples.minCoeff(), 0) + ", " + std::to_string(r.divergences) +
         " divergences; " + std::to_string(r.gradients) + " gradients, " + fixed(r.report.seconds, 1) + " s";
}

}  // namespace example
