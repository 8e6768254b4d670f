#include "../common/files.hpp"
#include "../common/statistics.hpp"
#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

namespace images {

namespace {

/// A number of the table; NaN for what there is not.
std::string number(double value, int digits, const std::string& none) {
  return std::isnan(value) ? none : example::fixed(value, digits);
}

/// Mean and, from two seeds on, standard error.
std::string mean_and_error(const std::vector<double>& values, int digits) {
  const example::MeanAndError figure = example::mean_and_error(values);
  std::string text = number(figure.mean, digits, "–");
  if (figure.count > 1 && !std::isnan(figure.mean)) text += " ± " + example::fixed(figure.error, digits);
  return text;
}

struct Column {
  std::string name;
  int digits;
  std::function<double(const Evaluation&)> value;
};

/// The first seven are the paper's, in its order.
std::vector<Column> columns_of(const Evaluation& any) {
  using E = const Evaluation&;
  std::vector<Column> all{{"AUROC(H)", 3, [](E e) { return e.ood[0].by_entropy.auroc; }},
                          {"AUROC(MD)", 3, [](E e) { return e.ood[0].by_disagreement.auroc; }},
                          {"Accuracy", 2, [](E e) { return e.accuracy; }},
                          {"H_o/H_t", 3, [](E e) { return e.ood[0].by_entropy.mean_ratio; }},
                          {"MD_o/MD_t", 3, [](E e) { return e.ood[0].by_disagreement.mean_ratio; }},
                          {"ECE", 3, [](E e) { return e.reliability.ece; }},
                          {"NLL", 3, [](E e) { return e.nll; }},
                          {"-log mean p", 3, [](E e) { return e.nll_of_mean_probability; }},
                          {"Brier", 3, [](E e) { return e.brier; }},
                          {"AUPR-in(H)", 3, [](E e) { return e.ood[0].by_entropy.aupr_in; }},
                          {"AUPR-out(H)", 3, [](E e) { return e.ood[0].by_entropy.aupr_out; }},
                          {"FPR95(H)", 3, [](E e) { return e.ood[0].by_entropy.fpr95; }},
                          {"FPR95(MD)", 3, [](E e) { return e.ood[0].by_disagreement.fpr95; }},
                          {"AUROC(MD text)", 3, [](E e) { return e.ood[0].by_disagreement_of_text.auroc; }},
                          {"MD_o/MD_t text", 3, [](E e) { return e.ood[0].by_disagreement_of_text.mean_ratio; }}};
  for (std::size_t k = 1; k < any.ood.size(); ++k) {
    const std::string name = " " + any.ood[k].name;
    all.push_back({"AUROC(H)" + name, 3, [k](E e) { return e.ood[k].by_entropy.auroc; }});
    all.push_back({"AUROC(MD)" + name, 3, [k](E e) { return e.ood[k].by_disagreement.auroc; }});
    all.push_back({"H_o/H_t" + name, 3, [k](E e) { return e.ood[k].by_entropy.mean_ratio; }});
    all.push_back({"MD_o/MD_t" + name, 3, [k](E e) { return e.ood[k].by_disagreement.mean_ratio; }});
  }
  if (!std::isnan(any.human_cross_entropy)) {
    all.push_back({"CE(human)", 3, [](E e) { return e.human_cross_entropy; }});
    all.push_back({"KL(human)", 3, [](E e) { return e.human_divergence; }});
  }
  all.push_back({"T", 3, [](E e) { return e.temperature; }});
  return all;
}

std::string hexadecimal(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << value;
  return text.str();
}

}  // namespace

std::vector<std::string> methods_of(const std::vector<Evaluation>& all) {
  std::vector<std::string> methods;
  const auto add = [&](const std::string& method) {
    if (std::find(methods.begin(), methods.end(), method) == methods.end()) methods.push_back(method);
  };
  for (const std::string& method : kMethods)
    if (std::any_of(all.begin(), all.end(), [&](const Evaluation& e) { return e.method == method; })) add(method);
  for (const Evaluation& e : all) add(e.method);
  return methods;
}

std::string write_tables(const std::filesystem::path& out, const std::vector<Evaluation>& all) {
  std::filesystem::create_directories(out);
  const std::vector<Column> columns = columns_of(all.front());
  std::ostringstream csv, md;
  csv << "method,seed,steps";
  md << "| method | seeds | steps |";
  for (const Column& c : columns) csv << ',' << c.name, md << ' ' << c.name << " |";
  csv << ",weights,seconds\n";
  md << " seconds |\n| --- | --- | --- |";
  for (std::size_t k = 0; k < columns.size() + 1; ++k) md << " --- |";
  md << '\n';
  for (const Evaluation& e : all) {
    csv << e.method << ',' << e.seed << ',' << e.steps;
    for (const Column& c : columns) csv << ',' << number(c.value(e), 6, "");
    csv << ',' << hexadecimal(e.weights) << ',' << example::fixed(e.seconds, 6) << '\n';
  }
  for (const std::string& method : methods_of(all)) {
    std::vector<const Evaluation*> rows;
    for (const Evaluation& e : all)
      if (e.method == method) rows.push_back(&e);
    md << "| " << method << " | " << rows.size() << " | " << rows.front()->steps << " |";
    const auto cell = [&](const auto& value, int digits) {
      std::vector<double> values;
      for (const Evaluation* e : rows) values.push_back(value(*e));
      md << ' ' << mean_and_error(values, digits) << " |";
    };
    for (const Column& c : columns) cell(c.value, c.digits);
    cell([](const Evaluation& e) { return e.seconds; }, 0);
    md << '\n';
  }
  md << differences(all);
  example::write_file(out / "table.csv", csv.str());
  example::write_file(out / "summary.csv", csv.str());  // as every example has it
  example::write_file(out / "table.md", md.str());
  return md.str();
}

}  // namespace images
