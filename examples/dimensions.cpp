// The update rules as the dimension grows: four posteriors with known moments, rules as they are and calibrated.

#include "common/gnuplot.hpp"
#include "common/options.hpp"

#include <repel/diagnostics.hpp>
#include <repel/repel.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using repel::Index;
using Target = repel::AnyTarget<double>;

// The posteriors, each for any d. Their means are 0.

struct Posterior {
  std::string name, title;
  Target target;
  std::function<MatrixXd(Index d)> covariance;
  std::function<MatrixXd(Index d, Index n, std::uint64_t seed)> draws;
};

/// N(0, I).
Posterior normal() {
  return {"normal", "N(0, I)", Target([](const auto& w, auto&& g) { g = -w; }),
          [](Index d) -> MatrixXd { return MatrixXd::Identity(d, d); },
          [](Index d, Index n, std::uint64_t seed) -> MatrixXd { return repel::normal(d, n, seed); }};
}

/// x_k = ρ x_(k−1) + noise, with variances 1 and correlations ρ^|k−l|; its precision is tridiagonal.
Posterior autoregression() {
  static constexpr double rho = 0.8, rest = 1 - rho * rho;
  return {"AR(1)", "AR(1), correlation 0.8", Target([](const auto& w, auto&& g) {
            const Index d = w.rows();
            g = -w;
            if (d < 2) return;
            g.middleRows(1, d - 2) *= (1 + rho * rho) / rest;
            g.row(0) /= rest;
            g.row(d - 1) /= rest;
            g.topRows(d - 1) += rho / rest * w.bottomRows(d - 1);
            g.bottomRows(d - 1) += rho / rest * w.topRows(d - 1);
          }),
          [](Index d) -> MatrixXd {
            return MatrixXd::NullaryExpr(
                d, d, [](Index k, Index l) { return std::pow(rho, std::abs(static_cast<double>(k - l))); });
          },
          [](Index d, Index n, std::uint64_t seed) {
            MatrixXd x = repel::normal(d, n, seed);
            for (Index k = 1; k < d; ++k) x.row(k) = rho * x.row(k - 1) + std::sqrt(rest) * x.row(k);
            return x;
          }};
}

/// Two modes of the same weight at ±2 in the first coordinate, of standard deviation 0.5; the others N(0, 1).
Posterior two_modes() {
  static constexpr double at = 2, variance = 0.25;
  return {"two-modes", "two modes, at ±2 in the first coordinate", Target([](const auto& w, auto&& g) {
            g = -w;
            g.row(0).array() += at * (at / variance * w.row(0).array()).tanh();
            g.row(0) /= variance;
          }),
          [](Index d) {
            MatrixXd c = MatrixXd::Identity(d, d);
            c(0, 0) = at * at + variance;
            return c;
          },
          [](Index d, Index n, std::uint64_t seed) {
            MatrixXd x = repel::normal(d, n, seed);
            repel::Random random(repel::stream_seed(seed, 1));
            for (Index i = 0; i < n; ++i) x(0, i) = std::sqrt(variance) * x(0, i) + (random.uniform() < 0.5 ? -at : at);
            return x;
          }};
}

/// Neal's funnel: v ~ N(0, 1.5²), the others N(0, exp(v)).
Posterior funnel() {
  static constexpr double variance = 1.5 * 1.5;
  return {"funnel", "funnel", Target([](const auto& w, auto&& g) {
            const Index others = w.rows() - 1;
            for (Index i = 0; i < w.cols(); ++i) {
              const double v = w(0, i), precision = std::exp(-v);
              g.col(i).tail(others) = -precision * w.col(i).tail(others);
              g(0, i) =
                  -v / variance - 0.5 * (static_cast<double>(others) - precision * w.col(i).tail(others).squaredNorm());
            }
          }),
          [](Index d) {
            MatrixXd c = std::exp(variance / 2) * MatrixXd::Identity(d, d);
            c(0, 0) = variance;
            return c;
          },
          [](Index d, Index n, std::uint64_t seed) {
            MatrixXd x = repel::normal(d, n, seed);
            x.row(0) *= std::sqrt(variance);
            for (Index i = 0; i < n; ++i) x.col(i).tail(d - 1) *= std::exp(0.5 * x(0, i));
            return x;
          }};
}

// The rules.

const std::vector<std::string> kRules{"SVGD",      "SVGD-Imq",        "KDE",       "SGE",      "SSGE",
                                      "KDE-total", "KDE-coordinates", "SGE-total", "SGE-full", "SGE-shrunk"};
const std::vector<std::string> kQuickRules{"SVGD", "KDE", "SGE", "KDE-total", "SGE-full", "SGE-shrunk"};
const std::string kDraws = "exact draws";  // in the place of a rule: as many draws of the posterior itself
constexpr int kDrawSets = 20;              // and medians over so many sets of them

struct Run {
  MatrixXd particles;
  repel::Report report;
};

Run run_rule(const std::string& name, const Target& target, const MatrixXd& start, Index steps, double learning_rate) {
  using namespace repel;
  const auto with = [&](const auto& rule) {
    auto sampler =
        weight_space(target, rule, Scheduled{Adam{.learning_rate = learning_rate}, schedule::Cosine{.steps = steps}});
    auto state = sampler.init(start);
    const Report report = run(sampler, state, steps, StopOnInterrupt{});
    return Run{state.particles, report};
  };
  if (name == "SVGD") return with(Svgd{});
  if (name == "SVGD-Imq") return with(Svgd{Imq{}});
  if (name == "KDE") return with(Wgd{Kde{}});
  if (name == "SGE") return with(Wgd{Sge{}});
  if (name == "SSGE") return with(Wgd{Ssge{}});
  if (name == "KDE-total") return with(Wgd{Calibrated{Kde{}, Calibration::total}});
  if (name == "KDE-coordinates") return with(Wgd{Calibrated{Kde{}, Calibration::coordinates}});
  if (name == "SGE-total") return with(Wgd{Calibrated{Sge{}, Calibration::total}});
  if (name == "SGE-full") return with(Wgd{Calibrated{Sge{}, Calibration::full}});
  if (name == "SGE-shrunk") return with(Wgd{Calibrated{Sge{}, Calibration::shrunk}});
  throw std::invalid_argument("no rule is called " + name);
}

// What is measured.

struct Row {
  std::string posterior, rule;
  Index d = 0, n = 0, steps = 0;
  bool finished = true, like_draws = true;
  double variance = 0;          // mean over the coordinates, each over the truth
  double first = 0;             // that of the first coordinate
  double smaller_side = 0;      // share of the particles on the side of 0 with fewer of them, in the first coordinate
  double within_sides = 0;      // the variance of the first coordinate about the mean of each side; 0.25 for two modes
  double mean_error = 0;        // largest, in standard deviations of the truth
  double covariance_error = 0;  // largest |Ĉ − C|_kl / √(C_kk C_ll)
  double ksd = 0, temperature = 0, seconds = 0;

  /// Within 10 % of the truth; so must be the first coordinate where it is unlike the others.
  bool right() const {
    return finished && std::abs(variance - 1) <= 0.1 && (!first_matters() || std::abs(first - 1) <= 0.1);
  }
  bool first_matters() const { return posterior == "two-modes" || posterior == "funnel"; }
};

Row measure(const MatrixXd& x, const MatrixXd& scores, const MatrixXd& truth, double h) {
  Row r;
  r.d = x.rows();
  r.n = x.cols();
  const VectorXd mean = x.rowwise().mean(), sd = truth.diagonal().cwiseSqrt();
  const MatrixXd centred = sd.cwiseInverse().asDiagonal() * (x.colwise() - mean);
  const MatrixXd c = centred * centred.transpose() / static_cast<double>(r.n - 1);
  const MatrixXd correlations = sd.cwiseInverse().asDiagonal() * truth * sd.cwiseInverse().asDiagonal();
  r.variance = c.diagonal().mean();
  r.first = c(0, 0);
  double within = 0, sides = 0;
  Index fewest = r.n;
  for (const bool positive : {false, true}) {
    double sum = 0, squares = 0;
    Index count = 0;
    for (Index i = 0; i < r.n; ++i)
      if ((x(0, i) > 0) == positive) {
        ++count;
        const double before = x(0, i) - sum / static_cast<double>(std::max<Index>(1, count - 1));
        sum += x(0, i);
        if (count > 1) squares += before * (x(0, i) - sum / static_cast<double>(count));  // Welford's update
      }
    within += squares;
    sides += count > 0 ? 1 : 0;
    fewest = std::min(fewest, count);
  }
  r.smaller_side = static_cast<double>(fewest) / static_cast<double>(r.n);
  r.within_sides = within / std::max(1.0, static_cast<double>(r.n) - sides);
  r.mean_error = mean.cwiseQuotient(sd).cwiseAbs().maxCoeff();
  r.covariance_error = (c - correlations).cwiseAbs().maxCoeff();
  r.ksd = std::sqrt(repel::diagnostics::ksd(x, scores, repel::Imq{repel::FixedBandwidth{h}}).v);
  r.temperature = repel::temperature(x, scores);
  return r;
}

/// The medians over sets of exact draws, and their largest errors but one: what a rule is held to.
struct Draws {
  Row median;
  double mean_error, covariance_error, least_within, most_within;

  bool like(const Row& r) const {
    // On two modes the covariance is that of the modes' places: particles may sit in both and have no spread there.
    const bool within = r.within_sides >= least_within && r.within_sides <= most_within;
    return r.mean_error <= mean_error && r.covariance_error <= covariance_error &&
           (median.posterior != "two-modes" || within);
  }
};

Draws measure_draws(const Posterior& posterior, const MatrixXd& truth, Index d, Index n, std::uint64_t seed,
                    double& h) {
  std::vector<Row> sets;
  Target target = posterior.target;
  MatrixXd scores(d, n);
  for (int i = 0; i < kDrawSets; ++i) {
    const MatrixXd x = posterior.draws(d, n, repel::stream_seed(seed, static_cast<std::uint64_t>(i + 1)));
    // One bandwidth for the discrepancy in each cell: only then it compares.
    if (i == 0) h = repel::bandwidth(repel::diagnostics::SteinDefault{}, x);
    target(x, scores);
    sets.push_back(measure(x, scores, truth, h));
  }
  const auto ranked = [&](double Row::*field, int rank) {
    std::vector<double> values;
    for (const Row& r : sets) values.push_back(r.*field);
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(rank)];
  };
  Draws out{sets.front(), ranked(&Row::mean_error, kDrawSets - 2), ranked(&Row::covariance_error, kDrawSets - 2),
            ranked(&Row::within_sides, 0), ranked(&Row::within_sides, kDrawSets - 1)};
  for (double Row::*field : {&Row::variance, &Row::first, &Row::smaller_side, &Row::within_sides, &Row::mean_error,
                             &Row::covariance_error, &Row::ksd, &Row::temperature})
    out.median.*field = ranked(field, kDrawSets / 2);
  out.median.posterior = posterior.name;
  out.median.rule = kDraws;
  return out;
}

// What is said about it.

/// Significant digits, without an exponent where it can be avoided.
std::string short_number(double value, int digits = 3) {
  std::ostringstream out;
  out.precision(digits);
  out << value;
  return out.str();
}

void write_table(const std::vector<Row>& rows, const std::filesystem::path& out, bool show) {
  example::Table table({"posterior", "d", "n", "rule", "steps", "variance", "first_variance", "smaller_side",
                        "within_sides", "mean_error", "covariance_error", "ksd", "T", "ms_per_step", "seconds",
                        "variance_right", "like_draws"});
  for (const Row& r : rows) {
    const bool draws = r.rule == kDraws;
    table.add({r.posterior, std::to_string(r.d), std::to_string(r.n), r.rule, draws ? "" : std::to_string(r.steps),
               short_number(r.variance), short_number(r.first), example::fixed(r.smaller_side, 2),
               short_number(r.within_sides), short_number(r.mean_error), short_number(r.covariance_error),
               short_number(r.ksd), short_number(r.temperature),
               draws ? "" : example::fixed(1e3 * r.seconds / static_cast<double>(std::max<Index>(1, r.steps)), 3),
               draws ? "" : example::fixed(r.seconds, 3),
               draws       ? ""
               : r.right() ? "yes"
                           : "no",
               draws          ? ""
               : r.like_draws ? "yes"
                              : "no"});
  }
  if (show)
    table.write(out);
  else
    repel::write_file(out / "summary.csv", table.csv());
}

/// All rules on one posterior with one d and n.
struct Cell {
  std::vector<Row> rules;
  Row draws;

  /// Those with the variance right, the cheapest first.
  std::vector<Row> right() const {
    std::vector<Row> out;
    std::copy_if(rules.begin(), rules.end(), std::back_inserter(out), [](const Row& r) { return r.right(); });
    std::sort(out.begin(), out.end(), [](const Row& a, const Row& b) { return a.seconds < b.seconds; });
    return out;
  }

  /// The cheapest of those like exact draws, or of all if there are none. Times scatter, so of those that take at most
  /// a quarter longer the one with the best covariance.
  Row choice() const {
    std::vector<Row> all = right();
    std::stable_partition(all.begin(), all.end(), [](const Row& r) { return r.like_draws; });
    Row best = all.front();
    for (const Row& r : all)
      if (r.like_draws == best.like_draws && r.seconds <= 1.25 * all.front().seconds &&
          r.covariance_error < best.covariance_error)
        best = r;
    return best;
  }

  Row nearest() const {
    return *std::min_element(rules.begin(), rules.end(), [](const Row& a, const Row& b) {
      return std::abs(std::log(a.variance)) < std::abs(std::log(b.variance));
    });
  }
};

std::vector<Cell> cells_of(const std::vector<Row>& rows) {
  std::vector<Cell> cells;
  for (const Row& r : rows)
    if (r.rule == kDraws)
      cells.push_back({{}, r});  // they come first
    else
      cells.back().rules.push_back(r);
  std::erase_if(cells, [](const Cell& c) { return c.rules.empty(); });
  return cells;
}

void say_which(const std::vector<Cell>& cells) {
  std::cout << "\nWhich rule for which d and n. Named are those whose marginal variance is within 10 % of the truth on "
               "average (on\ntwo modes and the funnel that of the first coordinate, too), the cheapest first; with a * "
               "where the worst "
               "mean and the worst\ncovariance, too, are no farther from the truth than in 19 of 20 sets of as many "
               "exact draws (and on two modes the\nvariance within a mode is one that those sets have).\n";
  for (const Cell& cell : cells) {
    std::cout << cell.draws.posterior << ", d = " << cell.draws.d << ", n = " << cell.draws.n << ": ";
    const std::vector<Row> right = cell.right();
    if (right.empty()) {
      const Row near = cell.nearest();
      std::cout << "none; nearest " << near.rule << " with " << short_number(near.variance, 2) << " of the variance";
      if (near.first_matters()) std::cout << ", " << short_number(near.first, 2) << " in the first coordinate";
      std::cout << '\n';
      continue;
    }
    for (std::size_t i = 0; i < right.size(); ++i)
      std::cout << (i == 0 ? "" : ", ") << right[i].rule << (right[i].like_draws ? "*" : "");
    const Row choice = cell.choice();
    std::cout << (choice.like_draws ? "; take " : "; none with a *, the cheapest ") << choice.rule << " ("
              << short_number(choice.seconds, 2) << " s)\n";
  }
}

/// The same as a table in Markdown: the choice by posterior and n (rows) and d (columns).
void write_choices(const std::vector<Cell>& cells, const std::filesystem::path& out) {
  std::vector<Index> dimensions;
  std::vector<std::pair<std::string, Index>> lines;
  std::map<std::pair<std::pair<std::string, Index>, Index>, std::string> entries;
  const auto insert = [](auto& list, const auto& value) {
    if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
  };
  for (const Cell& cell : cells) {
    const std::pair line{cell.draws.posterior, cell.draws.n};
    insert(lines, line);
    insert(dimensions, cell.draws.d);
    std::string& entry = entries[{line, cell.draws.d}];
    if (cell.right().empty()) {
      entry = "none";
    } else {
      const Row choice = cell.choice();
      entry = choice.like_draws ? choice.rule : '(' + choice.rule + ')';
    }
  }
  std::sort(dimensions.begin(), dimensions.end());
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return a.first == b.first && a.second < b.second;  // posteriors stay in their order
  });
  std::string text = "| posterior | n |", rule = "| --- | --- |";
  for (const Index d : dimensions) {
    text += " d = " + std::to_string(d) + " |";
    rule += " --- |";
  }
  text += '\n' + rule + '\n';
  for (const auto& line : lines) {
    text += "| " + line.first + " | " + std::to_string(line.second) + " |";
    for (const Index d : dimensions) {
      const auto entry = entries.find({line, d});
      text += ' ' + (entry == entries.end() ? std::string("–") : entry->second) + " |";
    }
    text += '\n';
  }
  repel::write_file(out / "which.md", text);
  std::cout << "the choices as a table: " << (out / "which.md").string() << '\n';
}

/// A panel per posterior: the variance over the truth against d, for one n. Rules as they are: dashed, open symbols;
/// calibrated: solid, filled ones.
void draw(const std::vector<Row>& rows, const std::vector<Posterior>& posteriors, Index n,
          const std::filesystem::path& out) {
  const std::string name = "dimensions", folder = name + "-data/";
  std::filesystem::create_directories(out / folder);
  std::vector<std::string> rules{kDraws};
  double first = 1e9, last = 1;
  for (const Row& r : rows) {
    if (r.n != n) continue;
    if (std::find(rules.begin(), rules.end(), r.rule) == rules.end()) rules.push_back(r.rule);
    first = std::min(first, static_cast<double>(r.d));
    last = std::max(last, static_cast<double>(r.d));
  }
  const std::map<std::string, std::string> styles{{kDraws, "dt 3 lw 1.5 pt 2 ps 0.9 lc rgb '#888888'"},
                                                  {"SVGD", "dt 2 lw 2 pt 6 ps 1.3 lc rgb '#0072b2'"},
                                                  {"SVGD-Imq", "dt 4 lw 2 pt 4 ps 1.2 lc rgb '#56b4e9'"},
                                                  {"KDE", "dt 2 lw 2 pt 8 ps 1.4 lc rgb '#a03000'"},
                                                  {"SGE", "dt 4 lw 2 pt 10 ps 1.4 lc rgb '#00664b'"},
                                                  {"SSGE", "dt 5 lw 2 pt 12 ps 1.4 lc rgb '#883377'"},
                                                  {"KDE-total", "dt 1 lw 2 pt 9 ps 1.3 lc rgb '#d55e00'"},
                                                  {"KDE-coordinates", "dt 1 lw 2 pt 5 ps 1 lc rgb '#e69f00'"},
                                                  {"SGE-total", "dt 1 lw 2 pt 11 ps 1.3 lc rgb '#33aa77'"},
                                                  {"SGE-full", "dt 1 lw 2.5 pt 7 ps 1.2 lc rgb '#000000'"},
                                                  {"SGE-shrunk", "dt 1 lw 2 pt 13 ps 1.5 lc rgb '#aa4499'"}};
  std::ostringstream gp;
  gp << "set encoding utf8\nset terminal pngcairo size 1200,940 font 'DejaVu Sans,13'\nset output '" << name
     << ".png'\n"
     << "set multiplot\nunset key\nset logscale xy\nset border 15 lc rgb '#666666'\nset tics out nomirror\n"
     << "set format y '%g'\nset grid y lc rgb '#dddddd' lt 1\n"
     << "set xrange [" << first / 1.4 << ':' << last * 1.4 << "]\nset xtics (1,2,5,10,20,50,100,200,500,1000)\n";
  for (std::size_t p = 0; p < posteriors.size(); ++p) {
    const auto column = static_cast<double>(p % 2), line = static_cast<double>(p / 2);
    double low = 0.5, high = 2;
    for (const Row& r : rows)
      if (r.n == n && r.posterior == posteriors[p].name && r.variance > 0) {
        low = std::min(low, r.variance);
        high = std::max(high, r.variance);
      }
    gp << "set lmargin at screen " << 0.085 + 0.5 * column << "\nset rmargin at screen " << 0.495 + 0.5 * column
       << "\nset tmargin at screen " << 0.96 - 0.43 * line << "\nset bmargin at screen " << 0.61 - 0.43 * line
       << "\nset yrange [" << low / 1.4 << ':' << high * 1.4 << "]\nset ytics ("
       << (high < 100 * low ? "0.01,0.02,0.05,0.1,0.2,0.5,1,2,5,10,20" : "0.0001,0.001,0.01,0.1,1,10,100,1000,10000")
       << ")\nset title '" << posteriors[p].title << "' font ',15' offset 0,-0.5\n"
       << (line > 0 || p + 2 >= posteriors.size() ? "set xlabel 'dimension d' offset 0,0.4\n" : "unset xlabel\n")
       << (p % 2 == 0 ? "set ylabel 'variance / truth' offset 0.6,0\n" : "unset ylabel\n")
       << "plot 1 with lines lw 4 lc rgb '#bbbbbb'";
    // Symbols side by side, as many lie on the truth.
    double aside = std::pow(1.045, -0.5 * static_cast<double>(rules.size() - 1));
    for (const std::string& rule : rules) {
      std::string text;
      for (const Row& r : rows)
        if (r.rule == rule && r.n == n && r.posterior == posteriors[p].name && r.variance > 0)
          text += std::to_string(r.d) + ' ' + example::detail::number(r.variance) + '\n';
      const std::string shift = example::detail::number(aside);
      aside *= 1.045;
      if (text.empty()) continue;
      const std::string file = folder + std::to_string(p) + '-' + (rule == kDraws ? "draws" : rule) + ".txt";
      repel::write_file(out / file, text);
      gp << ", '" << file << "' using ($1*" << shift << "):2 with linespoints " << styles.at(rule);
    }
    gp << '\n';
  }
  // The key: an empty plot along the bottom.
  gp << "unset logscale\nunset border\nunset tics\nunset grid\nunset xlabel\nunset ylabel\nunset title\n"
     << "set lmargin at screen 0.02\nset rmargin at screen 0.98\nset tmargin at screen 0.115\n"
     << "set bmargin at screen 0.0\nset xrange [0:1]\nset yrange [0:1]\n"
     << "set key at screen 0.5,0.11 center top maxrows 3 Left reverse width 2 samplen 3.2 spacing 1.15 font "
        "',13'\nplot ";
  for (const std::string& rule : rules) gp << "NaN with linespoints " << styles.at(rule) << " title '" << rule << "', ";
  gp << "NaN with lines lw 4 lc rgb '#bbbbbb' title 'truth (n = " << n << ")'\nunset multiplot\n";
  example::run_gnuplot(out, name, gp.str());
}

/// What --full leaves out, for time.
bool is_left_out(const std::string& rule, Index d, Index n) {
  if (rule == "SSGE") return d > 20 || n > 100;
  return n > 100 && d > 100;
}

}  // namespace

int main(int argc, char** argv) try {
  example::Options options;
  const std::vector<Posterior> all{normal(), autoregression(), two_modes(), funnel()};
  std::vector<std::string> chosen{"normal", "AR(1)", "two-modes", "funnel"};
  std::vector<long> dimensions, particles;
  double learning_rate = 0.1;
  bool rules_chosen = false;
  const auto more = [&](CLI::App& app) {
    app.get_option("--paper")->description("The same as --full");
    app.add_flag("--full", options.paper, "All dimensions, numbers of particles and rules: some 20 minutes");
    app.get_option("--methods")
        ->description("Rules to run, separated by commas [SVGD,KDE,SGE,KDE-total,SGE-full,SGE-shrunk, with --full all]")
        ->default_str("")
        ->each([&](const std::string&) { rules_chosen = true; });
    app.remove_option(app.get_option("--particles"));
    app.add_option("--particles", particles, "Numbers of particles [100, with --full 50,100,500]")
        ->delimiter(',')
        ->check(CLI::Range(2L, 1'000'000L));
    app.add_option("--dimensions", dimensions, "Dimensions [2,10,50, with --full 1,2,5,10,20,50,100,200,500]")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    app.add_option("--posteriors", chosen, "Posteriors to sample, separated by commas")
        ->delimiter(',')
        ->check(CLI::IsMember(chosen))
        ->capture_default_str();
    app.add_option("--learning-rate", learning_rate, "Of Adam, at the first step")->capture_default_str();
  };
  if (const auto code = example::parse(argc, argv,
                                       "Samples four posteriors in more and more dimensions with rules as they are and "
                                       "calibrated, and says which rule to take for which d and n.",
                                       "dimensions", /*quick=*/{0, 500}, /*paper=*/{0, 1000}, kRules, options, more))
    return *code;
  const bool full = options.paper;
  if (!full && !rules_chosen) options.methods = kQuickRules;
  if (particles.empty()) particles = full ? std::vector<long>{50, 100, 500} : std::vector<long>{100};
  if (dimensions.empty())
    dimensions = full ? std::vector<long>{1, 2, 5, 10, 20, 50, 100, 200, 500} : std::vector<long>{2, 10, 50};

  struct Task {
    const Posterior* posterior;
    Index d, n;
  };
  std::vector<Task> tasks;
  std::vector<Posterior> posteriors;
  for (const Posterior& posterior : all)
    if (std::find(chosen.begin(), chosen.end(), posterior.name) != chosen.end()) posteriors.push_back(posterior);
  for (const long n : particles)  // the dearest last, so that Ctrl-C costs little
    for (const long d : dimensions)
      for (const Posterior& posterior : posteriors) tasks.push_back({&posterior, d, n});

  repel::StopOnInterrupt watch;  // between the runs, too: each has one of its own
  watch.on_start(0, 0);
  std::filesystem::create_directories(options.out);
  std::vector<Row> rows;
  for (std::size_t i = 0; i < tasks.size() && !repel::StopOnInterrupt::interrupted(); ++i) {
    const auto [posterior, d, n] = tasks[i];
    std::vector<std::string> rules;
    for (const std::string& rule : kRules)
      if (std::find(options.methods.begin(), options.methods.end(), rule) != options.methods.end() &&
          !(full && is_left_out(rule, d, n)) && !(rule == "SGE-full" && n <= d))
        rules.push_back(rule);
    if (rules.empty()) continue;
    std::cerr << '[' << i + 1 << '/' << tasks.size() << "] " << posterior->name << ", d = " << d << ", n = " << n
              << ':';

    Target target = posterior->target;
    const MatrixXd truth = posterior->covariance(d);
    double h = 0;
    const Draws draws = measure_draws(*posterior, truth, d, n, options.seed, h);
    rows.push_back(draws.median);
    MatrixXd scores(d, n);
    const MatrixXd start = repel::normal(d, n, options.seed, std::sqrt(3.0));
    double seconds = 0;
    for (const std::string& rule : rules) {
      const Run run = run_rule(rule, target, start, options.steps, learning_rate);
      if (repel::StopOnInterrupt::interrupted()) break;  // half a run compares with nothing
      target(run.particles, scores);
      Row row = measure(run.particles, scores, truth, h);
      row.posterior = posterior->name;
      row.rule = rule;
      row.steps = run.report.steps;
      row.finished = run.report.finished();
      row.seconds = run.report.seconds;
      row.like_draws = draws.like(row);
      rows.push_back(row);
      seconds += run.report.seconds;
      std::cerr << ' ' << rule << (run.report.finished() ? "" : " (not finite)") << std::flush;
    }
    std::cerr << "  " << example::fixed(seconds, 1) << " s\n";
    write_table(rows, options.out, false);
  }
  const bool interrupted = repel::StopOnInterrupt::interrupted();
  if (interrupted) std::cerr << "interrupted: writing what is done\n";
  watch.on_finish({});

  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const auto rank = [&](const Row& r) {
      return std::find_if(posteriors.begin(), posteriors.end(),
                          [&](const Posterior& p) { return p.name == r.posterior; });
    };
    return rank(a) < rank(b);
  });
  write_table(rows, options.out, true);
  if (!rows.empty()) {
    const bool usual = std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.n == 100; });
    draw(rows, posteriors, usual ? 100 : rows.front().n, options.out);
  }
  const std::vector<Cell> cells = cells_of(rows);
  write_choices(cells, options.out);
  say_which(cells);
  return interrupted ? 130 : 0;
} catch (const std::exception& error) {
  std::cerr << "dimensions: " << error.what() << '\n';
  return 1;
}
