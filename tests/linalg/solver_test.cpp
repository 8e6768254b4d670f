#include "catch.hpp"
#include "support/tolerance.hpp"

#include <repel/core/random.hpp>
#include <repel/kernel/matern.hpp>
#include <repel/rule/wgd.hpp>
#include <repel/score/sge.hpp>
#include <repel/score/ssge.hpp>

namespace linalg_solver_test {

// The solvers that never hold K must agree with the dense ones, and say how far they got.

using namespace repel;

namespace {

template <class Scalar, class Dense, class Iterative>
double difference(const Dense& dense, const Iterative& iterative, Index d, Index n) {
  const Matrix<Scalar> x = normal<Scalar>(d, n, 3);
  return test::relative_error(estimate_score(iterative, x), estimate_score(dense, x));
}

constexpr double kRidge = 0.01;

struct Linear {  // a kernel of no distance, of rank 3 in 2-D
  FixedBandwidth bandwidth{1.0};
  auto value(const auto& a, const auto& b, auto h) const { return 1 + a.dot(b) / h; }
  auto gradient(const auto&, const auto& b, auto h) const { return b / h; }
};

}  // namespace

TEST_CASE("conjugate gradients agree with Cholesky", "[solver]") {
  // A residual of 1e-10 leaves an error of up to 1e-10 times the condition number, here some 1e4.
  const IterativeSolver fine{1e-10};
  for (const auto& [d, n] : {std::pair<Index, Index>{2, 300}, {20, 200}}) {
    CAPTURE(d, n);
    CHECK(difference<double>(Sge{Rbf{}, kRidge, DenseSolver{}}, Sge{Rbf{}, kRidge, fine}, d, n) < 1e-6);
    CHECK(difference<double>(Ssge{Rbf{}, kRidge, AllEigenpairs{}, DenseSolver{}},
                             Ssge{Rbf{}, kRidge, AllEigenpairs{}, fine}, d, n) < 1e-6);
    CHECK(difference<float>(Sge{Rbf{}, kRidge, DenseSolver{}}, Sge{Rbf{}, kRidge, fine}, d, n) < 2e-2);
  }
  // With few landmarks the preconditioner is poor, the answer is not.
  CHECK(difference<double>(Sge{Matern52{}, kRidge, DenseSolver{}},
                           Sge{Matern52{}, kRidge, IterativeSolver{1e-10, 500, 5}}, 2, 300) < 1e-6);
}

TEST_CASE("subspace iteration agrees with all eigenpairs", "[solver]") {
  const IterativeSolver fine{1e-10};
  for (const auto& [d, n] : {std::pair<Index, Index>{2, 300}, {20, 200}}) {
    CAPTURE(d, n);
    // Eigenvectors converge like the residual over the gap to the next eigenvalue.
    const Index keep = d == 2 ? 12 : 1;  // in many dimensions the spectrum has no other gap
    CHECK(difference<double>(Ssge{Rbf{}, kRidge, LargestEigenpairs{keep}, DenseSolver{}},
                             Ssge{Rbf{}, kRidge, LargestEigenpairs{keep}, fine}, d, n) < 1e-5);
  }
  CHECK(difference<double>(Ssge{Rbf{}, kRidge, SpectrumFraction{0.8}, DenseSolver{}},
                           Ssge{Rbf{}, kRidge, SpectrumFraction{0.8}, fine}, 2, 300) < 1e-5);
  // So many wanted that the dense solver takes over.
  CHECK(difference<double>(Ssge{Rbf{}, kRidge, LargestEigenpairs{150}, DenseSolver{}},
                           Ssge{Rbf{}, kRidge, LargestEigenpairs{150}, fine}, 2, 200) < 1e-9);
}

TEST_CASE("out of sample the solvers agree, too", "[solver]") {
  const Eigen::MatrixXd x = normal(2, 200, 3), q = normal(2, 9, 4);
  const IterativeSolver fine{1e-10};
  CHECK(test::relative_error(estimate_score(Ssge{Rbf{}, kRidge, AllEigenpairs{}, fine}, x, q),
                             estimate_score(Ssge{Rbf{}, kRidge, AllEigenpairs{}, DenseSolver{}}, x, q)) < 1e-6);
  CHECK(test::relative_error(estimate_score(Ssge{Rbf{}, kRidge, LargestEigenpairs{10}, fine}, x, q),
                             estimate_score(Ssge{Rbf{}, kRidge, LargestEigenpairs{10}, DenseSolver{}}, x, q)) < 1e-5);
}

TEST_CASE("a blocked Cholesky factorisation is one", "[solver]") {
  // More than one panel, and dimensions for both ways to use it.
  for (const auto& [d, n] : {std::pair<Index, Index>{2, 300}, {400, 300}}) {
    const Eigen::MatrixXd x = normal(d, n, 5);
    Eigen::MatrixXd a = gram(Rbf{}, x);
    a.diagonal().array() += kRidge;
    Pairs<Rbf<>, double> pairs;
    pairs.measure(Rbf{}, x);
    Eigen::MatrixXd sum(d, n);
    pairs.accumulate(pair::source_gradient(sum));
    const Eigen::MatrixXd expected = -a.fullPivLu().solve(sum.transpose()).transpose();
    CHECK(test::relative_error(estimate_score(Sge{}, x), expected) < 1e-10);
  }
}

TEST_CASE("an iterative solver says how far it got", "[solver]") {
  const Eigen::MatrixXd x = normal(2, 300, 3);
  Eigen::MatrixXd phi(2, 300);
  const auto solve_of = [&](const auto& estimator) {
    const Wgd rule{estimator};
    typename std::remove_cvref_t<decltype(rule)>::template Workspace<double> w;
    return rule.direction(x, x, w, phi).solve;
  };
  const SolveInfo dense = solve_of(Sge{});
  CHECK(dense.iterations == 0);
  CHECK(dense.residual == 0);
  const SolveInfo good = solve_of(Sge{Rbf{}, kRidge, IterativeSolver{1e-6}});
  CHECK(good.iterations > 0);
  CHECK(good.residual <= 1e-6);
  CHECK(good.residual > 0);
  const SolveInfo hurried = solve_of(Sge{Rbf{}, kRidge, IterativeSolver{1e-12, 2, 5}});
  CHECK(hurried.iterations == 2);
  CHECK(hurried.residual > 1e-12);
  const SolveInfo spectral = solve_of(Ssge{Rbf{}, kRidge, LargestEigenpairs{8}, IterativeSolver{1e-8}});
  CHECK(spectral.iterations > 0);
  CHECK(spectral.residual <= 1e-8);
}

TEST_CASE("bad solver settings are refused by name", "[solver][bad-input]") {
  const Eigen::MatrixXd x = normal(2, 20, 3);
  CHECK_THROWS_WITH(estimate_score(Sge{Rbf{}, kRidge, IterativeSolver{-1.0}}, x),
                    "repel::IterativeSolver: tolerance is -1, but must be finite and larger than 0");
  CHECK_THROWS_WITH(estimate_score(Sge{Rbf{}, kRidge, IterativeSolver{1e-6, 0}}, x),
                    "repel::IterativeSolver: max_iterations is 0, but must be at least 1");
  CHECK_THROWS_WITH(estimate_score(Ssge{Rbf{}, kRidge, AllEigenpairs{}, IterativeSolver{1e-6, 10, 0}}, x),
                    "repel::IterativeSolver: rank is 0, but must be at least 1");
}

TEST_CASE("an iterative solver keeps its head where squares overflow", "[solver]") {
  // Coordinates of 1e-18: G is some 1e18 per entry, whose square no float holds.
  const Eigen::MatrixXf x = normal<float>(2, 200, 3) * 1e-18f;
  const Eigen::MatrixXf dense = estimate_score(Sge{Rbf{}, kRidge, DenseSolver{}}, x);
  CHECK(dense.cwiseAbs().maxCoeff() > 1e17f);
  CHECK(test::relative_error(estimate_score(Sge{Rbf{}, kRidge, IterativeSolver{1e-6}}, x), dense) < 2e-2);
}

TEST_CASE("a user's kernel of large values is no trouble for the iterative solver", "[solver]") {
  const Eigen::MatrixXd x = normal(2, 120, 3) * 100;
  CHECK(test::relative_error(estimate_score(Sge<Linear, IterativeSolver>{{}, 1.0, {1e-10}}, x),
                             estimate_score(Sge<Linear, DenseSolver>{{}, 1.0, {}}, x)) < 1e-5);
}

}  // namespace linalg_solver_test
