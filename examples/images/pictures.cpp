#include "../common/files.hpp"
#include "../common/gnuplot.hpp"
#include "../common/statistics.hpp"
#include "report.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <sstream>

namespace images {

namespace {

using repel::Index;

constexpr Index kFewest = 20;  // pictures in a bin of the reliability diagram, with fewer it is noise

/// Where to draw, and what belongs to all pictures.
struct Canvas {
  const Problem& problem;
  std::filesystem::path out;
  std::string data;                  ///< folder of the numbers behind the pictures, within `out`
  std::vector<std::string> methods;  ///< all of them, in order

  void write(const std::string& file, const std::string& text) const { example::write_file(out / (data + file), text); }

  /// A colour per method, the same in every picture.
  std::string colour(const std::string& method) const {
    static const char* const colours[] = {"#000000", "#888888", "#17becf", "#bcbd22", "#1f77b4",
                                          "#2ca02c", "#9467bd", "#d62728", "#ff7f0e", "#e377c2"};
    static const char* const others[] = {"#8c564b", "#005f5f", "#aa00ff", "#7f7f00", "#00aa55", "#003f7f", "#aa5500"};
    const auto known = std::find(kMethods.begin(), kMethods.end(), method);
    if (known != kMethods.end()) return colours[known - kMethods.begin()];
    std::size_t place = 0;
    for (const std::string& other : methods) {
      if (other == method) break;
      place += std::find(kMethods.begin(), kMethods.end(), other) == kMethods.end();
    }
    return others[place % std::size(others)];
  }
};

/// As gnuplot shows it: an @ would change the text that follows.
std::string label(const std::string& method) {
  const auto at = method.find('@');
  return at == std::string::npos ? method : method.substr(0, at) + " τ = " + method.substr(at + 1);
}

/// Of files: the first set's have none, the others' their name.
std::string ending(const Evaluation& e, std::size_t ood) {
  if (ood == 0) return {};
  std::string text = "_";
  for (const char c : e.ood[ood].name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}

/// The evaluations of the first seed, a curve each.
std::vector<const Evaluation*> first_seed(const std::vector<Evaluation>& all) {
  std::vector<const Evaluation*> out;
  for (const Evaluation& e : all)
    if (e.seed == all.front().seed) out.push_back(&e);
  return out;
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

void draw_roc(const Canvas& canvas, const std::vector<const Evaluation*>& shown, std::size_t ood) {
  const std::string end = ending(*shown.front(), ood), elsewhere = shown.front()->ood[ood].name;
  std::string by_h = "plot", by_md = "plot";
  for (std::size_t k = 0; k < shown.size(); ++k) {
    const Evaluation& e = *shown[k];
    const OodEvaluation& o = e.ood[ood];
    const auto curve = [&](const Eigen::VectorXd& test, const Eigen::VectorXd& other, const std::string& file) {
      std::ostringstream text;
      const auto points = repel::metrics::roc_curve(test, other);
      double last_fpr = -1, last_tpr = -1;
      for (const auto& p : points)  // thousands of points: those that can be told apart on the picture
        if (p.fpr - last_fpr > 0.001 || p.tpr - last_tpr > 0.001 || &p == &points.back()) {
          text << p.fpr << ' ' << p.tpr << '\n';
          last_fpr = p.fpr, last_tpr = p.tpr;
        }
      canvas.write(file, text.str());
    };
    const std::string h_file = "roc_entropy" + end + "_" + file_name(e),
                      md_file = "roc_disagreement" + end + "_" + file_name(e);
    curve(e.entropy, o.entropy, h_file);
    curve(e.disagreement, o.disagreement, md_file);
    const auto line = [&](const std::string& file, double figure) {
      return std::string(k > 0 ? "," : "") + " '" + canvas.data + file + "' with lines lw 2 lc rgb '" +
             canvas.colour(e.method) + "' title '" + label(e.method) + " " + example::fixed(figure, 3) + "'";
    };
    by_h += line(h_file, o.by_entropy.auroc);
    by_md += line(md_file, o.by_disagreement.auroc);
  }
  const bool corner = canvas.problem.roc_corner;
  const std::string name = "roc" + end;
  example::run_gnuplot(
      canvas.out, name,
      "set terminal pngcairo size 1200,600 font 'DejaVu Sans,11'\nset key bottom right samplen 2\nset grid lc rgb "
      "'#dddddd'\nset xrange [0:" +
          std::string(corner ? "0.5" : "1") + "]\nset yrange [" + (corner ? "0.5" : "0") + ":1]\nset output '" + name +
          ".png'\nset multiplot layout 1,2\nset xlabel '" + canvas.problem.data_name + " taken for " + elsewhere +
          "'\nset ylabel '" + elsewhere + " found'\nset title 'by entropy (area)'\n" + by_h +
          "\nset title 'by model disagreement (area)'\n" + by_md + "\nunset multiplot\n");
}

void draw_reliability(const Canvas& canvas, const std::vector<const Evaluation*>& shown) {
  std::string reliability = "plot x with lines lc rgb '#999999' dt 2 notitle";
  for (const Evaluation* e : shown) {
    std::ostringstream bins;
    for (const auto& bin : e->reliability.bins)
      if (bin.count >= kFewest) bins << bin.confidence << ' ' << bin.accuracy << ' ' << bin.count << '\n';
    canvas.write("reliability_" + file_name(*e), bins.str());
    if (bins.str().empty()) continue;  // gnuplot refuses empty files
    reliability += ", '" + canvas.data + "reliability_" + file_name(*e) +
                   "' with linespoints pt 7 ps 0.4 lw 2 lc rgb '" + canvas.colour(e->method) + "' title '" +
                   label(e->method) + " " + example::fixed(e->reliability.ece, 3) + "'";
  }
  example::run_gnuplot(
      canvas.out, "reliability",
      "set terminal pngcairo size 700,640 font 'DejaVu Sans,11'\nset key top left samplen 2\nset grid lc "
      "rgb '#dddddd'\nset output 'reliability.png'\nset xrange [0:1]\nset yrange [0:1]\nset xlabel "
      "'confidence'\nset ylabel 'accuracy'\nset title 'reliability on the test set (ECE); bins of 20 pictures or "
      "more'\n" +
          reliability + "\n");
}

void draw_histograms(const Canvas& canvas, const std::vector<const Evaluation*>& shown, std::size_t ood) {
  const std::string end = ending(*shown.front(), ood), name = "histograms" + end;
  double top = 0.05;
  for (const Evaluation* e : shown) top = std::max(top, e->ood[ood].disagreement.maxCoeff());
  std::ostringstream gp;
  gp << "set terminal pngcairo size 900," << 170 * shown.size() + 60 << " font 'DejaVu Sans,10'\nset output '" << name
     << ".png'\nset multiplot layout " << shown.size()
     << ",2\nset style fill transparent solid 0.5 noborder\nset boxwidth 1 relative\nunset ytics\nset yrange [0:0.15]\n"
        "set key top right samplen 1\n";
  for (const Evaluation* e : shown) {
    const OodEvaluation& o = e->ood[ood];
    const auto panel = [&](const std::string& what, const std::string& numbers, double right) {
      const std::string file = what + end + "_" + file_name(*e);
      canvas.write(file, numbers);
      gp << "set xrange [0:" << right << "]\nset title '" << label(e->method) << ": " << what
         << "' offset 0,-0.7\nplot '" << canvas.data << file
         << "' using 1:2 with boxes lc rgb '#1f77b4' title 'test', '' using 1:3 with boxes lc rgb '#d62728' title '"
         << o.name << "'\n";
    };
    panel("entropy", histogram(e->entropy, o.entropy, 1), 1);
    panel("disagreement", histogram(e->disagreement, o.disagreement, top), top);
  }
  gp << "unset multiplot\n";
  example::run_gnuplot(canvas.out, name, gp.str());
}

/// The pixels of a picture for gnuplot: a matrix of greys, or x, y, red, green and blue.
std::string pixels_of(const Problem& problem, const Eigen::Ref<const Eigen::VectorXf>& picture) {
  std::ostringstream text;
  const Index side = problem.side, plane = side * side;
  const auto at = [&](Index row) { return std::clamp(problem.pixel(picture(row), row), 0.0, 1.0); };
  for (Index r = 0; r < side; ++r)
    for (Index c = 0; c < side; ++c) {
      const Index here = r * side + c;
      if (problem.channels == 1) {
        text << at(here) << (c + 1 < side ? ' ' : '\n');
        continue;
      }
      text << c << ' ' << r;
      for (Index channel = 0; channel < 3; ++channel) text << ' ' << std::lround(255 * at(channel * plane + here));
      text << '\n';
    }
  return text.str();
}

/// Pictures of both sets, each above what the members say.
void draw_votes(const Canvas& canvas, const Evaluation& e, const Data& data, std::size_t ood) {
  const std::string end = ending(e, ood), picture = "votes" + end;
  std::ostringstream gp;
  const Index shown = std::min(e.votes.share.cols(), e.ood[ood].votes.share.cols());
  gp << "set terminal pngcairo size " << 130 * shown << ",640 font 'DejaVu Sans,9'\nset output '" << picture
     << ".png'\nset multiplot layout 4," << shown << " title '" << label(e.method) << ": test pictures (label), then "
     << e.ood[ood].name << ". Bars: votes for the ten classes; points: mean probabilities'\n"
     << "unset colorbox\nset palette gray negative\nunset key\n";
  const char* const how = canvas.problem.channels == 1 ? "matrix with image" : "using 1:2:3:4:5 with rgbimage";
  const auto rows = [&](const Images& images, const Votes& votes, const std::string& name, bool labels) {
    gp << "unset tics\nset border 0\nset yrange [*:*] reverse\nset xrange [*:*]\nset size ratio -1\nset cbrange "
          "[0:1]\n";
    for (Index i = 0; i < shown; ++i) {
      std::ostringstream bars;
      for (Index c = 0; c < kClasses; ++c) bars << c << ' ' << votes.share(c, i) << ' ' << votes.mean(c, i) << '\n';
      canvas.write(name + "_" + std::to_string(i) + ".dat", pixels_of(canvas.problem, images.inputs.col(i)));
      canvas.write(name + "_votes_" + std::to_string(i) + ".dat", bars.str());
      gp << "set title '" << (labels ? std::to_string(images.labels(i)) : std::string()) << "' offset 0,-0.8\nplot '"
         << canvas.data << name << '_' << i << ".dat' " << how << '\n';
    }
    gp << "unset title\nset size noratio\nset border 1\nset xtics 0,3,9 nomirror scale 0\nset yrange [0:1] "
          "noreverse\nset "
          "xrange [-0.7:9.7]\nset style fill solid 1 noborder\nset boxwidth 0.8\n";
    for (Index i = 0; i < shown; ++i)
      gp << "plot '" << canvas.data << name << "_votes_" << i << ".dat' using 1:2 with boxes lc rgb '"
         << (labels ? "#1f77b4" : "#d62728") << "', '' using 1:3 with points pt 7 ps 0.5 lc rgb 'black'\n";
  };
  rows(data.test, e.votes, "test", true);
  rows(data.ood[ood].pictures, e.ood[ood].votes, "ood" + end, false);
  gp << "unset multiplot\n";
  example::run_gnuplot(canvas.out, picture, gp.str());
}

/// What the temperature does: a panel per figure, a line per calibrated method, DE as τ = 0. The temperatures stand side
/// by side whatever their ratios, since 0 has no place on a logarithmic axis. Nothing where there are less than two.
void draw_temperatures(const Canvas& canvas, const std::vector<Evaluation>& all) {
  std::map<std::string, std::map<double, std::vector<const Evaluation*>>> families;
  std::vector<const Evaluation*> plain;
  std::set<double> temperatures;
  for (const Evaluation& e : all) {
    if (e.method == "DE") plain.push_back(&e);
    if (e.method.rfind("cal-", 0) != 0) continue;
    const auto [family, tau] = example::split_temperature(e.method);
    families[family][tau].push_back(&e);
    temperatures.insert(tau);
  }
  if (temperatures.size() < 2) return;
  if (!plain.empty()) {
    temperatures.insert(0);
    for (auto& [family, points] : families) points.try_emplace(0, plain);
  }
  const std::vector<double> ticks(temperatures.begin(), temperatures.end());
  std::string tics = "set xtics (";
  for (std::size_t k = 0; k < ticks.size(); ++k)
    tics += std::string(k > 0 ? ", " : "") + "'" + example::detail::number(ticks[k]) + "' " + std::to_string(k);
  const std::vector<std::pair<std::string, std::function<double(const Evaluation&)>>> figures{
      {"accuracy, %", [](const Evaluation& e) { return e.accuracy; }},
      {"NLL", [](const Evaluation& e) { return e.nll; }},
      {"ECE", [](const Evaluation& e) { return e.reliability.ece; }},
      {"AUROC(H), " + all.front().ood[0].name, [](const Evaluation& e) { return e.ood[0].by_entropy.auroc; }}};
  std::ostringstream gp;
  const int width = 1000, key = 20 * static_cast<int>(families.size()), height = 780 + key;
  gp << "set terminal pngcairo size " << width << ',' << height
     << " font 'DejaVu Sans,11'\nset output 'temperature.png'\nset multiplot layout 2,2"
     << example::panel_margins(width, height, 70, 20, 80 + key, 70, 90, 100)
     << " title 'Calibrated methods at temperature τ; τ = 0 is the plain ensemble'\n"
     << tics << ")\nset xrange [-0.3:" << static_cast<double>(ticks.size()) - 0.7
     << "]\nset xlabel 'τ'\nset offsets 0,0,graph 0.05,graph 0.05\n";
  for (std::size_t f = 0; f < figures.size(); ++f) {
    std::string plot;
    for (const auto& [family, points] : families) {
      std::ostringstream text;
      for (const auto& [tau, runs] : points) {
        std::vector<double> values;
        for (const Evaluation* e : runs) values.push_back(figures[f].second(*e));
        const example::MeanAndError figure = example::mean_and_error(values);
        text << std::find(ticks.begin(), ticks.end(), tau) - ticks.begin() << ' ' << figure.mean << ' '
             << (figure.count > 1 ? figure.error : 0.0) << ' ' << tau << '\n';
      }
      const std::string file = "temperature_" + std::to_string(f) + "_" + family + ".dat";
      canvas.write(file, text.str());
      plot += std::string(plot.empty() ? "plot" : ",") + " '" + canvas.data + file +
              "' using 1:2:3 with yerrorlines pt 7 lw 2 title '" + family + "'";
    }
    if (f == 0)
      gp << "set key at screen 0.5," << 0.5 * (key + 10) / height << " center center samplen 2\n";
    else
      gp << "unset key\n";
    gp << "set title '" << figures[f].first << "'\n" << plot << '\n';
  }
  gp << "unset multiplot\n";
  example::run_gnuplot(canvas.out, "temperature", gp.str());
}

}  // namespace

void draw(const Problem& problem, const std::filesystem::path& out, const std::vector<Evaluation>& all,
          const Data& data) {
  const Canvas canvas{problem, out, problem.name + "-data/", methods_of(all)};
  std::filesystem::create_directories(out / canvas.data);
  const auto shown = first_seed(all);
  draw_reliability(canvas, shown);
  for (std::size_t ood = 0; ood < data.ood.size(); ++ood) {
    draw_roc(canvas, shown, ood);
    draw_histograms(canvas, shown, ood);
    draw_votes(canvas, *shown.back(), data, ood);
  }
  draw_temperatures(canvas, all);
}

}  // namespace images
