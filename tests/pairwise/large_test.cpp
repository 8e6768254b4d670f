#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/kernel/laplace.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/pairwise/pairs.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

namespace pairwise_large_test {

// Many particles: several tiles and tasks in few dimensions, strips of K in many, where it is never held. The oracle is
// a plain loop for some of the particles.

namespace {

using test::Index;
using test::Mat;
using test::Vec;

/// What pairs sum up, in double.
struct Seen {
  double bandwidth, repulsion;
  Mat sums, attraction, over_sums, shared, product, stein;
};

template <class K, class Scalar>
Seen evaluate(const K& kernel, const Mat& x, const Mat& v, const Vec& w) {
  namespace pair = repel::pair;
  repel::Pairs<K, Scalar> pairs;
  pairs.measure(kernel, x.cast<Scalar>().eval());
  repel::Vector<Scalar> sums, again;
  repel::Matrix<Scalar> a(x.rows(), x.cols()), b = a, c = a, p(v.rows(), v.cols()), s = a;
  const repel::Matrix<Scalar> vs = v.cast<Scalar>(), top = vs.topRows(x.rows());
  const repel::Vector<Scalar> ws = w.cast<Scalar>();
  double repulsion = 0;
  pairs.accumulate(pair::sums(sums));
  pairs.accumulate(pair::gradient(a));
  pairs.accumulate(pair::log_gradient(b));
  pairs.accumulate(pair::gradient(c, ws, ws));
  pairs.accumulate(pair::product(vs, p));
  pairs.accumulate(pair::stein(top, 1 / static_cast<Scalar>(x.cols()), s, &repulsion));
  // Some against all, by strips or streamed.
  const Index first = x.cols() / 3, m = std::min<Index>(200, x.cols() - first);
  repel::Matrix<Scalar> some(x.rows(), m), parts(x.rows(), m);
  pairs.accumulate_some(first, m, pair::sums(again), pair::gradient(some));
  CHECK(test::relative_error(sums.segment(first, m), again) < 1e-6);
  CHECK(test::relative_error(some, a.middleCols(first, m)) < (sizeof(Scalar) == 8 ? 1e-10 : 2e-4));
  pairs.accumulate_some(first, m, pair::stein(top, 1 / static_cast<Scalar>(x.cols()), parts));
  CHECK(test::relative_error(parts, s.middleCols(first, m)) < (sizeof(Scalar) == 8 ? 1e-10 : 2e-4));
  return {pairs.bandwidth(),
          repulsion,
          sums.template cast<double>(),
          a.template cast<double>(),
          b.template cast<double>(),
          c.template cast<double>(),
          p.template cast<double>(),
          s.template cast<double>()};
}

void compare(const Seen& seen, const test::OracleKernel& oracle, const Mat& x, const Mat& v, const Vec& w,
             double tolerance) {
  const Index n = x.cols(), d = x.rows(), checked = 7;
  const double h = seen.bandwidth;
  std::vector<Mat> got(6), wanted(6);
  for (Index t = 0; t < checked; ++t) {
    const Index j = t * (n - 1) / (checked - 1);
    Vec attraction = Vec::Zero(d), shared = Vec::Zero(d), product = Vec::Zero(v.rows());
    double sum = 0;
    for (Index i = 0; i < n; ++i) {
      const Vec gradient = oracle.gradient(x.col(j), x.col(i), h);
      const double value = oracle.value(x.col(i), x.col(j), h);
      attraction += gradient;
      shared += (w(i) + w(j)) * gradient;
      product += value * v.col(i);
      sum += value;
    }
    const auto add = [&](std::size_t k, const Mat& a, const Mat& b) {
      got[k].conservativeResize(a.rows(), t + 1);
      wanted[k].conservativeResize(a.rows(), t + 1);
      got[k].col(t) = a;
      wanted[k].col(t) = b;
    };
    add(0, Mat::Constant(1, 1, seen.sums(j)), Mat::Constant(1, 1, sum));
    add(1, seen.attraction.col(j), attraction);
    add(2, seen.over_sums.col(j), attraction / sum);
    add(3, seen.shared.col(j), shared);
    add(4, seen.product.col(j), product);
    add(5, seen.stein.col(j), (product.head(d) - attraction) / static_cast<double>(n));
  }
  // The mean norm of G / n: of all particles, or of 16 of them where G is part of one product.
  const auto norm = [&](Index j) { return seen.attraction.col(j).norm() / static_cast<double>(n); };
  double all = 0, some = 0;
  for (Index j = 0; j < n; ++j) all += norm(j) / static_cast<double>(n);
  for (Index t = 0; t < 16; ++t) some += norm(t * n / 16) / 16;
  CHECK((std::abs(seen.repulsion - all) < tolerance * all ||
         (d > 16 && std::abs(seen.repulsion - some) < tolerance * some)));
  for (std::size_t k = 0; k < got.size(); ++k) {
    CAPTURE(k);
    CHECK(test::relative_error(got[k], wanted[k]) < tolerance);
  }
}

template <template <class> class K>
void check(const test::OracleKernel& oracle, Index d, Index n, bool in_float) {
  CAPTURE(d, n);
  const Mat x = repel::normal(d, n, 5).cast<float>().cast<double>(),
            v = repel::normal(std::max<Index>(d, 20), n, 6).cast<float>().cast<double>();
  const Vec w = (repel::normal(n, 1, 7).array().abs() + 0.1).matrix().cast<float>().cast<double>();
  compare(evaluate<K<repel::MedianBandwidth>, double>({}, x, v, w), oracle, x, v, w, 1e-10);  // sums of thousands
  if (in_float) compare(evaluate<K<repel::MedianBandwidth>, float>({}, x, v, w), oracle, x, v, w, 2e-4);
}

}  // namespace

TEST_CASE("sweeps over many tiles agree with plain loops", "[large]") {
  for (const Index d : {1, 2, 7, 16})
    for (const Index n : {129, 700, 1500}) {  // a tile and a bit; several tasks; wider tiles
      check<repel::Rbf>(test::oracle_rbf(), d, n, true);
      if (n == 700) check<repel::Matern52>(test::oracle_matern52(), d, n, false);
      if (n == 700) check<repel::Laplace>(test::oracle_laplace(), d, n, true);
    }
}

TEST_CASE("in many dimensions a held K and strips of it agree with plain loops", "[large]") {
  static_assert(repel::detail::kHeldCount == 4096);
  for (const Index n : {Index{300}, Index{4200}}) {
    check<repel::Rbf>(test::oracle_rbf(), 18, n, true);
    check<repel::Laplace>(test::oracle_laplace(), 18, n, false);
    check<repel::Matern52>(test::oracle_matern52(), 18, n, false);
  }
}

TEST_CASE("the median of millions of distances is exact", "[large][bandwidth]") {
  for (const Index d : {2, 18})
    for (const Index n : {Index{800}, d == 2 ? Index{3000} : Index{4200}}) {
      CAPTURE(d, n);
      const Mat x = repel::normal(d, n, 9);
      std::vector<double> squared;
      squared.reserve(static_cast<std::size_t>(n * n));
      for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < i; ++j) {
          const double r = (x.col(i) - x.col(j)).squaredNorm();
          squared.push_back(r);
          squared.push_back(r);
        }
      squared.resize(static_cast<std::size_t>(n * n), 0.0);
      const auto middle = squared.begin() + n * n / 2;
      std::nth_element(squared.begin(), middle, squared.end());
      double median = *middle;
      if (n % 2 == 0) median = 0.5 * (median + *std::max_element(squared.begin(), middle));
      CHECK(repel::bandwidth(repel::Rbf{}, x) == Approx(median / std::log(static_cast<double>(n) + 1)).epsilon(1e-13));
    }
}

TEST_CASE("the median of a sample of the particles is near that of all", "[large][bandwidth]") {
  const Mat x = repel::normal(2, 3000, 9);
  const double all = repel::bandwidth(repel::Rbf{}, x);
  const double some = repel::bandwidth(repel::Rbf{repel::SampledMedianBandwidth{500}}, x);
  CHECK(some == Approx(all).epsilon(0.1));
  CHECK(some != all);
  // It is spread over the particles, which may come in any order.
  Mat sorted = x;
  std::sort(sorted.row(0).begin(), sorted.row(0).end());
  CHECK(repel::bandwidth(repel::Rbf{repel::SampledMedianBandwidth{500}}, sorted) ==
        Approx(repel::bandwidth(repel::Rbf{}, sorted)).epsilon(0.1));
  CHECK(repel::bandwidth(repel::Rbf{repel::SampledMedianBandwidth{5000}}, x) == all);  // no more than there are
  CHECK_THROWS_WITH(repel::bandwidth(repel::Rbf{repel::SampledMedianBandwidth{1}}, x),
                    "repel::SampledMedianBandwidth: particles is 1, but must be at least 2");
}

TEST_CASE("a sample of thousands in many dimensions is never held", "[large][bandwidth]") {
  const Mat x = repel::normal(17, 4200, 9);
  CHECK(repel::bandwidth(repel::Rbf{repel::SampledMedianBandwidth{4150}}, x) ==
        Approx(repel::bandwidth(repel::Rbf{}, x)).epsilon(0.01));
}

TEST_CASE("K keeps its diagonal while other sums are formed", "[large]") {
  const Mat x = repel::normal(20, 30, 9);
  repel::Pairs<repel::Rbf<>, double> pairs;
  pairs.measure(repel::Rbf{}, x);
  const auto& k = pairs.values();
  Mat out(20, 30);
  pairs.accumulate(repel::pair::gradient(out));
  CHECK(k.diagonal() == Vec::Ones(30));
}

}  // namespace pairwise_large_test
