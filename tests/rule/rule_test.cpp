#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/kernel/laplace.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/rule/plain_ensemble.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/rule/wgd.hpp>
#include <repel/score/blob.hpp>
#include <repel/score/kde.hpp>
#include <repel/score/ssge.hpp>

#include <algorithm>
#include <functional>
#include <numeric>

namespace rule_rule_test {

using repel::direction;
using test::Index;
using test::Mat;

TEMPLATE_TEST_CASE("the rules agree with plain loops", "[rule]", float, double) {
  for (const auto& [d, n] : {std::pair<Index, Index>{2, 15}, {20, 15}}) {
    CAPTURE(d, n);
    const repel::Matrix<TestType> xs = repel::Matrix<TestType>::Random(d, n),
                                  ss = repel::Matrix<TestType>::Random(d, n);
    const Mat x = xs.template cast<double>(), s = ss.template cast<double>();
    const double h = repel::bandwidth(repel::Rbf{}, x);
    const auto rbf = test::oracle_rbf();
    CHECK(direction(repel::PlainEnsemble{}, xs, ss) == ss);
    CHECK(test::relative_error(direction(repel::Svgd{}, xs, ss), test::oracle_svgd(rbf, x, s, h)) <
          test::rounding<TestType>());
    CHECK(test::relative_error(direction(repel::Wgd{repel::Kde{}}, xs, ss), s - test::oracle_kde(rbf, x, x, h)) <
          test::rounding<TestType>());
    CHECK(test::relative_error(direction(repel::Wgd{repel::Sge{}}, xs, ss), s - test::oracle_sge(rbf, x, h, 0.01)) <
          test::after_solve<TestType>());
  }
}

TEST_CASE("a rule reports the bandwidth and the mean norm of its repulsion", "[rule]") {
  const Mat x = Mat::Random(2, 9), s = Mat::Random(2, 9);
  const double h = repel::bandwidth(repel::Rbf{}, x);
  const auto mean_norm = [](const Mat& m) {
    double sum = 0;
    for (Index j = 0; j < m.cols(); ++j) sum += m.col(j).norm();
    return sum / static_cast<double>(m.cols());
  };
  Mat phi(2, 9);
  repel::Wgd<repel::Kde<>>::Workspace<double> wgd;
  const repel::RuleInfo a = repel::Wgd{repel::Kde{}}.direction(x, s, wgd, phi);
  CHECK(a.bandwidth == h);
  CHECK(a.repulsion == Approx(mean_norm(test::oracle_kde(test::oracle_rbf(), x, x, h))).epsilon(1e-12));
  repel::Svgd<>::Workspace<double> svgd;
  const repel::RuleInfo b = repel::Svgd{}.direction(x, s, svgd, phi);
  CHECK(b.repulsion == Approx(mean_norm(test::oracle_gradient_sum(test::oracle_rbf(), x, h)) / 9).epsilon(1e-12));
}

TEST_CASE("driving part and repulsion add up to the direction", "[rule]") {
  // For both engines, and for s of another dimension than z.
  for (const Index d : {2, 20}) {
    const Mat z = Mat::Random(d, 9), s = Mat::Random(d, 9), other = Mat::Random(d + 3, 9);
    const double h = repel::bandwidth(repel::Rbf{}, z);
    const auto check = [&]<class Rule>(const Rule& rule, const Mat& driving_of_other) {
      repel::WorkspaceOf<Rule, double> workspace;
      Mat driving(d, 9), repulsion(d, 9), more(d + 3, 9);
      const repel::RuleInfo info = rule.parts(z, s, workspace, driving, repulsion);
      CHECK(test::relative_error(driving + repulsion, direction(rule, z, s)) < 1e-12);
      double norm = 0;
      for (Index j = 0; j < 9; ++j) norm += repulsion.col(j).norm() / 9;
      CHECK(info.repulsion == Approx(norm).epsilon(1e-12));
      rule.parts(z, other, workspace, more, repulsion);
      CHECK(test::relative_error(more, driving_of_other) < 1e-12);
    };
    check(repel::PlainEnsemble{}, other);
    check(repel::Wgd{repel::Kde{}}, other);
    check(repel::Wgd{repel::Sge{}}, other);
    check(repel::Svgd{}, other * test::oracle_gram(test::oracle_rbf(), z, z, h) / 9);
  }
}

namespace {

/// A rule's direction must follow the particles under every symmetry of its kernel. In float the three maps round
/// differently, so the test is in double.
void check_direction(const std::function<Mat(const Mat&, const Mat&)>& rule_direction, bool radial) {
  for (const auto& [d, n] : {std::pair<Index, Index>{2, 15}, {12, 15}}) {
    CAPTURE(d, n);
    const Mat x = Mat::Random(d, n), s = Mat::Random(d, n);
    const Mat phi = rule_direction(x, s);

    const Mat shift = Mat::Constant(d, n, 3.7);
    CHECK(test::relative_error(rule_direction(x + shift, s), phi) < 1e-9);

    if (radial) {
      const Mat rotation = Eigen::HouseholderQR<Mat>(Mat::Random(d, d)).householderQ();
      CHECK(test::relative_error(rule_direction(rotation * x, rotation * s), rotation * phi) < 1e-9);
    }

    Eigen::PermutationMatrix<Eigen::Dynamic> order(n);
    std::iota(order.indices().data(), order.indices().data() + n, 0);
    std::rotate(order.indices().data(), order.indices().data() + 4, order.indices().data() + n);
    CHECK(test::relative_error(rule_direction(x * order, s * order), phi * order) < 1e-9);
  }
}

template <class Rule>
void check_invariances(const Rule& rule, bool radial) {
  check_direction([&](const Mat& x, const Mat& s) -> Mat { return direction(rule, x, s); }, radial);
}

}  // namespace

TEST_CASE("directions follow translations, rotations and permutations of the particles", "[rule][invariance]") {
  check_invariances(repel::PlainEnsemble{}, true);
  check_invariances(repel::Svgd{repel::Rbf{}}, true);
  check_invariances(repel::Svgd{repel::Matern52{}}, true);
  check_invariances(repel::Svgd{repel::Laplace{}}, false);
  check_invariances(repel::Wgd{repel::Kde{repel::Rbf{}}}, true);
  check_invariances(repel::Wgd{repel::Kde{repel::Laplace{}}}, false);
  check_invariances(repel::Wgd{repel::Sge{repel::Rbf{}}}, true);
  check_invariances(repel::Wgd{repel::Ssge{repel::Rbf{}}}, true);
  check_invariances(repel::Wgd{repel::Ssge{repel::Rbf{}, 0.01, repel::SpectrumFraction{0.9}}}, true);
  check_invariances(repel::Wgd{repel::Blob{repel::Rbf{}}}, true);
}

TEST_CASE("bad input to a direction is refused by name", "[rule][bad-input]") {
  const Mat x = Mat::Random(2, 5);
  CHECK_THROWS_WITH(direction(repel::Svgd{}, x, Mat::Random(2, 4)),
                    "repel::direction: grad_log_p is 2x4, but must be 2x5 like X");
  Mat bad = x;
  bad(0, 4) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_WITH(direction(repel::Svgd{}, x, bad), "repel::direction: grad_log_p(0, 4) is inf, but must be finite");
  CHECK_THROWS_WITH(direction(repel::Svgd{}, bad, x), "repel::direction: X(0, 4) is inf, but must be finite");
  CHECK_THROWS_WITH(direction(repel::PlainEnsemble{}, Mat(0, 5), Mat(0, 5)), contains("X has 0 rows"));
}

}  // namespace rule_rule_test
