#include "catch.hpp"
#include "support/golden.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/metrics.hpp>

#include <cmath>
#include <limits>
#include <numbers>

namespace metrics_metrics_test {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Eigen::VectorXi;
using repel::Index;
namespace metrics = repel::metrics;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// (classes·points)×members, a member per column
MatrixXd members(const char* name) { return test::golden(std::string("metrics/") + name + ".csv"); }
MatrixXd mean_of(const MatrixXd& m, Index classes) { return m.rowwise().mean().reshaped(classes, m.rows() / classes); }
VectorXd column(const char* name) { return test::golden(std::string("metrics/") + name + ".csv").transpose(); }

}  // namespace

TEST_CASE("metrics of an ensemble agree with the golden data", "[metrics][golden]") {
  auto wanted = test::golden_scalars("metrics/scalars.csv");
  const MatrixXd test = members("probs_test"), ood = members("probs_ood");
  const MatrixXd p = mean_of(test, 4), q = mean_of(ood, 4);
  const VectorXi labels = column("labels").cast<int>();
  const auto near = [&](const char* name) { return Approx(wanted.at(name)).epsilon(1e-12); };

  CHECK(100 * metrics::accuracy(p, labels) == near("accuracy_percent"));
  CHECK(metrics::nll(p, labels) == near("nll_standard"));
  CHECK(metrics::nll_of_mean_probability(p, labels) == near("nll_as_coded"));
  CHECK(metrics::reliability(p, labels).ece == near("ece_30_bins"));

  const VectorXd h = metrics::entropy(p), h_ood = metrics::entropy(q);
  CHECK(test::relative_error(h / std::log(4.0), column("entropy_test_norm")) < 1e-12);
  CHECK(test::relative_error(h_ood / std::log(4.0), column("entropy_ood_norm")) < 1e-12);
  const VectorXd md = metrics::disagreement(test, 4), md_ood = metrics::disagreement(ood, 4);
  CHECK(test::relative_error(md, column("md_test")) < 1e-12);
  CHECK(test::relative_error(md_ood, column("md_ood")) < 1e-12);

  const metrics::OodDetection by_entropy = metrics::ood_detection(h, h_ood), by_md = metrics::ood_detection(md, md_ood);
  CHECK(by_entropy.auroc == near("auroc_H"));
  CHECK(by_md.auroc == near("auroc_MD"));
  CHECK(by_entropy.aupr_in == near("aupr_in_H"));
  CHECK(by_entropy.aupr_out == near("aupr_out_H"));
  CHECK(by_entropy.fpr80 == near("fpr80_H"));
  CHECK(by_entropy.fpr95 == near("fpr95_H"));
  CHECK(by_entropy.mean_ratio == near("Ho_over_Ht"));
  CHECK(by_md.mean_ratio == near("MDo_over_MDt"));

  // In float the same, up to the rounding of the probabilities.
  const Eigen::MatrixXf pf = p.cast<float>();
  CHECK(metrics::nll(pf, labels) == Approx(wanted.at("nll_standard")).epsilon(1e-6));
  CHECK(test::relative_error(metrics::disagreement(test.cast<float>(), 4), md) < 1e-5);
}

TEST_CASE("perfect, constant and wrong predictors have the figures that theory gives them", "[metrics]") {
  const VectorXi labels = (VectorXi(4) << 0, 2, 2, 1).finished();  // of four classes, the last never seen
  MatrixXd perfect = MatrixXd::Zero(4, 4), wrong = perfect;
  for (Index i = 0; i < 4; ++i) perfect(labels(i), i) = wrong((labels(i) + 1) % 4, i) = 1;
  const MatrixXd constant = MatrixXd::Constant(4, 4, 0.25);

  CHECK(metrics::accuracy(perfect, labels) == 1);
  CHECK(metrics::nll(perfect, labels) == 0);
  CHECK(metrics::brier(perfect, labels) == 0);
  CHECK(metrics::reliability(perfect, labels).ece == 0);
  CHECK(metrics::entropy(perfect) == VectorXd::Zero(4));

  CHECK(metrics::accuracy(constant, labels) == 0.25);  // the first of equals is class 0
  CHECK(metrics::nll(constant, labels) == Approx(std::log(4.0)).epsilon(1e-15));
  CHECK(metrics::brier(constant, labels) == Approx(0.75).epsilon(1e-15));
  CHECK(metrics::reliability(constant, labels).ece == 0);  // a quarter confident, a quarter right
  CHECK(metrics::entropy(constant).isApproxToConstant(std::log(4.0), 1e-15));

  CHECK(metrics::accuracy(wrong, labels) == 0);
  CHECK(std::isinf(metrics::nll(wrong, labels)));
  CHECK(metrics::brier(wrong, labels) == 2);
  CHECK(metrics::reliability(wrong, labels).ece == 1);
}

TEST_CASE("the NLL from logits is that of the probabilities, and finite beyond them", "[metrics]") {
  // Where probabilities are in range the two ways are one.
  const Index classes = 3, points = 5;
  const MatrixXd logits = repel::normal(classes * points, 4, 7, 3.0);
  const VectorXi labels = (VectorXi(5) << 0, 2, 1, 1, 0).finished();
  MatrixXd p = MatrixXd::Zero(classes, points);
  for (Index m = 0; m < logits.cols(); ++m)
    for (Index i = 0; i < points; ++i) {
      double sum = 0;
      for (Index c = 0; c < classes; ++c) sum += std::exp(logits(i * classes + c, m));
      for (Index c = 0; c < classes; ++c) p(c, i) += std::exp(logits(i * classes + c, m)) / sum / 4;
    }
  CHECK(metrics::nll_of_logits(logits, classes, labels) == Approx(metrics::nll(p, labels)).epsilon(1e-13));
  const VectorXd scores = metrics::log_scores_of_logits(logits, classes, labels);
  for (Index i = 0; i < labels.size(); ++i) CHECK(scores(i) == Approx(std::log(p(labels(i), i))).epsilon(1e-13));
  CHECK(metrics::nll_of_logits(logits.cast<float>(), classes, labels) == Approx(metrics::nll(p, labels)).epsilon(1e-5));

  // Two members, one point, the label 1000 and 2000 behind: the mean of e^−1000 and e^−2000.
  Eigen::MatrixXf sure(2, 2);
  sure << 1000, 2000, 0, 0;
  CHECK(metrics::nll_of_logits(sure, 2, VectorXi::Ones(1)) == Approx(1000 + std::log(2.0)).epsilon(1e-15));
  CHECK(metrics::nll_of_logits(sure, 2, VectorXi::Zero(1)) == 0);

  sure << 1e30F, 2e30F, 0, 0;  // nothing is squared
  CHECK(metrics::nll_of_logits(sure, 2, VectorXi::Ones(1)) == Approx(1e30).epsilon(1e-6));

  sure(1, 0) = std::numeric_limits<float>::infinity();
  CHECK_THROWS_WITH(metrics::nll_of_logits(sure, 2, VectorXi::Ones(1)),
                    contains("logits(1, 0) is inf, but must be finite"));
  CHECK_THROWS_WITH(metrics::nll_of_logits(logits, 4, labels),
                    contains("logits has 15 rows, but must have a positive multiple of classes, 4"));
  CHECK_THROWS_WITH(metrics::nll_of_logits(logits, classes, VectorXi::Zero(4)),
                    contains("labels has 4 entries, but must have 5"));
}

TEST_CASE("reliability bins by width and by count", "[metrics]") {
  // Confidences 0.55, 0.6, 0.6, 0.9; right, wrong, right, right.
  MatrixXd p(2, 4);
  p.row(0) << 0.55, 0.6, 0.6, 0.9;
  p.row(1) = 1 - p.row(0).array();
  const VectorXi labels = (VectorXi(4) << 0, 1, 0, 0).finished();

  const auto by_width = metrics::reliability(p, labels, 10);  // (0.5, 0.6], (0.8, 0.9]
  REQUIRE(by_width.bins.size() == 2);
  CHECK(by_width.bins[0].count == 3);
  CHECK(by_width.bins[0].confidence == Approx(1.75 / 3).epsilon(1e-14));
  CHECK(by_width.bins[0].accuracy == Approx(2.0 / 3).epsilon(1e-14));
  CHECK(by_width.bins[1].count == 1);
  CHECK(by_width.ece == Approx(0.75 * (2.0 / 3 - 1.75 / 3) + 0.25 * 0.1).epsilon(1e-13));

  const auto by_count = metrics::reliability(p, labels, 2, metrics::Binning::equal_count);
  REQUIRE(by_count.bins.size() == 2);  // 0.55 and the two at 0.6, which stay together; then 0.9
  CHECK(by_count.bins[0].count == 3);
  CHECK(metrics::reliability(p, labels, 1, metrics::Binning::equal_count).bins.size() == 1);
  CHECK(metrics::reliability(p, labels, 100, metrics::Binning::equal_count).bins.size() == 3);
}

TEST_CASE("uncertainty splits into what members agree on and what they do not", "[metrics]") {
  // Two points, two classes. At the first the members are certain of opposite classes, at the second both unsure.
  MatrixXd m(4, 2);
  m << 1, 0,  //
      0, 1,   //
      0.5, 0.5, 0.5, 0.5;
  const metrics::EntropySplit split = metrics::split_entropy(m, 2);
  CHECK(split.total.isApproxToConstant(std::log(2.0), 1e-15));
  CHECK(split.aleatoric(0) == 0);
  CHECK(split.epistemic(0) == Approx(std::log(2.0)).epsilon(1e-15));
  CHECK(split.aleatoric(1) == Approx(std::log(2.0)).epsilon(1e-15));
  CHECK(split.epistemic(1) == 0);

  const VectorXd md = metrics::disagreement(m, 2);
  CHECK(md(0) == Approx(std::sqrt(0.5)).epsilon(1e-15));  // of 1 and 0, divided by n − 1
  CHECK(md(1) == 0);
  CHECK(metrics::disagreement(m.leftCols(1), 2) == VectorXd::Zero(2));

  // The two readings of the paper differ where classes differ in spread.
  MatrixXd uneven(3, 2);
  uneven << 0.8, 0.2, 0.1, 0.7, 0.1, 0.1;
  const double a = metrics::disagreement(uneven, 3)(0),
               b = metrics::disagreement(uneven, 3, metrics::Spread::root_mean_variance)(0);
  CHECK(a == Approx((0.6 + 0.6) / std::sqrt(2.0) / 3).epsilon(1e-14));
  CHECK(b == Approx(std::sqrt((0.18 + 0.18) / 3)).epsilon(1e-14));
}

TEST_CASE("metrics take expressions, products among them, and matrices as scores", "[metrics]") {
  const MatrixXd w = repel::normal(1, 3, 1), x = repel::normal(3, 6, 2);
  const MatrixXd f = w * x, y = repel::normal(1, 6, 3), sd = MatrixXd::Constant(1, 6, 0.7);
  CHECK(metrics::rmse(w * x, y) == metrics::rmse(f, y));
  CHECK(metrics::gaussian_nll(w * x, sd, y) == metrics::gaussian_nll(f, sd, y));
  CHECK(metrics::gaussian_crps(w * x, sd, y) == metrics::gaussian_crps(f, sd, y));
  CHECK(metrics::coverage(w * x - sd, w * x + sd, y) == metrics::coverage(f - sd, f + sd, y));
  CHECK(metrics::crps(x.transpose() * w.transpose(), y) == metrics::crps(f.transpose(), y));
  CHECK(metrics::auroc(w * x, y) == metrics::auroc(f, y));
  CHECK(metrics::auroc(x, y) == metrics::auroc(x.reshaped(), y.transpose()));
  CHECK(metrics::ood_detection(VectorXd::Zero(3), VectorXd::Zero(2)).mean_ratio == 1);  // none is surer than the other
}

TEST_CASE("areas under curves are exact with ties, and do not depend on the order", "[metrics]") {
  // A plain double loop is the oracle.
  const auto pairs = [](const VectorXd& n, const VectorXd& p) {
    double sum = 0;
    for (const double a : n)
      for (const double b : p) sum += b > a ? 1 : b == a ? 0.5 : 0;
    return sum / static_cast<double>(n.size() * p.size());
  };
  for (const double levels : {1.0, 3.0, 20.0, 1e6}) {
    const VectorXd n = (repel::normal(57, 1, 3) * levels).array().round().matrix(),
                   p = ((repel::normal(31, 1, 4).array() + 0.5) * levels).round().matrix();
    CHECK(metrics::auroc(n, p) == Approx(pairs(n, p)).epsilon(1e-15));
    CHECK(metrics::auroc(n.reverse(), p.reverse()) == metrics::auroc(n, p));
    CHECK(metrics::aupr(n.reverse(), p.reverse()) == metrics::aupr(n, p));
    const auto shares = metrics::auroc_shares(n, p);
    for (Index i = 0; i < n.size(); ++i) CHECK(shares.negatives(i) == Approx(pairs(n.segment(i, 1), p)).margin(1e-15));
    for (Index j = 0; j < p.size(); ++j) CHECK(shares.positives(j) == Approx(pairs(n, p.segment(j, 1))).margin(1e-15));
    const auto curve = metrics::roc_curve(n, p);
    CHECK(curve.front().fpr == 0);
    CHECK(curve.front().tpr == 0);
    CHECK(curve.back().fpr == 1);
    CHECK(curve.back().tpr == 1);
    double area = 0;
    for (std::size_t k = 1; k < curve.size(); ++k)
      area += 0.5 * (curve[k].fpr - curve[k - 1].fpr) * (curve[k].tpr + curve[k - 1].tpr);
    CHECK(area == Approx(pairs(n, p)).epsilon(1e-12));
  }
  const VectorXd zero = VectorXd::Zero(5), one = VectorXd::Ones(3);
  CHECK(metrics::auroc_shares(zero.cast<float>() * 0.1f, one.cast<float>() * 0.1f).positives == VectorXd::Ones(3));
  CHECK(metrics::auroc(zero, one) == 1);
  CHECK(metrics::auroc(one, zero) == 0);
  CHECK(metrics::auroc(zero, zero) == 0.5);
  CHECK(metrics::aupr(zero, one) == 1);
  CHECK(metrics::aupr(zero, zero) == 0.5);  // the fraction of positives
  CHECK(metrics::fpr_at_tpr(zero, one, 0.95) == 0);
  CHECK(metrics::fpr_at_tpr(one, zero, 0.95) == 1);
  const VectorXd up = VectorXd::LinSpaced(10, 1, 10);
  CHECK(metrics::fpr_at_tpr(up, up, 0.8) == Approx(0.8).epsilon(1e-15));
}

TEST_CASE("regression figures", "[metrics]") {
  MatrixXd y(1, 3), mean(1, 3), sd(1, 3);
  y << 1, 2, 4;
  mean << 1, 1, 2;
  sd << 1, 2, 0.5;
  CHECK(metrics::rmse(mean, y) == Approx(std::sqrt(5.0 / 3)).epsilon(1e-15));
  const auto log_normal = [](double z, double s) {
    return -0.5 * z * z - std::log(s * std::sqrt(2 * std::numbers::pi));
  };
  CHECK(metrics::gaussian_nll(mean, sd, y) ==
        Approx(-(log_normal(0, 1) + log_normal(0.5, 2) + log_normal(4, 0.5)) / 3).epsilon(1e-14));
  CHECK(metrics::coverage(mean - sd, mean + sd, y) == Approx(2.0 / 3).epsilon(1e-15));
  CHECK(metrics::coverage(y, y, y) == 1);

  MatrixXd members(3, 2);
  members << 1, 3, 2, 2, -1, 4;
  double sum = 0;
  for (Index i = 0; i < 3; ++i)
    sum -= std::log(0.5 * (std::exp(log_normal((members(i, 0) - y(i)) / 0.3, 0.3)) +
                           std::exp(log_normal((members(i, 1) - y(i)) / 0.3, 0.3))));
  CHECK(metrics::mixture_nll(members, 0.3, y) == Approx(sum / 3).epsilon(1e-13));
  // Far from every member the density underflows, its logarithm does not.
  CHECK(metrics::mixture_nll(MatrixXd::Constant(3, 2, 1e6), 1e-3, y) ==
        Approx(metrics::gaussian_nll(MatrixXd::Constant(1, 3, 1e6), MatrixXd::Constant(1, 3, 1e-3), y)).epsilon(1e-14));

  CHECK(std::isfinite(metrics::mixture_nll(members, 1e-150, y)));

  // CRPS: |f − y| for one member; of many draws that of the normal distribution they are from, to 3/√n.
  CHECK(metrics::crps(members.leftCols(1), y) == Approx((0 + 0 + 5) / 3.0).epsilon(1e-15));
  CHECK(metrics::crps(members, y) ==
        Approx(((0 + 2) / 2.0 - 2 / 4.0 + 0 + (5 + 0) / 2.0 - 5 / 4.0) / 3).epsilon(1e-14));
  const MatrixXd draws = mean.transpose().replicate(1, 200000) +
                         (repel::normal(3, 200000, 8).array().colwise() * sd.transpose().array().col(0)).matrix();
  CHECK(metrics::crps(draws, y) == Approx(metrics::gaussian_crps(mean, sd, y)).epsilon(0.007));
  // And by its definition, ∫ (F(x) − [x ≥ y])² dx, on a grid in which y is a boundary.
  double integral = 0;
  constexpr double step = 1e-3;
  for (Index i = 0; i < 3; ++i)
    for (int k = -20000; k < 20000; ++k) {
      const double x = y(i) + step * (k + 0.5), below = 0.5 * std::erfc((mean(i) - x) / (sd(i) * std::sqrt(2.0)));
      integral += step * std::pow(below - (k >= 0 ? 1 : 0), 2);
    }
  CHECK(metrics::gaussian_crps(mean, sd, y) == Approx(integral / 3).epsilon(1e-6));
}

TEST_CASE("metrics refuse what is not a prediction, and say why", "[metrics][check]") {
  const VectorXi labels = VectorXi::Zero(2);
  MatrixXd p = MatrixXd::Constant(2, 2, 0.5);
  const auto with = [&](Index i, Index j, double value) {
    MatrixXd changed = p;
    changed(i, j) = value;
    return changed;
  };
  CHECK_THROWS_WITH(metrics::nll(with(1, 0, kNan), labels),
                    "repel::metrics::nll: probabilities(1, 0) is nan, but a probability must be 0 to 1");
  CHECK_THROWS_WITH(metrics::accuracy(with(0, 1, -0.1), labels),
                    "repel::metrics::accuracy: probabilities(0, 1) is -0.1, but a probability must be 0 to 1");
  CHECK_THROWS_WITH(
      metrics::brier(with(0, 1, 0.7), labels),
      "repel::metrics::brier: column 1 of probabilities sums up to 1.2, but probabilities must sum up to 1");
  CHECK_THROWS_WITH(metrics::entropy(MatrixXd(2, 0)),
                    "repel::metrics::entropy: probabilities has 0 columns, but needs at least 1 (one per point)");
  CHECK_THROWS_WITH(metrics::nll(p, VectorXi::Constant(2, 2)),
                    "repel::metrics::nll: labels(0) is 2, but a label must be 0 to 1");
  CHECK_THROWS_WITH(metrics::nll(p, VectorXi::Zero(3)),
                    "repel::metrics::nll: labels has 3 entries, but must have 2, one per point");
  CHECK_THROWS_WITH(metrics::reliability(p, labels, 0),
                    "repel::metrics::reliability: bins is 0, but must be at least 1");
  CHECK_THROWS_WITH(
      metrics::disagreement(MatrixXd::Constant(5, 3, 0.5), 2),
      "repel::metrics::disagreement: members has 5 rows, but must have a positive multiple of classes, 2");
  const VectorXd scores = VectorXd::Zero(2);
  CHECK_THROWS_WITH(metrics::ood_detection(scores, VectorXd::Constant(1, kNan)),
                    "repel::metrics::ood_detection: ood_uncertainty(0, 0) is nan, but must be a number");
  const MatrixXd infinite = MatrixXd::Constant(2, 2, -std::numeric_limits<double>::infinity());
  CHECK_THROWS_WITH(metrics::gaussian_nll(infinite, p, p),
                    "repel::metrics::gaussian_nll: mean(0, 0) is -inf, but must be finite");
  CHECK_THROWS_WITH(metrics::crps(VectorXd::Zero(4), infinite),
                    "repel::metrics::crps: y(0, 0) is -inf, but must be finite");
  CHECK_THROWS_WITH(metrics::auroc(scores, VectorXd::Constant(1, kNan)),
                    "repel::metrics::auroc: positives(0, 0) is nan, but must be a number");
  CHECK_THROWS_WITH(metrics::aupr(VectorXd(0), scores),
                    "repel::metrics::aupr: negatives is empty, but needs at least one value");
  CHECK_THROWS_WITH(metrics::gaussian_nll(p, MatrixXd::Zero(2, 2), p),
                    "repel::metrics::gaussian_nll: sd(0, 0) is 0, but must be larger than 0");
  CHECK_THROWS_WITH(metrics::rmse(p, MatrixXd::Zero(2, 3)),
                    "repel::metrics::rmse: prediction is 2x2, but must be 2x3 like y");
  CHECK_THROWS_WITH(metrics::coverage(p, MatrixXd::Zero(2, 2), p),
                    "repel::metrics::coverage: low(0, 0) is 0.5, but must be at most high, 0");
}

}  // namespace metrics_metrics_test
