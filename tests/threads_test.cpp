#include "catch.hpp"

#include <repel/repel.hpp>

#ifdef _OPENMP

#include <omp.h>

#include <functional>
#include <string>
#include <vector>

namespace {

template <class Scalar>
using Walk = std::function<repel::Matrix<Scalar>(const repel::Matrix<Scalar>&)>;

/// The particles after a few steps of a rule.
template <class Scalar, class Rule>
Walk<Scalar> walk(const Rule& rule) {
  return [rule](const repel::Matrix<Scalar>& x) -> repel::Matrix<Scalar> {
    auto sampler = repel::weight_space(repel::per_particle([](const auto& w, auto& g) { g = -w; }), rule,
                                       repel::Adam{.learning_rate = 0.01});
    auto state = sampler.init(x);
    repel::run(sampler, state, 3);
    return state.particles;
  };
}

template <class Scalar>
void compare(const std::string& name, const Walk<Scalar>& steps) {
  // Few particles in many dimensions are one tile; many particles are several. Eigen would use threads in both.
  for (const auto& [d, n] : {std::pair{2, 700}, {4, 300}, {50, 300}, {2701, 50}}) {
    CAPTURE(name, d, n);
    const repel::Matrix<Scalar> x = repel::normal<Scalar>(d, n, 42);
    const int before = omp_get_max_threads();
    omp_set_num_threads(1);
    const repel::Matrix<Scalar> reference = steps(x);
    for (const int threads : {2, 3, 8}) {
      omp_set_num_threads(threads);
      CHECK(steps(x) == reference);
    }
    omp_set_num_threads(before);
  }
}

}  // namespace

TEST_CASE("the bits do not depend on the number of threads", "[threads]") {
  using namespace repel;
  compare<double>("Svgd", walk<double>(Svgd{}));
  compare<double>("Kde", walk<double>(Wgd{Kde{}}));
  compare<double>("Sge", walk<double>(Wgd{Sge{}}));
  compare<double>("Ssge", walk<double>(Wgd{Ssge{}}));
  compare<double>("Blob", walk<double>(Wgd{Blob{Matern52{}}}));
  compare<double>("Laplace", walk<double>(Wgd{Kde{Laplace{}}}));
  compare<float>("Svgd in float", walk<float>(Svgd{}));
}

TEST_CASE("the bits are the same inside a user's parallel region", "[threads]") {
  const Eigen::MatrixXd x = repel::normal(50, 300, 42);
  const auto steps = walk<double>(repel::Svgd{});
  const Eigen::MatrixXd reference = steps(x);
  std::vector<Eigen::MatrixXd> results(4);
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 4; ++i) results[static_cast<std::size_t>(i)] = steps(x);
  for (const auto& result : results) CHECK(result == reference);
}

#endif
