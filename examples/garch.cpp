// GARCH(1,1), the volatility model of finance, on a simulated series of returns: by repel::sample and by NUTS.
#include "common/comparison.hpp"
#include "common/options.hpp"
#include "common/series.hpp"

using Eigen::Index, Eigen::VectorXd;

/// r_t = μ + √h_t ε_t, where h_t = ω + α (r_{t−1} − μ)² + β h_{t−1}. Stationary if α + β < 1.
struct Garch {
  VectorXd r;

  template <class T>
  repel::Vector<T> variances(const repel::Vector<T>& x) const {  // x = μ, ω, and (α, β, 1 − α − β) of the simplex
    repel::Vector<T> h(r.size());
    h(0) = x(1) / x(4);  // the mean of h
    for (Index t = 1; t < r.size(); ++t) h(t) = x(1) + x(2) * (r(t - 1) - x(0)) * (r(t - 1) - x(0)) + x(3) * h(t - 1);
    return h;
  }
  template <class T>
  T operator()(const repel::Vector<T>& x) const {
    using std::log;
    const repel::Vector<T> h = variances(x);
    T sum = -0.5 * (x(0) * x(0) + x(1) * x(1));  // μ ~ N(0, 1), ω ~ N⁺(0, 1), (α, β) uniform
    for (Index t = 0; t < r.size(); ++t) sum -= 0.5 * (log(h(t)) + (r(t) - x(0)) * (r(t) - x(0)) / h(t));
    return sum;
  }
};

void run(const example::Options& o) {
  using namespace repel;
  const VectorXd truth{{0.05, 0.1, 0.15, 0.75, 0.1}};
  Garch garch{VectorXd(750)};
  Random random(o.seed);  // h_t depends on earlier returns alone, so the series can be made return by return
  for (Index t = 0; t < garch.r.size(); ++t)
    garch.r(t) = truth(0) + std::sqrt(garch.variances(truth)(t)) * random.normal();
  auto model = constrained(differentiated(garch), real(), positive(), simplex(3));

  example::Comparison comparison({"mu", "omega", "alpha", "beta", "1-alpha-beta"});
  comparison.add_known("truth", truth, {});
  const SampleOptions settings{.particles = o.particles, .seed = o.seed, .gradients = o.particles * o.steps};
  const Sample particles = sample(model, model.dim(), settings, ProgressBar{"sample"}, StopOnInterrupt{});
  comparison.add("sample", model.constrain(particles.particles), example::verdict(particles.report));
  if (!StopOnInterrupt::interrupted()) {
    const Nuts chains{.warmup = o.draws, .samples = o.draws, .seed = o.seed};
    const auto draws = nuts(model, model.initial(4, o.seed), chains, ProgressBar{"NUTS"}, StopOnInterrupt{});
    comparison.add("NUTS", model.constrain(draws.draws), example::verdict(draws));
  }
  comparison.write(o.out, 3);
  const auto volatility = [&](const VectorXd& x) -> VectorXd { return garch.variances(x).cwiseSqrt(); };
  example::draw_series("garch", o.out, garch.r.cwiseAbs(), comparison, volatility(truth),
                       "volatility, over the size of the returns", volatility);
}

int main(int argc, char** argv) {
  return example::run_example(argc, argv, "GARCH(1,1) by repel::sample and NUTS.", "garch", {100, 1500}, run);
}
