#include "../common/files.hpp"
#include "../common/statistics.hpp"
#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

namespace images {

namespace {

using Parts = std::vector<Eigen::VectorXd>;
using Rows = std::vector<const Evaluation*>;

/// A figure that is the mean over pictures, and so has a standard error over them. An AUROC is such a mean over two sets
/// of pictures, each of which adds to the error (metrics::AurocShares).
struct Measure {
  std::string name;
  int digits;
  std::function<Parts(const Evaluation&)> parts;
};

std::vector<Measure> measures_of(const Evaluation& any) {
  using E = const Evaluation&;
  std::vector<Measure> all{{"Accuracy", 2, [](E e) { return Parts{100 * e.right}; }},
                           {"NLL", 4, [](E e) { return Parts{-e.log_score}; }}};
  for (std::size_t k = 0; k < any.ood.size(); ++k) {
    const std::string name = any.ood[k].name;
    const auto parts = [](const repel::metrics::AurocShares& shares) {
      return Parts{shares.negatives, shares.positives};
    };
    all.push_back({"AUROC(H) " + name, 4, [k, parts](E e) { return parts(e.ood[k].entropy_shares); }});
    all.push_back({"AUROC(MD) " + name, 4, [k, parts](E e) { return parts(e.ood[k].disagreement_shares); }});
  }
  return all;
}

/// Adds a multiple of one row's parts.
void add(Parts& sum, const Parts& parts, double factor) {
  if (sum.empty())
    for (const Eigen::VectorXd& part : parts) sum.push_back(Eigen::VectorXd::Zero(part.size()));
  for (std::size_t k = 0; k < parts.size(); ++k) sum[k] += factor * parts[k];
}

/// The rows less the others, with the standard error of that over the pictures: much smaller than those of the two
/// figures, since the same pictures are hard for both. From two common seeds on, with that over seeds, too.
std::string difference(const Measure& measure, Rows rows, Rows others) {
  const auto of_seeds_in = [](const Rows& from, const Rows& in) {
    Rows kept;
    for (const Evaluation* e : from)
      if (std::any_of(in.begin(), in.end(), [&](const Evaluation* o) { return o->seed == e->seed; })) kept.push_back(e);
    return kept;
  };
  const Rows common = of_seeds_in(rows, others);
  if (!common.empty()) others = of_seeds_in(others, rows), rows = common;
  Parts mean;
  for (const Evaluation* e : rows) add(mean, measure.parts(*e), 1 / static_cast<double>(rows.size()));
  for (const Evaluation* e : others) add(mean, measure.parts(*e), -1 / static_cast<double>(others.size()));
  double variance = 0;
  for (const Eigen::VectorXd& part : mean) {
    const auto n = static_cast<double>(part.size());
    variance += (part.array() - part.mean()).square().sum() / (n - 1) / n;
  }
  std::string text =
      example::fixed(mean[0].mean(), measure.digits) + " ± " + example::fixed(std::sqrt(variance), measure.digits);
  if (common.size() > 1) {
    std::vector<double> by_seed;
    for (const Evaluation* e : rows)
      for (const Evaluation* o : others)
        if (e->seed == o->seed) by_seed.push_back(measure.parts(*e)[0].mean() - measure.parts(*o)[0].mean());
    text += " (" + example::fixed(example::mean_and_error(by_seed).error, measure.digits) + ")";
  }
  return text;
}

}  // namespace

std::string differences(const std::vector<Evaluation>& all) {
  const auto rows_of = [&](const std::string& method) {
    Rows rows;
    for (const Evaluation& e : all)
      if (e.method == method) rows.push_back(&e);
    return rows;
  };
  const std::vector<std::string> methods = methods_of(all);
  std::vector<std::string> references{all.front().method};
  if (references[0] != "SVGD" && !rows_of("SVGD").empty()) references.push_back("SVGD");
  std::ostringstream md;
  for (const std::string& reference : references) {
    if (methods.size() < 2) break;
    const std::vector<Measure> measures = measures_of(all.front());
    md << "\n| less " << reference << ", on the same pictures |";
    for (const Measure& m : measures) md << ' ' << m.name << " |";
    md << "\n| --- |";
    for (std::size_t k = 0; k < measures.size(); ++k) md << " --- |";
    md << '\n';
    for (const std::string& method : methods) {
      if (method == reference) continue;
      md << "| " << method << " |";
      for (const Measure& m : measures) md << ' ' << difference(m, rows_of(method), rows_of(reference)) << " |";
      md << '\n';
    }
  }
  return md.str();
}

}  // namespace images
