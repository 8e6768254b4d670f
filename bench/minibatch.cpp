// What minibatches do to an ensemble: one batch for all particles at a step, or one for each. Bayesian linear regression,
// whose posterior is known; how far the ensemble's mean is from the posterior's, and its spread, both in standard
// deviations of the posterior, over the second half of a run.

#include <repel/bnn.hpp>
#include <repel/repel.hpp>

#include <cmath>
#include <cstdio>

namespace {

using repel::Index;

struct Found {
  double offset = 0;  ///< root mean square over steps and coordinates of (mean − posterior mean) / sd
  double spread = 0;  ///< of the particles' standard deviation / sd
};

template <class Optim>
Found measure(Index batch, bool per_particle, const Optim& optimiser) {
  using namespace repel;
  constexpr Index points = 500, inputs = 4, particles = 50, steps = 20000;
  const Matrix<double> x = normal(inputs, points, 1);
  const Vector<double> truth = Vector<double>::LinSpaced(inputs, -1, 1);
  const Matrix<double> y = truth.transpose() * x + normal(1, points, 2);
  const Bnn posterior(Mlp({inputs, 1}), GaussianLikelihood{1.0}, NormalPrior{1.0}, x, y,
                      Minibatch{.size = batch, .seed = 3, .per_particle = per_particle});
  // Weights and bias: precision I + Σ z zᵀ with z = (x, 1).
  Matrix<double> z(inputs + 1, points);
  z << x, Eigen::RowVectorXd::Ones(points);
  const Matrix<double> covariance = (Matrix<double>::Identity(inputs + 1, inputs + 1) + z * z.transpose()).inverse();
  const Vector<double> mean = covariance * (z * y.transpose()), sd = covariance.diagonal().cwiseSqrt();
  auto sampler = weight_space(posterior.target(), Svgd{}, optimiser);
  auto state = sampler.init(normal(inputs + 1, particles, 4));
  Found found;
  double count = 0;
  (void)run(sampler, state, steps, [&](const auto& now, const StepInfo& info) {
    if (info.step <= steps / 2) return;
    const Vector<double> centre = now.particles.rowwise().mean();
    found.offset += ((centre - mean).array() / sd.array()).square().mean();
    found.spread +=
        (((now.particles.colwise() - centre).rowwise().squaredNorm() / (particles - 1)).cwiseSqrt().array() /
         sd.array())
            .mean();
    ++count;
  });
  return {std::sqrt(found.offset / count), found.spread / count};
}

}  // namespace

int main() {
  std::puts("SVGD, 50 particles, 5 coefficients, 500 points, 20000 steps");
  std::puts("| optimiser | batch | one for all: offset | spread | one each: offset | spread |");
  std::puts("| --- | --- | --- | --- | --- | --- |");
  const auto row = [](const char* name, Index batch, const auto& optimiser) {
    const Found together = measure(batch, false, optimiser), each = measure(batch, true, optimiser);
    std::printf("| %s | %td | %.2f | %.2f | %.2f | %.2f |\n", name, batch, together.offset, together.spread,
                each.offset, each.spread);
  };
  row("Adam 0.01", 500, repel::Adam{.learning_rate = 0.01});
  for (const Index batch : {100, 10}) row("Adam 0.01", batch, repel::Adam{.learning_rate = 0.01});
  for (const Index batch : {100, 10}) row("Adam 0.001", batch, repel::Adam{.learning_rate = 0.001});
}
