// A program of its own, compiled with OpenMP: there Eigen shares its products among OpenMP's threads, and must not do
// so within the library's loops.
#include "catch.hpp"

#include <repel/repel.hpp>

#include <omp.h>

#include <utility>
#include <vector>

namespace {

template <class Rule>
Eigen::MatrixXd steps_of(const Rule& rule, const Eigen::MatrixXd& x) {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, rule);
  auto state = sampler.init(x);
  CHECK(repel::run(sampler, state, 3).finished());
  return state.particles;
}

}  // namespace

TEST_CASE("the bits are the same inside a user's parallel region", "[threads]") {
  const Eigen::MatrixXd x = repel::normal(50, 300, 42);
  const Eigen::MatrixXd reference = steps_of(repel::Svgd{}, x);
  std::vector<Eigen::MatrixXd> results(4);
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 4; ++i) results[static_cast<std::size_t>(i)] = steps_of(repel::Svgd{}, x);
  for (const auto& result : results) CHECK(result == reference);
}

TEST_CASE("the bits are the same in an OpenMP team of one thread", "[threads]") {
  // There Eigen, left to itself, would cut products by omp_get_max_threads().
  using namespace repel;
  const Eigen::MatrixXd x = normal(700, 60, 42), y = normal(2, 700, 43);
  const auto results = [&] {
    return std::pair{steps_of(Svgd{}, x), estimate_score(Ssge{Rbf{}, 0.01, LargestEigenpairs{5}, DenseSolver{}}, y)};
  };
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto reference = results();
  omp_set_num_threads(8);
  const auto plain = results();
  std::pair<Eigen::MatrixXd, Eigen::MatrixXd> in_team;
#pragma omp parallel num_threads(1)
  in_team = results();
  omp_set_num_threads(before);
  CHECK(plain == reference);
  CHECK(in_team == reference);
}
