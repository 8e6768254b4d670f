#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/kernel/gram.hpp>
#include <repel/kernel/imq.hpp>
#include <repel/kernel/laplace.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/kernel/rbf.hpp>

#include <functional>
#include <string>
#include <vector>

// Every kernel, in both scalar types, against plain loops and finite differences.

namespace {

using repel::FixedBandwidth;
using test::Index;
using test::Mat;
using test::Vec;

/// What a Gram says about points x, weights w and queries q, in double whatever it was computed in.
struct Seen {
  double bandwidth;
  Mat k, gradient_sum, attraction, weighted, k_at, attraction_at;
};
using Look = std::function<Seen(const Mat& x, const Mat& w, const Mat& q, double h)>;

template <template <class> class K, class Scalar>
Seen look(const Mat& x, const Mat& w, const Mat& q, double h) {
  repel::Gram<K<FixedBandwidth>, Scalar> gram;
  gram.update(K<FixedBandwidth>{{h}}, x.cast<Scalar>().eval());
  repel::Matrix<Scalar> g(x.rows(), x.cols()), a = g, b = g, k_at, k_only, a_at;
  gram.gradient_sum(g);
  gram.attraction(a);
  gram.attraction(w.cast<Scalar>().eval(), b);
  gram.attraction_at(q.cast<Scalar>().eval(), k_at, a_at);
  gram.values_at(q.cast<Scalar>().eval(), k_only);
  CHECK(k_only == k_at);
  return {gram.bandwidth(),
          gram.values().template cast<double>(),
          g.template cast<double>(),
          a.template cast<double>(),
          b.template cast<double>(),
          k_at.template cast<double>(),
          a_at.template cast<double>()};
}

struct Case {
  std::string name;
  test::OracleKernel oracle;
  Look in_double, in_float;
};

std::vector<Case> all_kernels() {
  using namespace repel;
  return {{"Rbf", test::oracle_rbf(), look<Rbf, double>, look<Rbf, float>},
          {"Laplace", test::oracle_laplace(), look<Laplace, double>, look<Laplace, float>},
          {"Imq", test::oracle_imq(), look<Imq, double>, look<Imq, float>},
          {"Matern32", test::oracle_matern32(), look<Matern32, double>, look<Matern32, float>},
          {"Matern52", test::oracle_matern52(), look<Matern52, double>, look<Matern52, float>}};
}

void compare_with_loops(const Look& evaluate, const test::OracleKernel& oracle, Index d, Index n, double tolerance) {
  // Rounded to float, so that both scalar types and the oracle see the same points.
  const Mat x = Mat::Random(d, n).cast<float>().cast<double>(),
            q = (1.5 * Mat::Random(d, 4)).cast<float>().cast<double>();
  const Mat half = Mat::Random(n, n).cast<float>().cast<double>(), w = half + half.transpose();
  const double h = 0.7 * static_cast<double>(d);
  const Seen seen = evaluate(x, w, q, h);

  CHECK(seen.bandwidth == h);
  CHECK(test::relative_error(seen.k, test::oracle_gram(oracle, x, x, h)) < tolerance);
  CHECK(seen.k == seen.k.transpose());
  CHECK(seen.k.diagonal() == Vec::Ones(n));
  CHECK(test::relative_error(seen.gradient_sum, test::oracle_gradient_sum(oracle, x, h)) < tolerance);
  CHECK(seen.attraction == -seen.gradient_sum);

  Mat weighted = Mat::Zero(d, n), attraction_at = Mat::Zero(d, q.cols());
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) weighted.col(i) += w(i, j) * oracle.gradient(x.col(i), x.col(j), h);
  for (Index j = 0; j < q.cols(); ++j)
    for (Index i = 0; i < n; ++i) attraction_at.col(j) += oracle.gradient(q.col(j), x.col(i), h);
  CHECK(test::relative_error(seen.weighted, weighted) < tolerance);
  CHECK(test::relative_error(seen.k_at, test::oracle_gram(oracle, x, q, h)) < tolerance);
  CHECK(test::relative_error(seen.attraction_at, attraction_at) < tolerance);
}

}  // namespace

TEST_CASE("K, its gradient sums and its queries agree with plain loops", "[kernel]") {
  for (const Case& kernel : all_kernels())
    // Few and many dimensions take different paths; 70 particles span more than one tile.
    for (const auto& [d, n] : {std::pair<Index, Index>{1, 5}, {2, 70}, {8, 13}, {9, 13}, {40, 70}}) {
      CAPTURE(kernel.name, d, n);
      compare_with_loops(kernel.in_double, kernel.oracle, d, n, test::rounding<double>());
      compare_with_loops(kernel.in_float, kernel.oracle, d, n, test::rounding<float>());
    }
}

TEST_CASE("the gradient is the derivative of the value", "[kernel]") {
  // Two particles: column 0 of the attraction is ∇_{x_0} k(x_0, x_1). Central differences with step 1e-5 are good to
  // about 1e-10, their truncation and rounding errors together.
  for (const Case& kernel : all_kernels())
    for (const Index d : {2, 12}) {
      CAPTURE(kernel.name, d);
      const Mat x = Mat::Random(d, 2), w = Mat::Ones(2, 2);
      const Mat gradient = kernel.in_double(x, w, x, 1.3).attraction;
      for (Index k = 0; k < d; ++k) {
        Mat up = x, down = x;
        up(k, 0) += 1e-5;
        down(k, 0) -= 1e-5;
        const double slope =
            (kernel.in_double(up, w, x, 1.3).k(0, 1) - kernel.in_double(down, w, x, 1.3).k(0, 1)) / 2e-5;
        CHECK(gradient(k, 0) == Approx(slope).margin(1e-9));
      }
    }
}

TEST_CASE("float keeps its digits far from the origin", "[kernel]") {
  // At offset 100 and spread 0.1 the uncentred expansion of ‖x − y‖² has no correct digit in float.
  for (const Index d : {2, 30}) {
    const Eigen::MatrixXf x = (Mat::Random(d, 20) * 0.1 + Mat::Constant(d, 20, 100)).cast<float>();
    const Mat exact = x.cast<double>();
    const double h = repel::bandwidth(repel::Rbf{}, exact);
    CHECK(repel::bandwidth(repel::Rbf{}, x) == Approx(h).epsilon(1e-5));
    CHECK(test::relative_error(repel::gram(repel::Rbf{FixedBandwidth{h}}, x),
                               test::oracle_gram(test::oracle_rbf(), exact, exact, h)) < 1e-5);
  }
}

TEST_CASE("float keeps its digits inside tight clusters far apart", "[kernel]") {
  // 18 and 12 particles around two centres 45 apart, with a spread of 3e-4: the products of the expansion are 1e7 times
  // the squared distances within a cluster. The input itself, rounded to float, is exact for both.
  Mat x = Mat::Random(20, 30) * 3e-4;
  x.rightCols(12).array() += 10;
  const Eigen::MatrixXf xf = x.cast<float>();
  const Mat exact = xf.cast<double>();
  const double h = repel::bandwidth(repel::Rbf{}, exact);
  CHECK(repel::bandwidth(repel::Rbf{}, xf) == Approx(h).epsilon(0.01));
  CHECK(test::relative_error(repel::gram(repel::Rbf{FixedBandwidth{h}}, xf),
                             test::oracle_gram(test::oracle_rbf(), exact, exact, h)) < 0.01);
}

TEST_CASE("tails vanish instead of turning into NaN", "[kernel]") {
  Mat x(2, 3);
  x << 0, 1e10, -1e12, 0, 1e11, 1e9;
  for (const Case& kernel : all_kernels())
    for (const Look& evaluate : {kernel.in_double, kernel.in_float}) {
      CAPTURE(kernel.name);
      const Seen seen = evaluate(x, Mat::Ones(3, 3), x, 1e-30);
      CHECK(seen.k.allFinite());
      CHECK(seen.k.diagonal().isOnes());
      CHECK(seen.k(0, 1) < 1e-5);
      CHECK(seen.attraction.allFinite());
    }
}

// --- kernels from outside the library -------------------------------------------------------------------------------

namespace {

struct Cauchy {  // k = 1 / (1 + r²/h)
  repel::MedianBandwidth bandwidth{};
  auto phi(const auto& u) const { return (1 + u).inverse(); }
  auto phi_prime(const auto&, const auto& k) const { return -k.square(); }
};

struct Linear {  // k = 1 + x·y / h, not translation invariant
  FixedBandwidth bandwidth{1.0};
  auto value(const auto& x, const auto& y, auto h) const { return 1 + x.dot(y) / h; }
  auto gradient(const auto&, const auto& y, auto h) const { return y / h; }
};

struct PairwiseRbf {  // Rbf, written the slow way
  repel::MedianBandwidth bandwidth{};
  auto value(const auto& x, const auto& y, auto h) const { return std::exp(-(x - y).squaredNorm() / h); }
  auto gradient(const auto& x, const auto& y, auto h) const { return (x - y) * (-2 / h * value(x, y, h)); }
};

struct LinearOfVectors {  // the same with concrete types, whose arguments and results are temporaries
  FixedBandwidth bandwidth{1.0};
  double value(const Vec& x, const Vec& y, double h) const { return 1 + x.dot(y) / h; }
  Vec gradient(const Vec&, const Vec& y, double h) const { return y / h; }
};

struct LinearOfReferences {  // returns an expression of its arguments, which may be temporaries
  FixedBandwidth bandwidth{1.0};
  double value(const Vec& x, const Vec& y, double h) const { return 1 + x.dot(y) / h; }
  auto gradient(const Vec&, const Vec& y, double h) const { return y / h; }
};

}  // namespace

TEST_CASE("a user's radial kernel needs φ and φ′ only", "[kernel][custom]") {
  const test::OracleKernel oracle{
      [](const Vec& x, const Vec& y, double h) { return 1 / (1 + test::squared_distance(x, y) / h); },
      [](const Vec& x, const Vec& y, double h) -> Vec {
        return -2 / h * (x - y) * std::pow(1 + test::squared_distance(x, y) / h, -2.0);
      }};
  const Mat x = Mat::Random(3, 11);
  repel::Gram<Cauchy, double> gram;
  gram.update(Cauchy{}, x);
  Mat g(3, 11);
  gram.gradient_sum(g);
  const double h = repel::bandwidth(repel::Rbf{}, x);
  CHECK(gram.bandwidth() == h);
  CHECK(test::relative_error(gram.values(), test::oracle_gram(oracle, x, x, h)) < 1e-12);
  CHECK(test::relative_error(g, test::oracle_gradient_sum(oracle, x, h)) < 1e-12);
}

TEMPLATE_TEST_CASE("a user's pairwise kernel need not be translation invariant", "[kernel][custom]", Linear,
                   LinearOfVectors, LinearOfReferences) {
  const Mat x = Mat::Random(3, 6);
  repel::Gram<TestType, double> gram;
  gram.update(TestType{}, x);
  CHECK(test::relative_error(gram.values(), x.transpose() * x + Mat::Ones(6, 6)) < 1e-12);
  Mat g(3, 6), a(3, 6);
  gram.gradient_sum(g);  // Σ_k ∇_{x_k} (1 + x_k·x_j) = n x_j
  CHECK(test::relative_error(g, 6 * x) < 1e-12);
  gram.attraction(a);  // Σ_j ∇_{x_i} (1 + x_i·x_j) = Σ_j x_j
  CHECK(test::relative_error(a, x.rowwise().sum().replicate(1, 6)) < 1e-12);
  gram.attraction(Mat::Constant(6, 6, 2.0), g);
  CHECK(test::relative_error(g, 2 * a) < 1e-12);
}

TEST_CASE("pair by pair and column by column are the same kernel", "[kernel][custom]") {
  for (const Index d : {3, 17}) {
    const Mat x = Mat::Random(d, 9), q = Mat::Random(d, 4);
    repel::Gram<PairwiseRbf, double> slow;
    repel::Gram<repel::Rbf<>, double> fast;
    slow.update(PairwiseRbf{}, x);
    fast.update(repel::Rbf{}, x);
    Mat a(d, 9), b(d, 9), k_slow, k_fast, a_slow, a_fast;
    slow.gradient_sum(a);
    fast.gradient_sum(b);
    CHECK(test::relative_error(slow.values(), fast.values()) < 1e-12);
    CHECK(test::relative_error(a, b) < 1e-12);
    slow.attraction(a);
    CHECK(test::relative_error(a, -b) < 1e-12);
    slow.attraction_at(q, k_slow, a_slow);
    fast.attraction_at(q, k_fast, a_fast);
    CHECK(test::relative_error(k_slow, k_fast) < 1e-12);
    CHECK(test::relative_error(a_slow, a_fast) < 1e-12);
  }
}
