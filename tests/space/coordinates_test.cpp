#include "catch.hpp"
#include "support/folder.hpp"
#include "support/tolerance.hpp"

#include <repel/checkpoint.hpp>
#include <repel/repel.hpp>

#include <cmath>

namespace space_coordinates_test {

namespace {

using repel::Adam;
using repel::Sgd;
using repel::Svgd;
namespace coordinates = repel::coordinates;

Eigen::MatrixXd covariance(const Eigen::MatrixXd& x) {
  const Eigen::MatrixXd c = x.colwise() - x.rowwise().mean();
  return c * c.transpose() / static_cast<double>(x.cols() - 1);
}

/// A correlated normal posterior with scales from 0.01 to 1000.
struct Wild {
  Eigen::VectorXd mean = Eigen::Vector4d(1, 2000, -3, 0.5);
  Eigen::MatrixXd sigma, precision;
  Wild() {
    const Eigen::Vector4d scale(1, 1000, 0.01, 5);
    Eigen::MatrixXd c = Eigen::MatrixXd::Constant(4, 4, 0.6);
    c.diagonal().setOnes();
    c(0, 1) = c(1, 0) = 0.95;
    sigma = scale.asDiagonal() * c * scale.asDiagonal();
    precision = sigma.inverse();
  }
  void operator()(const auto& w, auto& g) const {
    using Scalar = typename std::remove_cvref_t<decltype(w)>::Scalar;
    g = (-(precision * (w.template cast<double>().colwise() - mean))).template cast<Scalar>();
  }
};

}  // namespace

TEST_CASE("whitened coordinates find the covariance wherever the particles are", "[coordinates]") {
  const Wild target;
  for (const double width : {1e-3, 1.0}) {  // a clump far away, and N(0, 1)
    auto sampler = repel::weight_space(target, Svgd{}, Sgd{.learning_rate = 1e-9}, coordinates::Whitened{});
    auto state = sampler.init(Eigen::MatrixXd((width * repel::normal(4, 30, 3)).array() + 10));
    REQUIRE(repel::run(sampler, state, 1).finished());
    const Eigen::MatrixXd metric = state.memory.frame.to_x * state.memory.frame.to_x.transpose();
    const Eigen::VectorXd scale = target.sigma.diagonal().cwiseSqrt();
    const Eigen::MatrixXd units = (metric - target.sigma).array() / (scale * scale.transpose()).array();
    CHECK(units.cwiseAbs().maxCoeff() < 1e-6);  // eigenvalues of covariances over ten decades
    CHECK(test::relative_error(Eigen::MatrixXd(state.memory.frame.to_x * state.memory.frame.to_z),
                               Eigen::MatrixXd::Identity(4, 4)) < 1e-9);
  }
}

TEST_CASE("standardised coordinates find the scales of independent ones", "[coordinates]") {
  const Eigen::Vector3d sd(1, 1000, 0.01);
  auto sampler =
      repel::weight_space([&](const auto& w, auto& g) { g = -(w.array().colwise() / sd.array().square()).matrix(); },
                          Svgd{}, Sgd{.learning_rate = 1e-9}, coordinates::Standardised{});
  auto state = sampler.init(repel::normal(3, 20, 3));
  REQUIRE(repel::run(sampler, state, 1).finished());
  CHECK(test::relative_error(state.memory.frame.scale.cwiseQuotient(sd), Eigen::Vector3d::Ones()) < 1e-10);
}

TEST_CASE("a posterior with scales of 1 and 1000 is sampled in whitened coordinates", "[coordinates]") {
  const Wild target;
  auto sampler = repel::weight_space(target, repel::Wgd{repel::Calibrated{repel::Sge{}, repel::Calibration::full}},
                                     repel::Scheduled{Sgd{.learning_rate = 0.2}, repel::schedule::Cosine{.steps = 600}},
                                     coordinates::Whitened{});
  auto state = sampler.init(repel::normal(4, 60, 3));
  const repel::Report report = repel::run(sampler, state, 600);
  const Eigen::VectorXd scale = target.sigma.diagonal().cwiseSqrt();
  CHECK((covariance(state.particles) - target.sigma).cwiseQuotient(scale * scale.transpose()).cwiseAbs().maxCoeff() <
        0.02);
  CHECK((state.particles.rowwise().mean() - target.mean).cwiseQuotient(scale).cwiseAbs().maxCoeff() < 0.02);
  CHECK(report.temperature == Approx(1).margin(0.05));  // rounding in s is amplified by the condition, 1e10
}

TEST_CASE("runs in adapted coordinates do not depend on the units of the user's", "[coordinates]") {
  // The same posterior in other units, y = D x: the particles are the same, in other units. With Adam, whose second
  // moments are not linear, and momentum carried over at each renewal. Rounding is amplified by the condition of
  // the covariance, 1e10.
  const Wild target;
  const Eigen::Vector4d d(3, 0.01, 20, 1e-3);
  const auto scaled = [&](const auto& w, auto& g) {
    const Eigen::MatrixXd x = d.cwiseInverse().asDiagonal() * w;
    Eigen::MatrixXd s(4, w.cols());
    target(x, s);
    g = d.cwiseInverse().asDiagonal() * s;
  };
  const Eigen::MatrixXd start = repel::normal(4, 25, 3);
  const auto check = [&](const auto& optimiser, auto policy) {
    auto plain = repel::weight_space(target, Svgd{}, optimiser, policy);
    auto other = repel::weight_space(scaled, Svgd{}, optimiser, policy);
    auto a = plain.init(start);
    auto b = other.init(Eigen::MatrixXd(d.asDiagonal() * start));
    REQUIRE(repel::run(plain, a, 40).finished());
    REQUIRE(repel::run(other, b, 40).finished());
    const Eigen::MatrixXd back = d.cwiseInverse().asDiagonal() * b.particles;
    for (Eigen::Index k = 0; k < 4; ++k)
      CHECK(test::relative_error(Eigen::MatrixXd(back.row(k)), Eigen::MatrixXd(a.particles.row(k))) < 1e-4);
  };
  check(Adam{.learning_rate = 0.05}, coordinates::Standardised{});
  check(Sgd{.learning_rate = 0.1, .momentum = 0.9}, coordinates::Standardised{});
  check(Sgd{.learning_rate = 0.1, .momentum = 0.9}, coordinates::Whitened{});
}

TEST_CASE("momentum is carried over as if it had always seen the new coordinates", "[coordinates]") {
  // Directions are gradients: after a change of frame the velocity is Lᵀ of what it is in x.
  const Eigen::MatrixXd x = repel::normal(3, 12, 1), s = repel::normal(3, 12, 2);
  repel::detail::FramedMemory<Sgd::Memory<Eigen::MatrixXd>, double> memory{{repel::normal(3, 12, 4)}, {3, true}};
  repel::detail::renew(x, s, memory);
  const Eigen::MatrixXd in_x = memory.frame.to_z.transpose() * memory.inner.velocity;
  const Eigen::MatrixXd before = memory.inner.velocity;
  repel::detail::renew(Eigen::MatrixXd(5 * x + s), s, memory);
  CHECK(test::relative_error(Eigen::MatrixXd(memory.frame.to_z.transpose() * memory.inner.velocity), in_x) < 1e-10);
  CHECK(test::relative_error(memory.inner.velocity, before) > 0.1);  // it did change
  // Adam's squares, in a diagonal frame: by the square of the same map.
  repel::detail::FramedMemory<Adam::Memory<Eigen::MatrixXd>, double> adam{
      {repel::normal(3, 12, 4), repel::normal(3, 12, 5).cwiseAbs2()}, {3, false}};
  const Eigen::MatrixXd mean = adam.inner.mean, square = adam.inner.square;
  repel::detail::renew(x, s, adam);
  const Eigen::VectorXd scale = adam.frame.scale;
  CHECK(test::relative_error(adam.inner.mean, Eigen::MatrixXd(scale.asDiagonal() * mean)) < 1e-12);
  CHECK(test::relative_error(adam.inner.square, Eigen::MatrixXd(scale.cwiseAbs2().asDiagonal() * square)) < 1e-12);
}

TEST_CASE("fewer than 2d particles get a diagonal frame, and float particles one of their own", "[coordinates]") {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, Svgd{}, Adam{}, coordinates::Whitened{});
  auto few = sampler.init(repel::normal(6, 11, 1));
  CHECK(!few.memory.frame.whole());
  auto single = sampler.init(repel::normal<float>(6, 12, 1));
  CHECK(single.memory.frame.whole());
  CHECK(repel::run(sampler, few, 30).finished());
  CHECK(repel::run(sampler, single, 30).finished());
  auto lonely = sampler.init(repel::normal(3, 1, 1));
  CHECK(repel::run(sampler, lonely, 5).finished());
  auto same = sampler.init(Eigen::MatrixXd::Constant(3, 8, 2.0));  // no spread at all
  CHECK(repel::run(sampler, same, 5).finished());
}

namespace {

/// An optimiser without a memory, which would show it, too.
struct Forgetful {
  auto init(const auto&) const { return repel::Empty{}; }
  void update(auto&, repel::Index, const auto& phi, auto& x) const { x += 0.1 * phi; }
};

}  // namespace

TEST_CASE("particles that do not fit their coordinates are refused", "[coordinates]") {
  auto sampler =
      repel::weight_space([](const auto& w, auto& g) { g = -w; }, Svgd{}, Forgetful{}, coordinates::Whitened{});
  auto state = sampler.init(repel::normal(3, 12, 1));
  state.particles = repel::normal(4, 12, 1);
  CHECK_THROWS_WITH(sampler.step(state), contains("state.particles has 4 rows, but its coordinates have 3"));
}

TEST_CASE("coordinates are part of the state: snapshots and checkpoints go on with the same bits", "[coordinates]") {
  const Wild target;
  const auto sampler = [&] {
    return repel::weight_space(target, Svgd{}, Adam{.learning_rate = 0.05}, coordinates::Whitened{});
  };
  auto a = sampler();
  auto state = a.init(repel::normal(4, 20, 3));
  REQUIRE(repel::run(a, state, 13).finished());
  const test::Folder folder;
  repel::save_checkpoint(folder.path / "state", state, "test");
  REQUIRE(repel::run(a, state, 20).finished());
  auto b = sampler();
  auto loaded = b.init(repel::normal(4, 20, 9));
  repel::load_checkpoint(folder.path / "state", loaded, "test");
  REQUIRE(repel::run(b, loaded, 20).finished());
  CHECK(loaded.particles == state.particles);
}

TEST_CASE("directions shown to observers are in the user's coordinates", "[coordinates]") {
  // At a fixed frame, Φ of the plain ensemble is the gradient itself, in x as in z.
  const Wild target;
  auto sampler =
      repel::weight_space(target, repel::PlainEnsemble{}, Sgd{.learning_rate = 1e-9}, coordinates::Whitened{});
  auto state = sampler.init(repel::normal(4, 20, 3));
  const repel::StepInfo info = sampler.step(state);
  for (Eigen::Index k = 0; k < 4; ++k)
    for (Eigen::Index j = 0; j < 20; ++j) CHECK(info.directions(k, j) == Approx(info.gradients(k, j)).epsilon(1e-6));
}

}  // namespace space_coordinates_test
