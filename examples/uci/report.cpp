#include "report.hpp"

#include "../common/files.hpp"
#include "../common/gnuplot.hpp"
#include "../common/statistics.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>

namespace uci {

namespace {

using example::fixed;

using Figure = example::MeanAndError;

using Value = std::function<double(const Outcome&)>;
const Value kRmse = [](const Outcome& o) { return o.rmse; };
const Value kLogLikelihood = [](const Outcome& o) { return o.log_likelihood; };

/// A figure of a method on a set, by split.
std::map<std::size_t, double> by_split(const std::vector<Result>& results, const std::string& set,
                                       const std::string& method, const Value& value) {
  std::map<std::size_t, double> out;
  for (const Result& r : results)
    if (r.set == set && r.method == method) out[r.split] = value(r.outcome);
  return out;
}

Figure figure(const std::vector<Result>& results, const std::string& set, const std::string& method,
              const Value& value) {
  std::vector<double> values;
  for (const auto& [split, v] : by_split(results, set, method, value)) values.push_back(v);
  return example::mean_and_error(values);
}

/// a − b on the splits that both have.
Figure difference(const std::vector<Result>& results, const std::string& set, const std::string& a,
                  const std::string& b, const Value& value) {
  const auto of_a = by_split(results, set, a, value), of_b = by_split(results, set, b, value);
  std::vector<double> values;
  for (const auto& [split, v] : of_a)
    if (const auto other = of_b.find(split); other != of_b.end()) values.push_back(v - other->second);
  return example::mean_and_error(values);
}

/// Digits after the point that leave two or three of the error.
int digits_for(double size) { return size < 0.02 ? 4 : size < 2 ? 3 : 2; }

std::string cell(const Figure& f, int digits) {
  if (f.count == 0) return "";
  return fixed(f.mean, digits) + (f.count > 1 ? " ± " + fixed(f.error, digits) : "");
}

std::string row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& one : cells) text += " " + one + " |";
  return text + "\n";
}

std::vector<std::string> header(const std::string& first, const std::vector<Dataset>& sets) {
  std::vector<std::string> cells{first};
  for (const Dataset& set : sets) cells.push_back(set.name);
  return cells;
}

/// One of 1, 2 and 5 times a power of ten, so that a panel has three to six.
double tic_step(double range) {
  double step = std::pow(10, std::floor(std::log10(std::max(range, 1e-9) / 3)));
  for (const double factor : {2.0, 2.5, 2.0})
    if (range / step > 6) step *= factor;
  return step;
}

std::vector<std::string> seen_methods(const std::vector<Result>& results) {
  std::vector<std::string> out;
  for (const std::string& method : methods())
    if (std::any_of(results.begin(), results.end(), [&](const Result& r) { return r.method == method; }))
      out.push_back(method);
  return out;
}

std::vector<std::string> published_methods(const std::vector<Dataset>& sets) {
  std::vector<std::string> out;
  for (const Dataset& set : sets)
    for (const Published& p : set.published)
      if (std::find(out.begin(), out.end(), p.method) == out.end()) out.push_back(p.method);
  return out;
}

const Published* find_published(const Dataset& set, const std::string& method) {
  for (const Published& p : set.published)
    if (p.method == method) return &p;
  return nullptr;
}

std::string figures_table(const std::string& title, const std::vector<Dataset>& sets,
                          const std::vector<Result>& results, const Value& value, bool likelihood) {
  std::string text = row(header(title, sets)) + row(std::vector<std::string>(sets.size() + 1, "---"));
  for (const std::string& method : seen_methods(results)) {
    std::vector<std::string> cells{method};
    for (const Dataset& set : sets) {
      const Figure f = figure(results, set.name, method, value);
      std::string one = cell(f, digits_for(std::abs(f.mean)));
      if (f.count > 0 && f.count < set.splits.size()) one += " (" + std::to_string(f.count) + ")";
      cells.push_back(one);
    }
    text += row(cells);
  }
  for (const std::string& method : published_methods(sets)) {
    std::vector<std::string> cells{"*" + method + "*"};
    for (const Dataset& set : sets) {
      const Published* p = find_published(set, method);
      const double mean = p == nullptr ? 0 : likelihood ? p->log_likelihood : p->rmse;
      const double error = p == nullptr ? 0 : likelihood ? p->log_likelihood_error : p->rmse_error;
      cells.push_back(p == nullptr ? "" : cell({mean, error, 2}, digits_for(std::abs(mean))));
    }
    text += row(cells);
  }
  return text;
}

}  // namespace

std::vector<Result> read_results(const std::filesystem::path& file, const std::string& settings) {
  std::ifstream in(file);
  if (!in) return {};
  std::string line;
  std::getline(in, line);
  if (line != "# " + settings)
    throw std::runtime_error(file.string() + " is of other settings:\n  " + line + "\nand not\n  # " + settings +
                             "\nGive those, or another --out");
  std::getline(in, line);
  std::vector<Result> out;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::vector<std::string> parts;
    for (std::string part; std::getline(cells, part, ',');) parts.push_back(part);
    if (parts.size() != 8) throw std::runtime_error(file.string() + ": a row has not 8 cells: " + line);
    Result r{parts[0], std::stoul(parts[1]), parts[2], {}};
    r.outcome.rmse = std::stod(parts[3]);
    r.outcome.log_likelihood = std::stod(parts[4]);
    r.outcome.temperature = std::stod(parts[5]);
    r.outcome.r_hat = std::stod(parts[6]);
    r.outcome.seconds = std::stod(parts[7]);
    r.outcome.complete = true;
    out.push_back(r);
  }
  return out;
}

void write_results(const std::filesystem::path& file, const std::string& settings, const std::vector<Result>& results) {
  std::ostringstream text;
  text.precision(9);
  text << "# " << settings << "\nset,split,method,rmse,log_likelihood,temperature,r_hat,seconds\n";
  for (const Result& r : results)
    text << r.set << ',' << r.split << ',' << r.method << ',' << r.outcome.rmse << ',' << r.outcome.log_likelihood
         << ',' << r.outcome.temperature << ',' << r.outcome.r_hat << ',' << r.outcome.seconds << '\n';
  example::write_file(file, text.str());
}

std::string write_tables(const std::filesystem::path& out, const std::vector<Dataset>& all,
                         const std::vector<Result>& results) {
  std::vector<Dataset> sets;
  for (const Dataset& set : all)
    if (std::any_of(results.begin(), results.end(), [&](const Result& r) { return r.set == set.name; }))
      sets.push_back(set);
  std::string text = figures_table("test RMSE", sets, results, kRmse, false) + "\n" +
                     figures_table("test log-likelihood", sets, results, kLogLikelihood, true) + "\n";

  text += row(header("difference on the same splits", sets)) + row(std::vector<std::string>(sets.size() + 1, "---"));
  const std::vector<std::pair<std::string, std::string>> pairs{
      {"SVGD", "DE"},          {"kde-WGD", "DE"},  {"cal-kde-WGD", "kde-WGD"},  {"cal-sge-WGD", "sge-WGD"},
      {"kde-fWGD", "kde-WGD"}, {"f-SVGD", "SVGD"}, {"cal-kde-WGD", "kde-fWGD"}, {"cal-kde-WGD", "NUTS"}};
  for (const auto& [what, value] : {std::pair("log-likelihood", kLogLikelihood), std::pair("RMSE", kRmse)})
    for (const auto& [a, b] : pairs) {
      std::vector<std::string> cells{std::string(what) + ", " + a + " − " + b};
      bool any = false;
      for (const Dataset& set : sets) {
        const Figure f = difference(results, set.name, a, b, value);
        any = any || f.count > 0;
        cells.push_back(cell(f, digits_for(std::abs(f.mean))));
      }
      if (any) text += row(cells);
    }

  text += "\n" + row(header("temperature; R̂ of NUTS; seconds a run", sets)) +
          row(std::vector<std::string>(sets.size() + 1, "---"));
  for (const std::string& method : seen_methods(results)) {
    std::vector<std::string> cells{method};
    for (const Dataset& set : sets) {
      const auto mean = [&](const Value& value) { return figure(results, set.name, method, value); };
      const Figure t = mean([](const Outcome&o) { return o.temperature; }),
                   r = mean([](const Outcome&o) { return o.r_hat; }),
                   s = mean([](const Outcome&o) { return o.seconds; });
      cells.push_back(s.count == 0 ? ""
                                   : (t.mean != 0   ? fixed(t.mean, 2) + "; "
                                      : r.mean != 0 ? "R̂ " + fixed(r.mean, 2) + "; "
                                                    : "") +
                                         fixed(s.mean, 1) + " s");
    }
    text += row(cells);
  }
  example::write_file(out / "table.md", text);

  const auto error = [](const Figure& f, int digits) { return f.count > 1 ? fixed(f.error, digits) : std::string(); };
  std::string csv = "set,method,splits,rmse,rmse_error,log_likelihood,log_likelihood_error,temperature,seconds\n";
  for (const Dataset& set : sets)
    for (const std::string& method : seen_methods(results)) {
      const Figure rmse = figure(results, set.name, method, kRmse),
                   ll = figure(results, set.name, method, kLogLikelihood),
                   t = figure(results, set.name, method, [](const Outcome&o) { return o.temperature; }),
                   s = figure(results, set.name, method, [](const Outcome&o) { return o.seconds; });
      if (rmse.count == 0) continue;
      csv += set.name + ',' + method + ',' + std::to_string(rmse.count) + ',' + fixed(rmse.mean, 5) + ',' +
             error(rmse, 5) + ',' + fixed(ll.mean, 4) + ',' + error(ll, 4) + ',' + fixed(t.mean, 3) + ',' +
             fixed(s.mean, 2) + '\n';
    }
  example::write_file(out / "summary.csv", csv);
  return text;
}

void draw(const std::filesystem::path& out, const std::vector<Dataset>& all, const std::vector<Result>& results) {
  std::vector<const Dataset*> sets;
  for (const Dataset& set : all)
    if (std::any_of(results.begin(), results.end(), [&](const Result& r) { return r.set == set.name; }))
      sets.push_back(&set);
  if (sets.empty()) return;
  const std::filesystem::path data = out / "uci-data";
  std::filesystem::create_directories(data);
  const int columns = static_cast<int>(std::min<std::size_t>(3, sets.size()));
  const int rows = (static_cast<int>(sets.size()) + columns - 1) / columns;
  const int width = 420 * columns, height = 300 * rows;
  std::ostringstream gp;
  gp << "set terminal pngcairo size " << width << ',' << height << " font 'DejaVu Sans,10'\nset output 'uci.png'\n"
     << "set multiplot layout " << rows << ',' << columns
     << example::panel_margins(width, height, 100, 16, 42, 34, 112, 76)
     << "\nunset key\nset border 15 lc rgb '#666666'\nset tics out nomirror\nset bars 0.4\nset grid ytics lc rgb "
        "'#eeeeee'\n";
  for (const Dataset* set : sets) {
    std::string ours, theirs, labels;
    std::size_t most = 0;  // splits of a method; those with fewer say so
    for (const std::string& method : seen_methods(results))
      most = std::max(most, figure(results, set->name, method, kLogLikelihood).count);
    int line = 0;
    double low = 1e300, high = -1e300;
    const auto add = [&](std::string& text, const std::string& name, double mean, double error) {
      text += example::detail::number(mean) + ' ' + std::to_string(-line) + ' ' + example::detail::number(error) + '\n';
      labels += (line == 0 ? "'" : ", '") + name + "' " + std::to_string(-line);
      low = std::min(low, mean - error);
      high = std::max(high, mean + error);
      ++line;
    };
    for (const std::string& method : seen_methods(results))
      if (const Figure f = figure(results, set->name, method, kLogLikelihood); f.count > 0) {
        const std::string splits = f.count < most ? " (" + std::to_string(f.count) + ")" : "";
        add(ours, method + splits, f.mean, f.count > 1 ? f.error : 0);
      }
    for (const Published& p : set->published) add(theirs, p.method, p.log_likelihood, p.log_likelihood_error);
    example::write_file(data / (set->name + ".txt"), ours);
    example::write_file(data / (set->name + "-published.txt"), theirs);
    const double room = std::max(1e-3, 0.06 * (high - low));
    const std::string file = "'uci-data/" + set->name;
    gp << "set title '" << set->name << "' offset 0,-0.6\nset xrange [" << low - room << ':' << high + room
       << "]\nset yrange [" << -line << ":1]\nset ytics (" << labels << ")\nset xtics " << tic_step(high - low) << "\n"
       << "plot " << file << ".txt' using 1:2:3 with xerrorbars pt 7 ps 0.9 lc rgb '#1f5fbf'";
    if (!theirs.empty())
      gp << ", " << file << "-published.txt' using 1:2:3 with xerrorbars pt 6 ps 0.9 lc rgb '#888888'";
    gp << '\n';
  }
  gp << "unset multiplot\n";
  example::run_gnuplot(out, "uci", gp.str());
}

}  // namespace uci
