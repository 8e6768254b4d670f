#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/repel.hpp>

#include <functional>
#include <map>
#include <string>

namespace rule_degenerate_test {

// n = 1, coincident particles and extreme scales: finite directions or the clear error, never NaN.

namespace {

using repel::Index;

// The rules behind one type, so that the checks below are compiled once and not per rule.
template <class M>
using Direction = std::function<M(const M& x, const M& force)>;

template <class M>
std::map<std::string, Direction<M>> all_rules() {
  using namespace repel;
  const auto wrap = [](auto rule) -> Direction<M> {
    return [rule](const M& x, const M& force) -> M { return direction(rule, x, force); };
  };
  return {
      {"PlainEnsemble", wrap(PlainEnsemble{})},
      {"Svgd Rbf", wrap(Svgd{Rbf{}})},
      {"Svgd Imq", wrap(Svgd{Imq{}})},
      {"Kde Rbf", wrap(Wgd{Kde{Rbf{}}})},
      {"Kde Laplace", wrap(Wgd{Kde{Laplace{}}})},
      {"Sge Rbf", wrap(Wgd{Sge{Rbf{}}})},
      {"Sge Matern32", wrap(Wgd{Sge{Matern32{}}})},
      {"Ssge Rbf", wrap(Wgd{Ssge{Rbf{}}})},
      {"Ssge some", wrap(Wgd{Ssge{Rbf{}, 0.01, SpectrumFraction{0.9}}})},
      {"Blob Matern52", wrap(Wgd{Blob{Matern52{}}})},
  };
}

}  // namespace

TEMPLATE_TEST_CASE("degenerate particles have finite directions", "[degenerate]", float, double) {
  using M = repel::Matrix<TestType>;
  for (const auto& [name, direction] : all_rules<M>())
    for (const Index d : {2, 20}) {
      CAPTURE(name, d);
      const M zero = M::Zero(d, 12), force = M::Random(d, 12);

      // One particle feels no repulsion.
      const M one = M::Random(d, 1), one_force = M::Random(d, 1);
      CHECK(direction(one, one_force) == one_force);

      // All equal: no direction is better than another, so no repulsion either.
      const M equal = M::Constant(d, 12, TestType(0.1));
      CHECK(direction(equal, zero).isZero(0));
      CHECK(direction(equal, force).allFinite());

      // One duplicated particle: the twins feel the same repulsion.
      M twins = M::Random(d, 12);
      twins.col(7) = twins.col(3);
      const M pushed = direction(twins, zero);
      CHECK(pushed.allFinite());
      CHECK(test::relative_error(pushed.col(7), pushed.col(3)) < test::after_solve<TestType>());

      // Three quarters coincide, and with them more than half of the n² distances: the median is zero.
      M heap = M::Random(d, 12);
      for (Index j = 1; j < 9; ++j) heap.col(j) = heap.col(0);
      CHECK(direction(heap, force).allFinite());

      // Extreme scales: finite, or the error that says why not.
      for (const double scale : {1e-30, 1e-10, 1e10, 1e30}) {
        CAPTURE(scale);
        const M x = M::Random(d, 12) * static_cast<TestType>(scale);
        if (std::is_same_v<TestType, float> && scale == 1e30)
          CHECK_THROWS_WITH(direction(x, force), contains("its square would overflow 32-bit arithmetic"));
        else
          CHECK(direction(x, force).allFinite());
      }
    }
}

TEST_CASE("the repulsion follows the scale of the particles over sixty orders of magnitude", "[degenerate]") {
  const Eigen::MatrixXd x = Eigen::MatrixXd::Random(2, 12), zero = Eigen::MatrixXd::Zero(2, 12);
  const repel::Wgd rule{repel::Kde{}};
  const Eigen::MatrixXd phi = repel::direction(rule, x, zero);
  for (const double scale : {1e-30, 1e30})
    CHECK((repel::direction(rule, x * scale, zero) * scale - phi).norm() < 1e-12 * phi.norm());
}

}  // namespace rule_degenerate_test
