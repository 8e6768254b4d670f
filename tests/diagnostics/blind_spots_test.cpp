#include "catch.hpp"

#include <repel/diagnostics.hpp>
#include <repel/repel.hpp>

#include <cmath>

namespace diagnostics_blind_spots_test {

// What the diagnostics say that they do not see, so that docs/diagnostics.md stays true.

using Eigen::MatrixXd;
using repel::Index;
namespace diagnostics = repel::diagnostics;

TEST_CASE("KSD does not see a mode without particles, MMD does", "[diagnostics]") {
  const auto modes = [](Index left, Index right, std::uint64_t seed) {
    MatrixXd x = repel::normal(2, left + right, seed);
    x.row(0).head(left).array() -= 5;
    x.row(0).tail(right).array() += 5;
    return x;
  };
  const auto score = [](const MatrixXd& x) {  // of ½ N(−5 e₁, I) + ½ N(5 e₁, I)
    MatrixXd s = -x;
    s.row(0).array() += 5 * (5 * x.row(0).array()).tanh();
    return s;
  };
  const MatrixXd both = modes(50, 50, 1), one = modes(0, 100, 2), reference = modes(50, 50, 3);
  CHECK(diagnostics::ksd_test(both, score(both)).p_value > 0.05);
  CHECK(diagnostics::ksd_test(one, score(one)).p_value > 0.05);
  CHECK(diagnostics::mmd_test(both, reference).p_value > 0.05);
  CHECK(diagnostics::mmd_test(one, reference).p_value < 0.005);
}

TEST_CASE("particles that repel each other pass tests for draws too easily", "[diagnostics]") {
  const auto target = [](const auto& w, auto& g) { g = -w; };
  auto sampler = repel::weight_space(target, repel::Svgd{}, repel::Adam{.learning_rate = 0.05});
  auto state = sampler.init(repel::normal(2, 100, /*seed=*/4));
  const repel::Report report = repel::run(sampler, state, 500);
  REQUIRE(report.finished());
  const MatrixXd& x = state.particles;
  CHECK(x.squaredNorm() / 200 < 0.97);  // too narrow, and yet
  CHECK(diagnostics::ksd_test(x, -x).p_value > 0.95);
  CHECK(diagnostics::ksd_test(x, -x).u < 0);
}

TEST_CASE("distinct particles may be in the wrong place", "[diagnostics]") {
  const MatrixXd reference = repel::normal(2, 100, 5), far = 100 * repel::normal(2, 100, 6);
  CHECK(diagnostics::distinct(far, diagnostics::distinct_length(reference)) > 95);
}

}  // namespace diagnostics_blind_spots_test
