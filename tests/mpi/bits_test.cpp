#include "catch.hpp"
#include "mpi/support.hpp"

#include <string>

namespace mpi_bits_test {

// The same bits for any number of processes and any division, and those of the sampler without MPI: everything of the
// test of threads (threads_test.cpp), and what the number of a particle matters to.

namespace {

using namespace mpi_test;
using repel::Matrix;

struct Size {
  Index d, n, steps;
};

template <class Scalar, class Sampler>
void compare(const std::string& name, const Sampler& sampler, const std::vector<Size>& sizes) {
  for (const auto& [d, n, steps] : sizes) {
    CAPTURE(name, d, n);
    const Matrix<Scalar> x = repel::normal<Scalar>(d, n, 42);
    Sampler alone = sampler;
    auto state = alone.init(x);
    const repel::Report report = repel::run(alone, state, steps);
    REQUIRE(report.steps == steps);
    for (const int processes : {1, 2, 3, 4, 7}) {
      if (processes > world_size()) continue;
      const Some some(processes);
      if (!some.in()) continue;
      for (const int pattern : {0, 1}) {
        CAPTURE(processes, pattern);
        const bool same = spread_walk(sampler, x, steps, some.comm, pattern, pattern == 0 ? 0 : 2e7) == state.particles;
        CHECK(same);
      }
    }
  }
}

const std::vector<Size> kAll{{2, 150, 200}, {20, 90, 200}, {2, 700, 2}, {50, 300, 2}, {2701, 50, 2}};

template <class Scalar, class Rule>
void compare_rule(const std::string& name, const Rule& rule, const std::vector<Size>& sizes = kAll) {
  compare<Scalar>(name,
                  repel::weight_space(repel::per_particle([](const auto& w, auto& g) { g = -w; }), rule,
                                      repel::Adam{.learning_rate = 0.01}),
                  sizes);
}

/// f = A w, a particle at a time: a product of matrices rounds as their number of columns has it.
template <class Scalar>
struct Linear {
  Matrix<Scalar> a;
  Index output_dim() const { return a.rows(); }
  void predict(const auto& w, auto& f) const {
    for (Index j = 0; j < w.cols(); ++j) f.col(j).noalias() = a * w.col(j);
  }
  void score(const auto& f, auto& g) const { g = -f; }
  void pullback(const auto&, const auto& v, auto& out) const {
    for (Index j = 0; j < v.cols(); ++j) {
      out.col(j).setZero();
      for (Index i = 0; i < a.rows(); ++i) out.col(j) += v(i, j) * a.row(i).transpose();
    }
  }
};

template <class Scalar, class Rule>
void compare_functions(const std::string& name, const Rule& rule) {
  for (const Size& size : kAll) {
    if (size.d > 100) continue;  // a is d×d
    compare<Scalar>(name,
                    repel::function_space(Linear<Scalar>{repel::normal<Scalar>(size.d, size.d, 3)}, rule,
                                          repel::Adam{.learning_rate = 0.01}),
                    {size});
  }
}

template <class Scalar>
void compare_all(const std::string& scalar) {
  using namespace repel;
  compare_rule<Scalar>("PlainEnsemble" + scalar, PlainEnsemble{});
  compare_rule<Scalar>("Svgd" + scalar, Svgd{});
  compare_rule<Scalar>("Kde" + scalar, Wgd{Kde{}});
  compare_rule<Scalar>("Sge" + scalar, Wgd{Sge{}});
  compare_rule<Scalar>("Ssge" + scalar, Wgd{Ssge{}});
  compare_rule<Scalar>("Blob" + scalar, Wgd{Blob{}});
  compare_rule<Scalar>("Laplace" + scalar, Wgd{Kde{Laplace{}}});
  compare_rule<Scalar>("Imq" + scalar, Svgd{Imq{}});
  compare_rule<Scalar>("Matern32" + scalar, Svgd{Matern32{}});
  compare_rule<Scalar>("Matern52" + scalar, Wgd{Blob{Matern52{}}});
  compare_functions<Scalar>("f-SVGD" + scalar, Svgd{});
  compare_functions<Scalar>("kde-fWGD" + scalar, Wgd{Kde{}});
  compare_functions<Scalar>("sge-fWGD" + scalar, Wgd{Sge{}});
}

}  // namespace

TEST_CASE("the bits do not depend on the number of processes, in double", "[mpi]") { compare_all<double>(""); }

TEST_CASE("the bits do not depend on the number of processes, in float", "[mpi]") { compare_all<float>(" in float"); }

}  // namespace mpi_bits_test
