#include "catch.hpp"
#include "support/pool.hpp"

#include <repel/repel.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace threads_test {

// The same bits for any number of threads: the library's, a user's own, and in samplers that run side by side. In a
// program compiled with OpenMP: openmp_test.cpp.

namespace {

using repel::Index;

template <class Scalar>
using Walk = std::function<repel::Matrix<Scalar>(const repel::Matrix<Scalar>&, Index steps)>;

template <class Scalar, class Sampler>
repel::Matrix<Scalar> walk_of(Sampler sampler, const repel::Matrix<Scalar>& x, Index steps) {
  auto state = sampler.init(x);
  const repel::Report report = repel::run(sampler, state, steps);
  if (report.steps != steps) throw std::runtime_error(report.message);
  return state.particles;
}

/// The particles after some steps of a rule.
template <class Scalar, class Rule>
Walk<Scalar> walk(const Rule& rule) {
  return [rule](const repel::Matrix<Scalar>& x, Index steps) -> repel::Matrix<Scalar> {
    return walk_of<Scalar>(repel::weight_space(repel::per_particle([](const auto& w, auto& g) { g = -w; }), rule,
                                               repel::Adam{.learning_rate = 0.01}),
                           x, steps);
  };
}

/// f = A w, seen at as many points as there are coordinates.
template <class Scalar>
struct Linear {
  repel::Matrix<Scalar> a;
  Index output_dim() const { return a.rows(); }
  void predict(const auto& w, auto& f) const { repel::detail::product<Scalar>(a, w, f); }
  void score(const auto& f, auto& g) const { g = -f; }
  void pullback(const auto&, const auto& v, auto& out) const { repel::detail::transposed_product<Scalar>(a, v, out); }
};

template <class Scalar, class Rule>
Walk<Scalar> function_walk(const Rule& rule) {
  return [rule](const repel::Matrix<Scalar>& x, Index steps) -> repel::Matrix<Scalar> {
    return walk_of<Scalar>(repel::function_space(Linear<Scalar>{repel::normal<Scalar>(x.rows(), x.rows(), 3)}, rule,
                                                 repel::Adam{.learning_rate = 0.01}),
                           x, steps);
  };
}

template <class Scalar>
void compare(const std::string& name, const Walk<Scalar>& steps_of) {
  struct Size {
    Index d, n, steps;
  };
  // Few particles in many dimensions are one tile; many particles are several. Eigen would use threads in both.
  for (const auto& [d, n, steps] : {Size{2, 150, 200}, {20, 90, 200}, {2, 700, 2}, {50, 300, 2}, {2701, 50, 2}}) {
    CAPTURE(name, d, n);
    const repel::Matrix<Scalar> x = repel::normal<Scalar>(d, n, 42);
    repel::set_threads(1);
    const repel::Matrix<Scalar> reference = steps_of(x, steps), two = steps_of(x, 2);
    for (const Index threads : {2, 3, 8}) {
      repel::set_threads(threads);
      CHECK(steps_of(x, steps) == reference);
    }
    repel::set_threads(1);
    test::Pool pool;
    const repel::UseExecutor use(pool);
    CHECK(steps_of(x, 2) == two);
  }
}

template <class Scalar>
void compare_all(const std::string& scalar) {
  using namespace repel;
  compare<Scalar>("PlainEnsemble" + scalar, walk<Scalar>(PlainEnsemble{}));
  compare<Scalar>("Svgd" + scalar, walk<Scalar>(Svgd{}));
  compare<Scalar>("Kde" + scalar, walk<Scalar>(Wgd{Kde{}}));
  compare<Scalar>("Sge" + scalar, walk<Scalar>(Wgd{Sge{}}));
  compare<Scalar>("Ssge" + scalar, walk<Scalar>(Wgd{Ssge{}}));
  compare<Scalar>("Blob" + scalar, walk<Scalar>(Wgd{Blob{}}));
  compare<Scalar>("Laplace" + scalar, walk<Scalar>(Wgd{Kde{Laplace{}}}));
  compare<Scalar>("Imq" + scalar, walk<Scalar>(Svgd{Imq{}}));
  compare<Scalar>("Matern32" + scalar, walk<Scalar>(Svgd{Matern32{}}));
  compare<Scalar>("Matern52" + scalar, walk<Scalar>(Wgd{Blob{Matern52{}}}));
  compare<Scalar>("f-SVGD" + scalar, function_walk<Scalar>(Svgd{}));
  compare<Scalar>("kde-fWGD" + scalar, function_walk<Scalar>(Wgd{Kde{}}));
  compare<Scalar>("sge-fWGD" + scalar, function_walk<Scalar>(Wgd{Sge{}}));
}

}  // namespace

TEST_CASE("the bits do not depend on the number of threads, in double", "[threads]") { compare_all<double>(""); }

TEST_CASE("the bits do not depend on the number of threads, in float", "[threads]") { compare_all<float>(" in float"); }

TEST_CASE("iterative solvers have the same bits for any number of threads", "[threads]") {
  using namespace repel;
  const IterativeSolver solver{1e-6, 50, 40};
  compare<double>("conjugate gradients", [&](const Eigen::MatrixXd& x, Index) -> Eigen::MatrixXd {
    return estimate_score(Sge{Rbf{}, 0.01, solver}, x);
  });
  compare<double>("subspace iteration", [&](const Eigen::MatrixXd& x, Index) -> Eigen::MatrixXd {
    return estimate_score(Ssge{Rbf{}, 0.01, LargestEigenpairs{5}, solver}, x);
  });
}

TEST_CASE("scaled kernels, bandwidth searches and wrapped optimisers have the same bits", "[threads]") {
  using namespace repel;
  compare<double>("Ard, clipped and scheduled", [](const Eigen::MatrixXd& x, Index steps) -> Eigen::MatrixXd {
    const Scheduled optimiser{Clipped{Adam{.learning_rate = 0.01}, 0.5}, schedule::Cosine{.steps = 100}};
    return walk_of<double>(weight_space([](const auto& w, auto& g) { g = -w; }, Svgd{Ard{}}, optimiser), x, steps);
  });
  compare<double>("HeatBandwidth", [](const Eigen::MatrixXd& x, Index) -> Eigen::MatrixXd {
    return estimate_score(Kde{Rbf{HeatBandwidth{}}}, x);
  });
}

TEST_CASE("samplers in several threads of the user's do not disturb each other", "[threads]") {
  const Eigen::MatrixXd x = repel::normal(50, 300, 42), y = repel::normal(2, 500, 43);
  const auto many = walk<double>(repel::Svgd{}), few = walk<double>(repel::Wgd{repel::Sge{}});
  const Eigen::MatrixXd reference = many(x, 5), other = few(y, 5);
  repel::set_threads(3);  // one pool for all: who finds it busy works alone
  std::vector<Eigen::MatrixXd> results(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] { results[i] = i % 2 == 0 ? many(x, 5) : few(y, 5); });
  for (auto& thread : threads) thread.join();
  repel::set_threads(1);
  for (std::size_t i = 0; i < 4; ++i) CHECK(results[i] == (i % 2 == 0 ? reference : other));
}

}  // namespace threads_test
