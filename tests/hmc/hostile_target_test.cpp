#include "catch.hpp"

#include <repel/hmc.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace hmc_hostile_target_test {

namespace {

using repel::Index;

/// A standard normal that changes the gradient's shape at its call number `at`.
struct Reshapes {
  Index at, rows, columns;
  Index calls = 0;
  void operator()(const auto& w, auto& g) {
    g = -w;
    if (++calls == at) g.setConstant(rows, columns, 1);
  }
  void log_density(const auto& w, repel::Vector<double>& values) const {
    values = (-0.5 * w.colwise().squaredNorm().transpose()).template cast<double>();
  }
};

}  // namespace

TEMPLATE_TEST_CASE("a gradient that changes its shape is refused at once", "[hmc][hostile]", float, double) {
  const repel::Matrix<TestType> start = repel::Matrix<TestType>::Constant(40, 6, TestType(0.1));
  for (const Index at : {1, 2, 3, 30, 31, 32, 33, 34, 35})
    for (const auto& [rows, columns] : {std::pair<Index, Index>{1, 1}, {40, 1}, {1, 6}, {40, 7}, {0, 0}}) {
      CAPTURE(at, rows, columns);
      const auto refused = contains("the gradient written by the target is " + std::to_string(rows) + "x" +
                                    std::to_string(columns) + ", but must be 40x6 like the chains");
      CHECK_THROWS_WITH(repel::hmc(Reshapes{at, rows, columns}, start, {.warmup = 20, .samples = 10}), refused);
      if (rows == 40 && columns <= 6) continue;  // right where only that many trees are still growing
      CHECK_THROWS_WITH(repel::nuts(Reshapes{at, rows, columns}, start, {.warmup = 20, .samples = 10}),
                        contains("the gradient written by the target is"));
    }
}

TEMPLATE_TEST_CASE("posteriors of any width", "[hmc][hostile]", float, double) {
  for (const double sd : {1e-12, 1e12}) {
    CAPTURE(sd);
    const auto target = repel::with_log_density(
        [sd](const auto& w, auto& g) { g = w * static_cast<TestType>(-1 / sd) * static_cast<TestType>(1 / sd); },
        [sd](const auto& w, repel::Vector<double>& values) {
          values = -0.5 * (w.template cast<double>() / sd).colwise().squaredNorm().transpose();
        });
    const repel::Matrix<TestType> start = repel::Matrix<TestType>::Zero(2, 4);
    for (const auto& result : {repel::hmc(target, start, {.warmup = 500, .samples = 500, .seed = 1}),
                               repel::nuts(target, start, {.warmup = 500, .samples = 500, .seed = 1})}) {
      const auto draws = (result.draws.template cast<double>() / sd).eval();
      CHECK(std::sqrt(draws.squaredNorm() / static_cast<double>(draws.size())) == Approx(1).margin(0.15));
      CHECK(result.divergences == 0);
    }
  }
}

TEST_CASE("a density that is flat is still refused", "[hmc][hostile]") {
  const auto flat = repel::with_log_density([](const auto& w, auto& g) { g.setZero(w.rows(), w.cols()); },
                                            [](const auto& w, auto& values) { values.setZero(w.cols()); });
  CHECK_THROWS_WITH(repel::hmc(flat, Eigen::MatrixXd::Zero(2, 3)), contains("the log density there is flat"));
  CHECK_THROWS_WITH(repel::nuts(flat, Eigen::MatrixXf::Zero(2, 3)), contains("the log density there is flat"));
}

TEST_CASE("numbers of iterations that cannot be added are refused", "[hmc][hostile]") {
  constexpr Index most = std::numeric_limits<Index>::max();
  CHECK_THROWS_WITH((repel::Hmc{.warmup = most, .samples = most}.validate()), contains("warmup is"));
  CHECK_THROWS_WITH((repel::Nuts{.warmup = 1, .samples = most}.validate()), contains("samples is"));
}

}  // namespace hmc_hostile_target_test
