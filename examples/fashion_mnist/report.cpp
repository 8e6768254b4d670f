#include "report.hpp"

#include "../common/files.hpp"
#include "../common/gnuplot.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>

namespace fashion {

namespace {

using repel::Index;
using repel::Matrix;

constexpr Index kShown = 8;    // pictures with votes
constexpr Index kFewest = 20;  // pictures in a bin of the reliability diagram, with fewer it is noise

/// Where the numbers behind the pictures go.
const std::string kData = "fashion_mnist-data/";

/// The evaluations of the first seed, a curve each.
std::vector<const Evaluation*> first_seed(const std::vector<Evaluation>& all) {
  std::vector<const Evaluation*> out;
  for (const Evaluation& e : all)
    if (e.seed == all.front().seed) out.push_back(&e);
  return out;
}

/// Small numbers of the table: mean and, from two seeds on, standard error.
std::string mean_and_error(const std::vector<double>& values, int digits) {
  double mean = 0, square = 0;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) mean += v / n;
  for (const double v : values) square += (v - mean) * (v - mean);
  std::string text = example::fixed(mean, digits);
  if (values.size() > 1) text += " ± " + example::fixed(std::sqrt(square / (n - 1) / n), digits);
  return text;
}

struct Column {
  std::string name;
  int digits;
  std::function<double(const Evaluation&)> value;
};

template <class P>
Index most_probable(const P& probabilities) {
  Index best = 0;
  probabilities.maxCoeff(&best);
  return best;
}

/// At the first pictures.
Votes votes(const repel::CategoricalPrediction<float>& prediction) {
  const Index shown = std::min<Index>(kShown, prediction.probabilities.cols()), members = prediction.members.cols();
  Votes out{Matrix<float>::Zero(kClasses, shown), prediction.probabilities.leftCols(shown)};
  for (Index i = 0; i < shown; ++i)
    for (Index m = 0; m < members; ++m)
      out.share(most_probable(prediction.members.col(m).segment(i * kClasses, kClasses)), i) +=
          1 / static_cast<float>(members);
  return out;
}

/// How much more accurate, in percent, some rows are than others on the same pictures, with the standard error of that
/// over the pictures: much smaller than those of the two accuracies, since the same pictures are hard for both.
std::string accuracy_gain(const std::vector<const Evaluation*>& rows, const std::vector<const Evaluation*>& than) {
  Eigen::VectorXd gain = Eigen::VectorXd::Zero(rows.front()->right.size());
  for (const Evaluation* e : rows) gain += e->right * (100 / static_cast<double>(rows.size()));
  for (const Evaluation* e : than) gain -= e->right * (100 / static_cast<double>(than.size()));
  const auto n = static_cast<double>(gain.size());
  const double mean = gain.mean(), square = (gain.array() - mean).square().sum();
  return example::fixed(mean, 2) + " ± " + example::fixed(std::sqrt(square / (n - 1) / n), 2);
}

/// The first seven are the paper's, in its order.
const std::vector<Column>& columns() {
  static const std::vector<Column> all{
      {"AUROC(H)", 3, [](const Evaluation& e) { return e.by_entropy.auroc; }},
      {"AUROC(MD)", 3, [](const Evaluation& e) { return e.by_disagreement.auroc; }},
      {"Accuracy", 2, [](const Evaluation& e) { return e.accuracy; }},
      {"H_o/H_t", 3, [](const Evaluation& e) { return e.by_entropy.mean_ratio; }},
      {"MD_o/MD_t", 3, [](const Evaluation& e) { return e.by_disagreement.mean_ratio; }},
      {"ECE", 3, [](const Evaluation& e) { return e.reliability.ece; }},
      {"NLL", 3, [](const Evaluation& e) { return e.nll; }},
      {"-log mean p", 3, [](const Evaluation& e) { return e.nll_of_mean_probability; }},
      {"Brier", 3, [](const Evaluation& e) { return e.brier; }},
      {"AUPR-in(H)", 3, [](const Evaluation& e) { return e.by_entropy.aupr_in; }},
      {"AUPR-out(H)", 3, [](const Evaluation& e) { return e.by_entropy.aupr_out; }},
      {"FPR95(H)", 3, [](const Evaluation& e) { return e.by_entropy.fpr95; }},
      {"FPR95(MD)", 3, [](const Evaluation& e) { return e.by_disagreement.fpr95; }},
      {"AUROC(MD text)", 3, [](const Evaluation& e) { return e.by_disagreement_of_text.auroc; }},
      {"MD_o/MD_t text", 3, [](const Evaluation& e) { return e.by_disagreement_of_text.mean_ratio; }},
      {"seconds", 0, [](const Evaluation& e) { return e.seconds; }}};
  return all;
}

std::string file_name(const Evaluation& e) { return e.method + ".dat"; }

/// The fraction of values in each of `bins` equal parts of [0, top].
std::string histogram(const Eigen::VectorXd& test, const Eigen::VectorXd& ood, double top) {
  constexpr int bins = 40;
  const auto counts = [&](const Eigen::VectorXd& values) {
    std::vector<double> out(bins, 0.0);
    for (const double v : values)
      out[static_cast<std::size_t>(std::clamp(static_cast<int>(v / top * bins), 0, bins - 1))] +=
          1 / static_cast<double>(values.size());
    return out;
  };
  const auto a = counts(test), b = counts(ood);
  std::ostringstream text;
  for (int k = 0; k < bins; ++k)
    text << (k + 0.5) * top / bins << ' ' << a[static_cast<std::size_t>(k)] << ' ' << b[static_cast<std::size_t>(k)]
         << '\n';
  return text.str();
}

/// A colour per method, the same in every picture.
std::string colour(const std::string& method) {
  static const char* const colours[] = {"#000000", "#888888", "#17becf", "#bcbd22", "#1f77b4",
                                        "#2ca02c", "#9467bd", "#d62728", "#ff7f0e", "#e377c2"};
  return colours[std::find(kMethods.begin(), kMethods.end(), method) - kMethods.begin()];
}

void draw_curves(const std::filesystem::path& out, const std::vector<const Evaluation*>& shown) {
  std::string by_h = "plot", by_md = "plot", reliability = "plot x with lines lc rgb '#999999' dt 2 notitle";
  for (std::size_t k = 0; k < shown.size(); ++k) {
    const Evaluation& e = *shown[k];
    const auto curve = [&](const Eigen::VectorXd& test, const Eigen::VectorXd& ood, const std::string& file) {
      std::ostringstream text;
      const auto points = repel::metrics::roc_curve(test, ood);
      double last_fpr = -1, last_tpr = -1;
      for (const auto& p : points)  // thousands of points: those that can be told apart on the picture
        if (p.fpr - last_fpr > 0.001 || p.tpr - last_tpr > 0.001 || &p == &points.back()) {
          text << p.fpr << ' ' << p.tpr << '\n';
          last_fpr = p.fpr, last_tpr = p.tpr;
        }
      example::write_file(out / (kData + file), text.str());
    };
    curve(e.entropy_test, e.entropy_ood, "roc_entropy_" + file_name(e));
    curve(e.disagreement_test, e.disagreement_ood, "roc_disagreement_" + file_name(e));
    std::ostringstream bins;
    for (const auto& bin : e.reliability.bins)
      if (bin.count >= kFewest) bins << bin.confidence << ' ' << bin.accuracy << ' ' << bin.count << '\n';
    example::write_file(out / (kData + "reliability_" + file_name(e)), bins.str());
    const auto line = [&](const std::string& file, const std::string& how, double figure) {
      return " '" + kData + file + "_" + file_name(e) + "' with " + how + " lw 2 lc rgb '" + colour(e.method) +
             "' title '" + e.method + " " + example::fixed(figure, 3) + "'";
    };
    const std::string comma = k > 0 ? "," : "";
    by_h += comma + line("roc_entropy", "lines", e.by_entropy.auroc);
    by_md += comma + line("roc_disagreement", "lines", e.by_disagreement.auroc);
    reliability += "," + line("reliability", "linespoints pt 7 ps 0.4", e.reliability.ece);
  }
  const std::string common =
      "set terminal pngcairo size 1200,600 font 'DejaVu Sans,11'\nset key bottom right samplen 2\nset grid lc rgb "
      "'#dddddd'\nset xrange [0:0.5]\nset yrange [0.5:1]\n";
  example::run_gnuplot(out, "roc",
                       common +
                           "set output 'roc.png'\nset multiplot layout 1,2\nset xlabel 'FashionMNIST taken for MNIST'\n"
                           "set ylabel 'MNIST found'\nset title 'by entropy (area)'\n" +
                           by_h + "\nset title 'by model disagreement (area)'\n" + by_md + "\nunset multiplot\n");
  example::run_gnuplot(
      out, "reliability",
      "set terminal pngcairo size 700,640 font 'DejaVu Sans,11'\nset key top left samplen 2\nset grid lc "
      "rgb '#dddddd'\nset output 'reliability.png'\nset xrange [0:1]\nset yrange [0:1]\nset xlabel "
      "'confidence'\nset ylabel 'accuracy'\nset title 'reliability on the test set (ECE); bins of 20 pictures or "
      "more'\n" +
          reliability + "\n");
}

void draw_histograms(const std::filesystem::path& out, const std::vector<const Evaluation*>& shown) {
  double top = 0.05;
  for (const Evaluation* e : shown) top = std::max(top, e->disagreement_ood.maxCoeff());
  std::ostringstream gp;
  gp << "set terminal pngcairo size 900," << 170 * shown.size() + 60
     << " font 'DejaVu Sans,10'\nset output 'histograms.png'\nset multiplot layout " << shown.size()
     << ",2\nset style fill transparent solid 0.5 noborder\nset boxwidth 1 relative\nunset ytics\nset yrange [0:0.15]\n"
        "set key top right samplen 1\n";
  for (const Evaluation* e : shown) {
    example::write_file(out / (kData + "entropy_" + file_name(*e)), histogram(e->entropy_test, e->entropy_ood, 1));
    example::write_file(out / (kData + "disagreement_" + file_name(*e)),
                        histogram(e->disagreement_test, e->disagreement_ood, top));
    const auto panel = [&](const std::string& what, double end) {
      const std::string file = kData + what + "_" + file_name(*e);
      gp << "set xrange [0:" << end << "]\nset title '" << e->method << ": " << what << "' offset 0,-0.7\nplot '"
         << file
         << "' using 1:2 with boxes lc rgb '#1f77b4' title 'test', '' using 1:3 with boxes lc rgb '#d62728' title "
            "'MNIST'\n";
    };
    panel("entropy", 1);
    panel("disagreement", top);
  }
  gp << "unset multiplot\n";
  example::run_gnuplot(out, "histograms", gp.str());
}

/// Pictures of both sets, each above what the members say.
void draw_votes(const std::filesystem::path& out, const Evaluation& e, const Images& test, const Images& ood) {
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(test.inputs.rows()))));
  std::ostringstream gp;
  const Index shown = std::min({kShown, test.inputs.cols(), ood.inputs.cols()});
  gp << "set terminal pngcairo size " << 130 * shown << ",640 font 'DejaVu Sans,9'\nset output 'votes.png'\n"
     << "set multiplot layout 4," << shown << " title '" << e.method
     << ": test pictures (label), then MNIST. Bars: votes for the ten classes; points: mean probabilities'\n"
     << "unset colorbox\nset palette gray negative\nunset key\n";
  const auto rows = [&](const Images& images, const Votes& votes, const std::string& name, bool labels) {
    gp << "unset tics\nset border 0\nset yrange [*:*] reverse\nset xrange [*:*]\nset size ratio -1\nset cbrange "
          "[0:1]\n";
    for (Index i = 0; i < shown; ++i) {
      std::ostringstream pixels, bars;
      for (Index r = 0; r < side; ++r)
        for (Index c = 0; c < side; ++c) pixels << images.inputs(r * side + c, i) << (c + 1 < side ? ' ' : '\n');
      for (Index c = 0; c < kClasses; ++c) bars << c << ' ' << votes.share(c, i) << ' ' << votes.mean(c, i) << '\n';
      example::write_file(out / (kData + name + "_" + std::to_string(i) + ".dat"), pixels.str());
      example::write_file(out / (kData + name + "_votes_" + std::to_string(i) + ".dat"), bars.str());
      gp << "set title '" << (labels ? std::to_string(images.labels(i)) : std::string()) << "' offset 0,-0.8\nplot '"
         << kData << name << '_' << i << ".dat' matrix with image\n";
    }
    gp << "unset title\nset size noratio\nset border 1\nset xtics 0,3,9 nomirror scale 0\nset yrange [0:1] "
          "noreverse\nset "
          "xrange [-0.7:9.7]\nset style fill solid 1 noborder\nset boxwidth 0.8\n";
    for (Index i = 0; i < shown; ++i)
      gp << "plot '" << kData << name << "_votes_" << i << ".dat' using 1:2 with boxes lc rgb '"
         << (labels ? "#1f77b4" : "#d62728") << "', '' using 1:3 with points pt 7 ps 0.5 lc rgb 'black'\n";
  };
  rows(test, e.votes_test, "test", true);
  rows(ood, e.votes_ood, "ood", false);
  gp << "unset multiplot\n";
  example::run_gnuplot(out, "votes", gp.str());
}

}  // namespace

Evaluation evaluate(const std::string& method, std::uint64_t seed, const Trained& trained, const Images& test,
                    const Images& ood) {
  namespace metrics = repel::metrics;
  Evaluation e;
  e.method = method;
  e.seed = seed;
  e.steps = trained.steps;
  e.seconds = trained.seconds;
  const Matrix<float> f = logits(trained.members, test.inputs);
  const auto on_test = predict(f), on_ood = predict(logits(trained.members, ood.inputs));
  const Matrix<float>&p = on_test.probabilities, &q = on_ood.probabilities;
  e.accuracy = 100 * metrics::accuracy(p, test.labels);
  e.nll = metrics::nll_of_logits(f, kClasses, test.labels);
  e.nll_of_mean_probability = metrics::nll_of_mean_probability(p, test.labels);
  e.brier = metrics::brier(p, test.labels);
  e.reliability = metrics::reliability(p, test.labels);
  e.entropy_test = metrics::entropy(p) / std::log(static_cast<double>(kClasses));
  e.entropy_ood = metrics::entropy(q) / std::log(static_cast<double>(kClasses));
  e.disagreement_test = metrics::disagreement(on_test.members, kClasses);
  e.disagreement_ood = metrics::disagreement(on_ood.members, kClasses);
  e.by_entropy = metrics::ood_detection(e.entropy_test, e.entropy_ood);
  e.by_disagreement = metrics::ood_detection(e.disagreement_test, e.disagreement_ood);
  constexpr auto of_text = metrics::Spread::root_mean_variance;
  e.by_disagreement_of_text = metrics::ood_detection(metrics::disagreement(on_test.members, kClasses, of_text),
                                                     metrics::disagreement(on_ood.members, kClasses, of_text));
  e.right.resize(p.cols());
  for (Index i = 0; i < p.cols(); ++i) e.right(i) = most_probable(p.col(i)) == test.labels(i);
  e.votes_test = votes(on_test);
  e.votes_ood = votes(on_ood);
  return e;
}

std::string write_tables(const std::filesystem::path& out, const std::vector<Evaluation>& all) {
  std::filesystem::create_directories(out);
  std::ostringstream csv, md;
  csv << "method,seed,steps";
  md << "| method | seeds | steps |";
  for (const Column& c : columns()) csv << ',' << c.name, md << ' ' << c.name << " |";
  csv << '\n';
  md << " above " << all.front().method << " |\n| --- | --- | --- |";
  for (std::size_t k = 0; k <= columns().size(); ++k) md << " --- |";
  md << '\n';
  for (const Evaluation& e : all) {
    csv << e.method << ',' << e.seed << ',' << e.steps;
    for (const Column& c : columns()) csv << ',' << example::fixed(c.value(e), 6);
    csv << '\n';
  }
  const auto rows_of = [&](const std::string& method) {
    std::vector<const Evaluation*> rows;
    for (const Evaluation& e : all)
      if (e.method == method) rows.push_back(&e);
    return rows;
  };
  for (const std::string& method : kMethods) {
    const std::vector<const Evaluation*> rows = rows_of(method);
    if (rows.empty()) continue;
    md << "| " << method << " | " << rows.size() << " | " << rows.front()->steps << " |";
    for (const Column& c : columns()) {
      std::vector<double> values;
      for (const Evaluation* e : rows) values.push_back(c.value(*e));
      md << ' ' << mean_and_error(values, c.digits) << " |";
    }
    md << ' ' << accuracy_gain(rows, rows_of(all.front().method)) << " |\n";
  }
  example::write_file(out / "table.csv", csv.str());
  example::write_file(out / "summary.csv", csv.str());  // as every example has it
  example::write_file(out / "table.md", md.str());
  return md.str();
}

void draw(const std::filesystem::path& out, const std::vector<Evaluation>& all, const Images& test, const Images& ood) {
  std::filesystem::create_directories(out / kData);
  const auto shown = first_seed(all);
  draw_curves(out, shown);
  draw_histograms(out, shown);
  draw_votes(out, *shown.back(), test, ood);
}

}  // namespace fashion
