#include "catch.hpp"
#include "support/oracle.hpp"

#include <repel/core/random.hpp>
#include <repel/kernel/imq.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/rule/wgd.hpp>
#include <repel/score/blob.hpp>
#include <repel/score/kde.hpp>
#include <repel/score/sge.hpp>

#include <cmath>

// In many dimensions sums over pairs are matrix products, which cancel where points are far from the origin compared with
// their distances from each other. One particle that has escaped, or two clusters far apart, must not cost the others
// their digits.

namespace pairwise_distant_test {

using test::Index;
using test::Mat;

namespace {

/// The largest error of a column among `columns`, relative to the largest entry of that column.
double worst(const Mat& value, const Mat& reference, Index first, Index columns) {
  double largest = 0;
  for (Index j = first; j < first + columns; ++j)
    largest = std::max(largest, (value.col(j) - reference.col(j)).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() /
                                    reference.col(j).cwiseAbs().maxCoeff());
  return largest;
}

/// Every estimator and rule against the oracles in double, at columns first … first + columns.
template <class Scalar>
void check_all(const repel::Matrix<Scalar>& xs, Index first, Index columns, double rounding) {
  const Mat x = xs.template cast<double>(), s = -x.unaryExpr([](double v) { return std::sin(v); });
  const repel::Matrix<Scalar> ss = s.cast<Scalar>();
  const Mat rounded = ss.template cast<double>();
  const double h = repel::bandwidth(repel::Rbf{}, xs);
  const auto rbf = test::oracle_rbf();
  const auto error = [&](const auto& value, const Mat& reference) {
    return worst(value.template cast<double>(), reference, first, columns);
  };
  CHECK(error(repel::estimate_score(repel::Kde{}, xs), test::oracle_kde(rbf, x, x, h)) < rounding);
  CHECK(error(repel::estimate_score(repel::Kde{}, xs, xs), test::oracle_kde(rbf, x, x, h)) < rounding);
  CHECK(error(repel::estimate_score(repel::Blob{}, xs), test::oracle_blob(rbf, x, h)) < rounding);
  CHECK(error(repel::direction(repel::Svgd{}, xs, ss), test::oracle_svgd(rbf, x, rounded, h)) < rounding);
  CHECK(error(repel::estimate_score(repel::Sge{}, xs), test::oracle_sge(rbf, x, h, 0.01)) < 30 * rounding);
  const auto imq = test::oracle_imq(), matern = test::oracle_matern52();
  CHECK(error(repel::estimate_score(repel::Kde{repel::Imq{}}, xs), test::oracle_kde(imq, x, x, h)) < rounding);
  CHECK(error(repel::direction(repel::Svgd{repel::Matern52{}}, xs, ss), test::oracle_svgd(matern, x, rounded, h)) <
        rounding);
}

template <class Scalar>
repel::Matrix<Scalar> bulk(Index d, Index n, double centre = 0) {
  return (repel::normal<double>(d, n, 5).array() + centre).matrix().template cast<Scalar>();
}

}  // namespace

TEMPLATE_TEST_CASE("a particle that has escaped does not spoil the others", "[pairs][distant]", float, double) {
  const double rounding = sizeof(TestType) == 4 ? 1e-5 : 1e-10;
  for (const Index d : {17, 40})
    for (const double away : {1e4, 1e6, 1e8})
      for (const double centre : {0.0, 3.0, 1000.0})
        for (const bool in_all : {true, false}) {
          CAPTURE(d, away, centre, in_all);
          auto x = bulk<TestType>(d, 30, centre);
          x.col(7).head(in_all ? d : 1).array() += static_cast<TestType>(away);
          // a bandwidth from the median, a bulk that is rounded to its place
          check_all<TestType>(x, 0, 7, rounding);
          check_all<TestType>(x, 8, 22, rounding);
        }
}

TEMPLATE_TEST_CASE("clusters far apart keep their digits", "[pairs][distant]", float, double) {
  const double rounding = sizeof(TestType) == 4 ? 1e-5 : 1e-10;
  for (const Index d : {17, 40})
    for (const auto& [a, b] : {std::pair{0.0, 1e4}, {1e4, 0.0}, {-5e3, 5e3}, {0.0, 100.0}}) {
      CAPTURE(d, a, b);
      auto x = bulk<TestType>(d, 32);
      for (Index j = 0; j < 32; ++j)
        x.col(j).array() += static_cast<TestType>(j < 20 ? a : b);  // 20 of 32: the median is within
      check_all<TestType>(x, 0, 32, rounding);
    }
}

TEMPLATE_TEST_CASE("particles far from the origin keep their digits", "[pairs][distant]", float, double) {
  const double rounding = sizeof(TestType) == 4 ? 1e-5 : 1e-10;
  for (const double centre : {5.0, 20.0, 1e3, -1e5}) {
    CAPTURE(centre);
    check_all<TestType>(bulk<TestType>(24, 30, centre), 0, 30, rounding);
  }
}

TEMPLATE_TEST_CASE("particles that coincide do not push each other, wherever they are", "[pairs][distant]", float,
                   double) {
  for (const double at : {0.0, 0.1, 1234.567, 1e8}) {
    const repel::Matrix<TestType> x = repel::Matrix<TestType>::Constant(20, 9, static_cast<TestType>(at));
    CHECK(repel::estimate_score(repel::Kde{repel::Rbf{repel::FixedBandwidth{1.0}}}, x).isZero(0));
  }
}

}  // namespace pairwise_distant_test
