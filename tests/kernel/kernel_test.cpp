#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/kernel/imq.hpp>
#include <repel/kernel/laplace.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/pairwise/pairs.hpp>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace kernel_kernel_test {

// Every kernel, in both scalar types, against plain loops and finite differences.

namespace {

using repel::FixedBandwidth;
using test::Index;
using test::Mat;
using test::Vec;

/// What the pairs of a kernel say about points x, weights a and b and queries q, in double whatever it was computed in.
struct Seen {
  double bandwidth;
  Mat k, gradient_sum, attraction, weighted, k_at, attraction_at, sums_at, some;
};
using Evaluate = std::function<Seen(const Mat& x, const Mat& w, const Mat& q, double h)>;

/// The weights of a pair (i, j) are w(i, 0) + w(j, 1).
template <template <class> class K, class Scalar>
Seen evaluate_in(const Mat& x, const Mat& w, const Mat& q, double h) {
  namespace pair = repel::pair;
  using M = repel::Matrix<Scalar>;
  repel::Pairs<K<FixedBandwidth>, Scalar> pairs;
  pairs.measure(K<FixedBandwidth>{{h}}, x.cast<Scalar>().eval());
  const M queries = q.cast<Scalar>();
  const repel::Vector<Scalar> a = w.col(0).cast<Scalar>(), b = w.col(1).cast<Scalar>();
  M gradient(x.rows(), x.cols()), attraction = gradient, weighted = gradient, k_at, at(q.rows(), q.cols());
  repel::Vector<Scalar> sums;
  pairs.accumulate(pair::source_gradient(gradient));
  pairs.accumulate(pair::gradient(attraction));
  pairs.accumulate(pair::gradient(weighted, a, b));
  pairs.values_at(queries, k_at);
  pairs.accumulate_at(queries, pair::sums(sums), pair::gradient(at));
  // Some of the particles against all, two of them by themselves and among others: the same bits.
  const Index m = x.cols() - x.cols() / 2, first = x.cols() / 2;
  M some(x.rows(), m), last(x.rows(), 1);
  pairs.accumulate_some(first, m, pair::gradient(some));
  pairs.accumulate_some(x.cols() - 1, 1, pair::gradient(last));
  CHECK(last.col(0) == some.col(m - 1));
  return {pairs.bandwidth(),
          pairs.values().template cast<double>(),
          gradient.template cast<double>(),
          attraction.template cast<double>(),
          weighted.template cast<double>(),
          k_at.template cast<double>(),
          at.template cast<double>(),
          sums.template cast<double>(),
          some.template cast<double>()};
}

struct Case {
  std::string name;
  test::OracleKernel oracle;
  Evaluate in_double, in_float;
};

std::vector<Case> all_kernels() {
  using namespace repel;
  return {{"Rbf", test::oracle_rbf(), evaluate_in<Rbf, double>, evaluate_in<Rbf, float>},
          {"Laplace", test::oracle_laplace(), evaluate_in<Laplace, double>, evaluate_in<Laplace, float>},
          {"Imq", test::oracle_imq(), evaluate_in<Imq, double>, evaluate_in<Imq, float>},
          {"Matern32", test::oracle_matern32(), evaluate_in<Matern32, double>, evaluate_in<Matern32, float>},
          {"Matern52", test::oracle_matern52(), evaluate_in<Matern52, double>, evaluate_in<Matern52, float>}};
}

void compare_with_loops(const Evaluate& evaluate, const test::OracleKernel& oracle, Index d, Index n,
                        double tolerance) {
  // Rounded to float, so that both scalar types and the oracle see the same points.
  const Mat x = Mat::Random(d, n).cast<float>().cast<double>(),
            q = (1.5 * Mat::Random(d, 4)).cast<float>().cast<double>();
  const Mat w = Mat::Random(n, 2).cast<float>().cast<double>();
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
    for (Index j = 0; j < n; ++j) weighted.col(i) += (w(j, 0) + w(i, 1)) * oracle.gradient(x.col(i), x.col(j), h);
  for (Index j = 0; j < q.cols(); ++j)
    for (Index i = 0; i < n; ++i) attraction_at.col(j) += oracle.gradient(q.col(j), x.col(i), h);
  CHECK(test::relative_error(seen.weighted, weighted) < tolerance);
  CHECK(test::relative_error(seen.k_at, test::oracle_gram(oracle, x, q, h)) < tolerance);
  CHECK(test::relative_error(seen.attraction_at, attraction_at) < tolerance);
  CHECK(test::relative_error(seen.sums_at, seen.k_at.colwise().sum().transpose().eval()) < tolerance);
  CHECK(test::relative_error(seen.some, seen.attraction.rightCols(n - n / 2).eval()) < tolerance);
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
    for (const Evaluate& evaluate : {kernel.in_double, kernel.in_float}) {
      CAPTURE(kernel.name);
      const Seen seen = evaluate(x, Mat::Ones(3, 2), x, 1e-30);
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
  repel::Pairs<Cauchy, double> pairs;
  pairs.measure(Cauchy{}, x);
  Mat g(3, 11);
  pairs.accumulate(repel::pair::source_gradient(g));
  const double h = repel::bandwidth(repel::Rbf{}, x);
  CHECK(pairs.bandwidth() == h);
  CHECK(test::relative_error(pairs.values(), test::oracle_gram(oracle, x, x, h)) < 1e-12);
  CHECK(test::relative_error(g, test::oracle_gradient_sum(oracle, x, h)) < 1e-12);
}

TEMPLATE_TEST_CASE("a user's pairwise kernel need not be translation invariant", "[kernel][custom]", Linear,
                   LinearOfVectors, LinearOfReferences) {
  const Mat x = Mat::Random(3, 6);
  repel::Pairs<TestType, double> pairs;
  pairs.measure(TestType{}, x);
  CHECK(test::relative_error(pairs.values(), x.transpose() * x + Mat::Ones(6, 6)) < 1e-12);
  Mat g(3, 6), a(3, 6), weighted(3, 6);
  pairs.accumulate(repel::pair::source_gradient(g));  // Σ_k ∇_{x_k} (1 + x_k·x_j) = n x_j
  CHECK(test::relative_error(g, 6 * x) < 1e-12);
  pairs.accumulate(repel::pair::gradient(a));  // Σ_j ∇_{x_i} (1 + x_i·x_j) = Σ_j x_j
  CHECK(test::relative_error(a, x.rowwise().sum().replicate(1, 6)) < 1e-12);
  const Vec one = Vec::Ones(6);
  pairs.accumulate(repel::pair::gradient(weighted, one, one));
  CHECK(test::relative_error(weighted, 2 * a) < 1e-12);
}

TEST_CASE("pair by pair and column by column are the same kernel", "[kernel][custom]") {
  static_assert(repel::KernelPairs<repel::Pairs<PairwiseRbf, double>, double>);
  static_assert(repel::KernelPairs<repel::Pairs<repel::Rbf<>, float>, float>);
  namespace pair = repel::pair;
  for (const Index d : {3, 17}) {
    const Mat x = Mat::Random(d, 9), q = Mat::Random(d, 4), v = Mat::Random(d, 9);
    repel::Pairs<PairwiseRbf, double> slow;
    repel::Pairs<repel::Rbf<>, double> fast;
    slow.measure(PairwiseRbf{}, x);
    fast.measure(repel::Rbf{}, x);
    CHECK(test::relative_error(slow.values(), fast.values()) < 1e-12);
    const auto same = [&](Index columns, const auto& ask) {
      Mat a(d, columns), b(d, columns);
      ask(slow, a);
      ask(fast, b);
      CHECK(test::relative_error(a, b) < 1e-12);
    };
    const Vec a = Vec::Random(9), b = Vec::Random(9);
    same(9, [](auto& pairs, Mat& out) { pairs.accumulate(pair::source_gradient(out)); });
    same(9, [](auto& pairs, Mat& out) { pairs.accumulate(pair::gradient(out)); });
    same(9, [&](auto& pairs, Mat& out) { pairs.accumulate(pair::gradient(out, a, b)); });
    same(9, [](auto& pairs, Mat& out) { pairs.accumulate(pair::log_gradient(out)); });
    same(9, [&](auto& pairs, Mat& out) { pairs.accumulate(pair::product(v, out)); });
    same(9, [&](auto& pairs, Mat& out) { pairs.accumulate(pair::stein(v, 0.3, out)); });
    same(9, [](auto& pairs, Mat& out) {
      pairs.source_gradient_through(
          [](Mat& g) -> const Mat& {
            g *= 2;
            return g;
          },
          out);
    });
    same(4, [&](auto& pairs, Mat& out) { pairs.accumulate_at(q, pair::log_gradient(out)); });
    same(4, [&](auto& pairs, Mat& out) { pairs.accumulate_at(q, pair::stein(v, 0.3, out)); });
    same(3, [&](auto& pairs, Mat& out) { pairs.accumulate_some(5, 3, pair::stein(v, 0.3, out)); });
    same(3, [&](auto& pairs, Mat& out) { pairs.accumulate_some(5, 3, pair::product(v, out)); });
    Mat k_slow, k_fast;
    slow.values_at(q, k_slow);
    fast.values_at(q, k_fast);
    CHECK(test::relative_error(k_slow, k_fast) < 1e-12);
  }
}

namespace {

struct PseudoHuber {  // Σ_k √(1 + (x_k − y_k)²) − 1: a metric of one's own
  static auto term(const auto& difference) { return (1 + difference.square()).sqrt() - 1; }
  static auto slope(const auto& difference) { return difference * (1 + difference.square()).rsqrt(); }
};

struct HuberRbf {
  using Metric = PseudoHuber;
  repel::MedianBandwidth bandwidth{};
  static constexpr bool slope_shares_value = true;
  auto phi(const auto& u) const { return repel::exp_minus(u); }
  auto phi_prime(const auto&, const auto& k) const { return -k; }
};

}  // namespace

TEMPLATE_TEST_CASE("a metric of one's own works in low and in high dimension", "[kernel][custom]", float, double) {
  using M = repel::Matrix<TestType>;
  const auto distance = [](const Vec& x, const Vec& y) {
    double sum = 0;
    for (Index k = 0; k < x.size(); ++k) sum += std::sqrt(1 + (x(k) - y(k)) * (x(k) - y(k))) - 1;
    return sum;
  };
  const test::OracleKernel oracle{[&](const Vec& x, const Vec& y, double h) { return std::exp(-distance(x, y) / h); },
                                  [&](const Vec& x, const Vec& y, double h) -> Vec {
                                    Vec out(x.size());
                                    for (Index k = 0; k < x.size(); ++k)
                                      out(k) = -(x(k) - y(k)) / std::sqrt(1 + (x(k) - y(k)) * (x(k) - y(k))) / h *
                                               std::exp(-distance(x, y) / h);
                                    return out;
                                  }};
  for (const Index d : {2, 5, 23}) {
    CAPTURE(d);
    const M x = M::Random(d, 31) * 2;
    const Mat exact = x.template cast<double>();
    repel::Pairs<HuberRbf, TestType> pairs;
    pairs.measure(HuberRbf{}, x);
    M g(d, 31);
    pairs.accumulate(repel::pair::source_gradient(g));
    const double h = pairs.bandwidth(), tolerance = test::rounding<TestType>();
    CHECK(test::relative_error(g, test::oracle_gradient_sum(oracle, exact, h)) < tolerance);
    CHECK(test::relative_error(pairs.values(), test::oracle_gram(oracle, exact, exact, h)) < tolerance);
    std::vector<double> all;
    for (Index i = 0; i < 31; ++i)
      for (Index j = 0; j < 31; ++j) all.push_back(distance(exact.col(i), exact.col(j)));
    CHECK(h == Approx(test::sorted_median(all) / std::log(32.0)).epsilon(10 * tolerance));
  }
}

TEST_CASE("no targets are no trouble", "[kernel][degenerate]") {
  for (const Index d : {2, 20}) {
    repel::Pairs<repel::Rbf<>, double> pairs;
    pairs.measure(repel::Rbf{}, Mat::Random(d, 30));
    Vec sums;
    Mat out(d, 0), k;
    pairs.accumulate_at(Mat(d, 0), repel::pair::sums(sums), repel::pair::gradient(out));
    pairs.accumulate_some(3, 0, repel::pair::log_gradient(out));
    pairs.values_at(Mat(d, 0), k);
    CHECK(sums.size() == 0);
    CHECK(k.rows() == 30);
    CHECK(k.cols() == 0);
  }
}

TEST_CASE("pairs refuse matrices of the wrong shape", "[kernel][bad-input]") {
  const Mat x = Mat::Random(3, 7), v = Mat::Random(2, 6);
  repel::Pairs<repel::Rbf<>, double> pairs;
  pairs.measure(repel::Rbf{}, x);
  Mat out(3, 6), two(2, 7);
  CHECK_THROWS_WITH(pairs.accumulate(repel::pair::gradient(out)),
                    "repel::Pairs::accumulate: out is 3x6, but must be 3x7");
  CHECK_THROWS_WITH(pairs.accumulate(repel::pair::product(v, two)),
                    "repel::Pairs::accumulate: v has 6 columns, but must have 7, one per particle");
  Mat three(3, 2);
  CHECK_THROWS_WITH(pairs.accumulate_at(Mat::Zero(2, 2), repel::pair::gradient(three)),
                    "repel::Pairs: the targets have 2 rows, but must have 3 like the particles");
  CHECK_THROWS_WITH(pairs.accumulate_some(6, 2, repel::pair::gradient(three)),
                    "repel::Pairs::accumulate_some: first and m are 6 and 2, but must name some of the 7 particles");
  repel::Pairs<Linear, double> general;
  general.measure(Linear{}, x);
  CHECK_THROWS_WITH(general.accumulate(repel::pair::gradient(out)), contains("out is 3x6, but must be 3x7"));
  CHECK_THROWS_WITH(general.values_at(Mat::Zero(2, 2), out), contains("the targets have 2 rows"));
}

}  // namespace kernel_kernel_test
