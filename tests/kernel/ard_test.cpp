#include "catch.hpp"
#include "support/oracle.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/kernel/ard.hpp>
#include <repel/kernel/imq.hpp>
#include <repel/kernel/laplace.hpp>
#include <repel/pairwise/pairs.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/rule/wgd.hpp>
#include <repel/score/blob.hpp>
#include <repel/score/kde.hpp>
#include <repel/score/sge.hpp>
#include <repel/score/ssge.hpp>

#include <cmath>
#include <vector>

namespace kernel_ard_test {

using repel::Ard;
using repel::direction;
using test::Index;
using test::Mat;
using test::Vec;

namespace {

/// Coordinates of scales from 0.1 to 100; the last has no spread at all.
Mat uneven(Index d, Index n, std::uint64_t seed) {
  Mat x = repel::normal(d, n, seed);
  for (Index k = 0; k < d; ++k) x.row(k) *= std::pow(10.0, static_cast<double>(k % 4) - 1);
  x.row(d - 1).setConstant(0.1);
  return x;
}

Vec deviations(const Mat& x) {
  Vec out(x.rows());
  for (Index k = 0; k < x.rows(); ++k) {
    double sum = 0;
    for (Index j = 0; j < x.cols(); ++j) sum += std::pow(x(k, j) - x.row(k).mean(), 2);
    out(k) = std::sqrt(sum / static_cast<double>(x.cols()));
    if (out(k) < 1e-12) out(k) = 1;
  }
  return out;
}

/// k(x / scale, y / scale) and its gradient by the chain rule.
test::OracleKernel scaled(const test::OracleKernel& inner, const Vec& scale) {
  return {[=](const Vec& x, const Vec& y, double h) {
            return inner.value(x.cwiseQuotient(scale), y.cwiseQuotient(scale), h);
          },
          [=](const Vec& x, const Vec& y, double h) -> Vec {
            return inner.gradient(x.cwiseQuotient(scale), y.cwiseQuotient(scale), h).cwiseQuotient(scale);
          }};
}

/// A kernel that goes pair by pair.
struct Gaussian {
  repel::MedianBandwidth bandwidth{};
  auto value(const auto& x, const auto& y, auto h) const { return std::exp(-(x - y).squaredNorm() / h); }
  auto gradient(const auto& x, const auto& y, auto h) const { return (-2 / h * value(x, y, h) * (x - y)).eval(); }
};

template <class Scalar, class Kernel>
void check_terms(const Kernel& kernel, const test::OracleKernel& inner, Index d, const Vec* given) {
  constexpr Index n = 14, m = 5, first = 3;
  const repel::Matrix<Scalar> xs = uneven(d, n, 1).cast<Scalar>(), ys = uneven(d, m, 2).cast<Scalar>(),
                              vs = repel::normal<Scalar>(d, n, 3), ws = repel::normal<Scalar>(3, n, 4);
  const Mat x = xs.template cast<double>(), y = ys.template cast<double>(), v = vs.template cast<double>(),
            w = ws.template cast<double>();
  const Vec scale = given != nullptr ? *given : deviations(x);
  repel::Pairs<Kernel, Scalar> pairs;
  pairs.measure(kernel, xs);
  static_assert(repel::KernelPairs<decltype(pairs), Scalar>);
  const double h = pairs.bandwidth(), bound = test::rounding<Scalar>();
  CHECK(h == Approx(repel::bandwidth(kernel.inner, (scale.cwiseInverse().asDiagonal() * x).eval())).epsilon(bound));
  const test::OracleKernel k = scaled(inner, scale);
  CHECK(test::relative_error(pairs.values(), test::oracle_gram(k, x, x, h)) < bound);
  repel::Matrix<Scalar> out;
  pairs.values_at(ys, out);
  CHECK(test::relative_error(out, test::oracle_gram(k, x, y, h)) < bound);

  // All terms, at all particles, at some, and at other points.
  const repel::Vector<Scalar> a = repel::normal<Scalar>(n, 1, 5);
  const auto check = [&](const Mat& at, const repel::Vector<Scalar>& b, const auto& accumulate) {
    const Index t = at.cols();
    const Mat gram = test::oracle_gram(k, x, at, h);
    Mat gradient = Mat::Zero(d, t), weighted = gradient, source = gradient;
    for (Index j = 0; j < t; ++j)
      for (Index i = 0; i < n; ++i) {
        const Vec slope = k.gradient(at.col(j), x.col(i), h);
        gradient.col(j) += slope;
        weighted.col(j) += static_cast<double>(a(i) + b(j)) * slope;
        source.col(j) += k.gradient(x.col(i), at.col(j), h);
      }
    double norm = 0, found = 0;
    for (Index j = 0; j < t; ++j) norm += 0.3 * source.col(j).norm() / static_cast<double>(t);
    repel::Vector<Scalar> sums;
    repel::Matrix<Scalar> g1(d, t), g2(d, t), g3(d, t), g4(d, t), g5(d, t), p(3, t);
    accumulate(repel::pair::sums(sums), repel::pair::product(ws, p), repel::pair::gradient(g1));
    accumulate(repel::pair::gradient(g2, a, b));
    accumulate(repel::pair::log_gradient(g3));
    accumulate(repel::pair::source_gradient(g4));
    accumulate(repel::pair::stein(vs, Scalar(0.3), g5, &found));
    CHECK(test::relative_error(sums, gram.colwise().sum().transpose()) < bound);
    CHECK(test::relative_error(p, w * gram) < bound);
    for (Index r = 0; r < d; ++r) {  // row by row, since their sizes differ by a thousand
      CAPTURE(r);
      CHECK(test::relative_error(g1.row(r), gradient.row(r)) < 5 * bound);
      CHECK(test::relative_error(g2.row(r), weighted.row(r)) < 5 * bound);
      CHECK(test::relative_error(g3.row(r), gradient.row(r).cwiseQuotient(gram.colwise().sum())) < 5 * bound);
      CHECK(test::relative_error(g4.row(r), source.row(r)) < 5 * bound);
      CHECK(test::relative_error(g5.row(r), 0.3 * (v * gram + source).row(r)) < 5 * bound);
    }
    CHECK(found == Approx(norm).epsilon(5 * bound));
  };
  check(x, a, [&](const auto&... terms) { pairs.accumulate(terms...); });
  check(x.middleCols(first, m), a.tail(m), [&](const auto&... terms) { pairs.accumulate_some(first, m, terms...); });
  check(y, a.head(m), [&](const auto&... terms) { pairs.accumulate_at(ys, terms...); });

  const repel::Matrix<Scalar> mix = repel::normal<Scalar>(n, n, 6);
  repel::Matrix<Scalar> mapped(d, n), through;
  pairs.source_gradient_through(
      [&](repel::Matrix<Scalar>& g) -> const repel::Matrix<Scalar>& { return through = g * mix; }, mapped);
  const Mat expected = test::oracle_gradient_sum(k, x, h) * mix.template cast<double>();
  for (Index r = 0; r < d; ++r) CHECK(test::relative_error(mapped.row(r), expected.row(r)) < 5 * bound);
}

}  // namespace

TEMPLATE_TEST_CASE("all sums of an Ard kernel agree with plain loops", "[ard]", float, double) {
  for (const Index d : {3, 20}) {  // both layouts
    CAPTURE(d);
    check_terms<TestType>(Ard{}, test::oracle_rbf(), d, nullptr);
    check_terms<TestType>(Ard{repel::Imq{}}, test::oracle_imq(), d, nullptr);
    check_terms<TestType>(Ard{Gaussian{}}, test::oracle_rbf(), d, nullptr);
    const Vec given = Vec::LinSpaced(d, 0.5, 4);
    check_terms<TestType>(Ard{repel::Rbf{}, std::vector<double>(given.begin(), given.end())}, test::oracle_rbf(), d,
                          &given);
  }
}

TEST_CASE("with Ard a rule's direction follows the units of the coordinates", "[ard][invariance]") {
  // If x becomes c x then ∇ log p becomes ∇ log p / c, and so does what WGD adds to it. SVGD's Φ as well.
  for (const Index d : {3, 20}) {
    const Mat x = repel::normal(d, 25, 1), s = repel::normal(d, 25, 2);
    Vec c(d);
    for (Index k = 0; k < d; ++k) c(k) = std::pow(10.0, static_cast<double>(k % 7) - 3);
    const Mat cx = c.asDiagonal() * x, cs = c.cwiseInverse().asDiagonal() * s;
    const auto check = [&](const auto& rule) {
      const Mat back = c.asDiagonal() * direction(rule, cx, cs);
      CHECK(test::relative_error(back, direction(rule, x, s)) < 1e-9);
      CHECK(test::relative_error(direction(rule, (x.array() + 5).matrix(), s), direction(rule, x, s)) < 1e-9);
    };
    check(repel::Svgd{Ard{}});
    check(repel::Svgd{Ard{repel::Laplace{}}});
    check(repel::Wgd{repel::Kde{Ard{repel::Imq{}}}});
    check(repel::Wgd{repel::Sge{Ard{}}});
    check(repel::Wgd{repel::Ssge{Ard{}, 0.01, repel::LargestEigenpairs{6}}});
    check(repel::Wgd{repel::Blob{Ard{}}});
  }
}

TEST_CASE("an Ard kernel out of sample, on coincident particles, and with bad settings", "[ard]") {
  const Mat x = uneven(3, 20, 1), y = uneven(3, 4, 2);
  const Vec scale = deviations(x);
  const double h = repel::bandwidth(Ard{}, x);
  CHECK(test::relative_error(repel::estimate_score(repel::Kde{Ard{}}, x, y),
                             test::oracle_kde(scaled(test::oracle_rbf(), scale), x, y, h)) < 1e-10);
  CHECK(test::relative_error(repel::estimate_score(repel::Ssge{Ard{}}, x, y),
                             test::oracle_ssge(scaled(test::oracle_rbf(), scale), x, y, h, 0.01, 20)) < 1e-8);
  const Mat same = Mat::Constant(3, 6, 0.1), one = Mat::Constant(3, 1, 0.1);
  CHECK(test::relative_error(direction(repel::Svgd{Ard{}}, same, same), same) < 1e-15);
  CHECK(direction(repel::Svgd{Ard{}}, one, one) == one);
  CHECK_THROWS_WITH(repel::gram(Ard{repel::Rbf{}, {1, 2}}, x),
                    "repel::Ard: scale has 2 entries, but must have 3, one per coordinate");
  CHECK_THROWS_WITH(repel::gram(Ard{repel::Rbf{}, {1, 2, 0}}, x),
                    "repel::Ard: scale is 0, but must be finite and larger than 0");
  CHECK_THROWS_WITH(repel::gram(Ard{repel::Rbf{repel::FixedBandwidth{-1}}}, x), contains("FixedBandwidth: h is -1"));
}

}  // namespace kernel_ard_test
