#include "support/golden.hpp"
#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/kernel/rbf.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/score/kde.hpp>
#include <repel/score/sge.hpp>
#include <repel/score/ssge.hpp>

#include <string>

namespace score_golden_test {

// The authors' numbers: 1e-12 relative to the largest entry, 1e-9 for SSGE, which divides by squared eigenvalues.

namespace {

template <class Rule>
void compare(const std::string& set, const std::string& variant, const Rule& rule) {
  const std::string dir = set + "/" + variant + "/";
  CAPTURE(dir);
  const auto golden = [&](const std::string& file) { return test::golden(dir + file + ".csv"); };
  const auto scalars = test::golden_scalars(dir + "scalars.csv");
  const Eigen::MatrixXd x = test::golden(set + "/X.csv"), q = test::golden(set + "/X_new.csv");
  const Eigen::MatrixXd grad = test::golden(set + "/grad_logp.csv");
  const repel::Rbf kernel{rule};
  const double eta = scalars.at("eta");
  const repel::LargestEigenpairs top{static_cast<repel::Index>(scalars.at("top_j"))};

  CHECK(repel::bandwidth(kernel, x) == Approx(scalars.at("h")).epsilon(1e-12));
  CHECK(test::relative_error(repel::gram(kernel, x), golden("K")) < 1e-12);

  repel::Pairs<repel::Rbf<Rule>, double> pairs;
  pairs.measure(kernel, x);
  Eigen::MatrixXd attraction(x.rows(), x.cols());
  pairs.accumulate(repel::pair::gradient(attraction));
  CHECK(test::relative_error(attraction, golden("dK")) < 1e-12);

  CHECK(test::relative_error(repel::direction(repel::Svgd{kernel}, x, grad), golden("svgd_phi")) < 1e-12);
  CHECK(test::relative_error(repel::estimate_score(repel::Kde{kernel}, x), golden("kde_score")) < 1e-12);
  CHECK(test::relative_error(repel::estimate_score(repel::Sge{kernel, eta}, x), golden("sge_score")) < 1e-12);

  const repel::Ssge all{kernel, eta};
  CHECK(test::relative_error(repel::estimate_score(all, x), golden("ssge_score")) < 1e-9);
  CHECK(test::relative_error(repel::estimate_score(all, x, q), golden("ssge_score_at_X_new")) < 1e-9);
  const repel::Ssge some{kernel, eta, top};
  CHECK(test::relative_error(repel::estimate_score(some, x), golden("ssge_top_j_score")) < 1e-9);
  CHECK(test::relative_error(repel::estimate_score(some, x, q), golden("ssge_top_j_score_at_X_new")) < 1e-9);

  // The eigenvalues behind them, of K + ηI.
  Eigen::MatrixXd shifted = pairs.values();
  shifted.diagonal().array() += eta;
  Eigen::VectorXd expected = golden("ssge_eigvals_of_K_plus_eta").reshaped();
  std::sort(expected.begin(), expected.end());
  CHECK(test::relative_error(Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(shifted).eigenvalues(), expected) < 1e-12);
}

}  // namespace

TEST_CASE("kernels, rules and estimators give the golden numbers", "[golden]") {
  for (const std::string set : {"kernel_n8_d3", "kernel_n20_d2"}) {
    compare(set, "median_log_n_plus_1", repel::MedianBandwidth{});
    compare(set, "median_log_n", repel::MedianLogNBandwidth{});
    compare(set, "fixed_h_2", repel::FixedBandwidth{2.0});
  }
}

}  // namespace score_golden_test
