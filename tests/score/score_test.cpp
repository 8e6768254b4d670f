#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/kernel/laplace.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/score/blob.hpp>
#include <repel/score/kde.hpp>
#include <repel/score/sge.hpp>
#include <repel/score/ssge.hpp>

namespace score_score_test {

using repel::estimate_score;
using test::Index;
using test::Mat;

namespace {

constexpr double kRidge = 0.01;

/// Particles rounded to the scalar type, so that the oracle in double sees the same points.
template <class Scalar>
Mat particles(Index d, Index n) {
  return (Mat::Random(d, n) * 1.5).cast<Scalar>().template cast<double>();
}

struct Flat {
  repel::Rbf<> kernel{};
  void score(auto& pairs, auto&, auto& out) const {
    pairs.accumulate(repel::pair::gradient(out));
    out /= pairs.values().sum();
  }
};

}  // namespace

TEMPLATE_TEST_CASE("the estimators agree with plain loops over the paper's equations", "[score]", float, double) {
  const auto rbf = test::oracle_rbf();
  for (const auto& [d, n] : {std::pair<Index, Index>{2, 15}, {1, 3}, {20, 15}}) {
    CAPTURE(d, n);
    const Mat x = particles<TestType>(d, n), q = particles<TestType>(d, 4);
    const repel::Matrix<TestType> xs = x.cast<TestType>(), qs = q.cast<TestType>();
    const double h = repel::bandwidth(repel::Rbf{}, x);
    const double exact = test::rounding<TestType>(), solved = test::after_solve<TestType>();

    CHECK(test::relative_error(estimate_score(repel::Kde{}, xs), test::oracle_kde(rbf, x, x, h)) < exact);
    CHECK(test::relative_error(estimate_score(repel::Kde{}, xs, qs), test::oracle_kde(rbf, x, q, h)) < exact);
    CHECK(test::relative_error(estimate_score(repel::Blob{}, xs), test::oracle_blob(rbf, x, h)) < exact);
    CHECK(test::relative_error(estimate_score(repel::Sge{}, xs), test::oracle_sge(rbf, x, h, kRidge)) < solved);
    CHECK(test::relative_error(estimate_score(repel::Ssge{}, xs), test::oracle_ssge(rbf, x, x, h, kRidge, n)) < solved);
    CHECK(test::relative_error(estimate_score(repel::Ssge{}, xs, qs), test::oracle_ssge(rbf, x, q, h, kRidge, n)) <
          solved);
    for (const Index keep : {Index{1}, n / 2, n}) {
      CAPTURE(keep);
      // Relative to all pairs together: the leading eigenvector is nearly constant and gradients add up to 0, so that
      // what a single pair gives may be rounding alone.
      const repel::Ssge some{repel::Rbf{}, kRidge, repel::LargestEigenpairs{keep}};
      const double scale = test::oracle_ssge(rbf, x, x, h, kRidge, n).cwiseAbs().maxCoeff();
      const auto error = [&](const repel::Matrix<TestType>& value, const Mat& expected) {
        return (value.template cast<double>() - expected).cwiseAbs().maxCoeff() / scale;
      };
      CHECK(error(estimate_score(some, xs), test::oracle_ssge(rbf, x, x, h, kRidge, keep)) < solved);
      CHECK(error(estimate_score(some, xs, qs), test::oracle_ssge(rbf, x, q, h, kRidge, keep)) < solved);
    }
  }
}

TEST_CASE("the estimators take any kernel", "[score]") {
  const Mat x = particles<double>(3, 10);
  const double l1 = repel::bandwidth(repel::Laplace{}, x), r2 = repel::bandwidth(repel::Matern32{}, x);
  CHECK(test::relative_error(estimate_score(repel::Kde{repel::Laplace{}}, x),
                             test::oracle_kde(test::oracle_laplace(), x, x, l1)) < 1e-12);
  CHECK(test::relative_error(estimate_score(repel::Sge{repel::Matern32{}, 0.1}, x),
                             test::oracle_sge(test::oracle_matern32(), x, r2, 0.1)) < 1e-11);
}

TEST_CASE("the KDE score is the derivative of the log of the estimated density", "[score]") {
  // Central differences of log Σ_j k(x, x_j) with a fixed bandwidth, good to about 1e-9.
  const Mat x = particles<double>(3, 12), q = particles<double>(3, 5);
  const double h = 1.1;
  const Mat score = estimate_score(repel::Kde{repel::Rbf{repel::FixedBandwidth{h}}}, x, q);
  const auto log_density = [&](const test::Vec& at) {
    return std::log(test::oracle_gram(test::oracle_rbf(), x, at, h).sum());
  };
  for (Index j = 0; j < q.cols(); ++j)
    for (Index k = 0; k < q.rows(); ++k) {
      test::Vec up = q.col(j), down = q.col(j);
      up(k) += 1e-5;
      down(k) -= 1e-5;
      CHECK(score(k, j) == Approx((log_density(up) - log_density(down)) / 2e-5).margin(1e-8));
    }
}

TEST_CASE("GFSF, the smoothed-function flow, is SGE", "[score]") {
  // Liu et al. (2019): the score field u with Σ_j (k_ij + η δ_ij) u_j = −Σ_j ∇_{x_j} k_ij, solved here as it stands.
  const Mat x = particles<double>(2, 12);
  const double h = repel::bandwidth(repel::Rbf{}, x);
  Mat system = test::oracle_gram(test::oracle_rbf(), x, x, h);
  system.diagonal().array() += kRidge;
  Mat right(12, 2);
  for (Index i = 0; i < 12; ++i) {
    right.row(i).setZero();
    for (Index j = 0; j < 12; ++j) right.row(i) -= test::oracle_rbf().gradient(x.col(j), x.col(i), h).transpose();
  }
  const Mat gfsf = system.fullPivLu().solve(right).transpose();
  CHECK(test::relative_error(estimate_score(repel::Sge{}, x), gfsf) < 1e-11);
}

TEST_CASE("out of sample at the particles is in sample", "[score]") {
  const Mat x = particles<double>(4, 14);
  CHECK(test::relative_error(estimate_score(repel::Kde{}, x, x), estimate_score(repel::Kde{}, x)) < 1e-12);
  CHECK(test::relative_error(estimate_score(repel::Ssge{}, x, x), estimate_score(repel::Ssge{}, x)) < 1e-9);
  const repel::Ssge some{repel::Rbf{}, kRidge, repel::LargestEigenpairs{5}};
  CHECK(test::relative_error(estimate_score(some, x, x), estimate_score(some, x)) < 1e-9);
}

TEST_CASE("a fraction of the spectrum keeps the fewest eigenpairs that reach it", "[score]") {
  const Mat x = particles<double>(2, 16);
  const double h = repel::bandwidth(repel::Rbf{}, x);
  const Mat k = test::oracle_gram(test::oracle_rbf(), x, x, h) + kRidge * Mat::Identity(16, 16);
  const test::Vec values = Eigen::SelfAdjointEigenSolver<Mat>(k).eigenvalues();
  for (const double fraction : {0.3, 0.8, 0.99, 1.0}) {
    Index keep = 0;
    for (double sum = 0; keep < 16 && sum < fraction * values.sum() * (1 - 1e-14); ++keep) sum += values(15 - keep);
    CAPTURE(fraction, keep);
    CHECK(test::relative_error(estimate_score(repel::Ssge{repel::Rbf{}, kRidge, repel::SpectrumFraction{fraction}}, x),
                               estimate_score(repel::Ssge{repel::Rbf{}, kRidge, repel::LargestEigenpairs{keep}}, x)) <
          1e-9);
  }
}

TEST_CASE("a user's estimator plugs in", "[score][custom]") {
  static_assert(repel::ScoreEstimator<Flat>);
  static_assert(!repel::OutOfSampleEstimator<Flat>);
  const Mat x = particles<double>(2, 8);
  const double h = repel::bandwidth(repel::Rbf{}, x);
  const Mat expected =
      -test::oracle_gradient_sum(test::oracle_rbf(), x, h) / test::oracle_gram(test::oracle_rbf(), x, x, h).sum();
  CHECK(test::relative_error(estimate_score(Flat{}, x), expected) < 1e-12);
}

TEST_CASE("bad settings and points are refused by name", "[score][bad-input]") {
  const Mat x = particles<double>(2, 8);
  CHECK_THROWS_WITH(estimate_score(repel::Sge{repel::Rbf{}, -0.5}, x),
                    "repel::Sge: ridge is -0.5, but must be finite and at least 0");
  CHECK_THROWS_WITH(estimate_score(repel::Ssge{repel::Rbf{}, std::nan("")}, x),
                    "repel::Ssge: ridge is nan, but must be finite and at least 0");
  CHECK_THROWS_WITH(estimate_score(repel::Ssge{repel::Rbf{}, 0.01, repel::LargestEigenpairs{0}}, x),
                    "repel::LargestEigenpairs: J is 0, but must be at least 1");
  CHECK_THROWS_WITH(estimate_score(repel::Ssge{repel::Rbf{}, 0.01, repel::LargestEigenpairs{9}}, x),
                    "repel::LargestEigenpairs: J is 9, but must be at most 8, the number of particles");
  CHECK_THROWS_WITH(estimate_score(repel::Ssge{repel::Rbf{}, 0.01, repel::SpectrumFraction{1.5}}, x),
                    "repel::SpectrumFraction: fraction is 1.5, but must be above 0 and at most 1");
  CHECK_THROWS_WITH(estimate_score(repel::Kde{}, Mat(2, 0)), contains("X has 0 columns"));
  CHECK_THROWS_WITH(estimate_score(repel::Kde{}, x, Mat(3, 2).setZero()),
                    "repel::estimate_score: queries has 3 rows, but must have 2 like X");
  CHECK_THROWS_WITH(estimate_score(repel::Kde{}, x, Mat::Constant(2, 1, 1e6)), contains("so far from every particle"));
  Mat nan = x;
  nan(1, 3) = std::nan("");
  CHECK_THROWS_WITH(estimate_score(repel::Kde{}, nan), "repel::estimate_score: X(1, 3) is nan, but must be finite");
  CHECK_THROWS_WITH(estimate_score(repel::Kde{}, x, nan), contains("queries(1, 3) is nan"));
  CHECK_THROWS_WITH(estimate_score(repel::Sge{repel::Rbf{}, 1e39}, x.cast<float>().eval()),
                    "repel::Sge: ridge is 1e+39, but must be within the range of 32-bit numbers");
  // Sums of kernel gradients that overflow: 1/h is near the largest float.
  const Eigen::MatrixXf tiny = repel::normal<float>(2, 200, 3) * 3e-38f;
  CHECK_THROWS_WITH(estimate_score(repel::Sge{repel::Laplace{}}, tiny), contains("is not finite, but must be"));
  CHECK(estimate_score(repel::Kde{repel::Laplace{}}, tiny).allFinite());  // divided by the sums of k first
  // A singular kernel matrix without a ridge.
  Mat twin = x;
  twin.col(5) = twin.col(2);
  CHECK_THROWS_WITH(estimate_score(repel::Sge{repel::Rbf{}, 0.0}, twin),
                    "repel::Sge: ridge is 0, but must be larger for these particles: K + ridge I is singular");
  CHECK_THROWS_WITH(estimate_score(repel::Ssge{repel::Rbf{}, 0.0}, twin), contains("repel::Ssge: ridge is 0"));
  CHECK_THROWS_WITH(estimate_score(repel::Ssge{repel::Rbf{}, 0.0, repel::LargestEigenpairs{8}}, twin),
                    contains("repel::Ssge: eigenvalue 8 of K + ridge I is"));
  CHECK(estimate_score(repel::Sge{repel::Rbf{}, 1e-10}, twin).allFinite());
}

}  // namespace score_score_test
