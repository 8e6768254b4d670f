// A program of its own: the guard must be compiled into Eigen, with assertions on, and operator new replaced.
#undef NDEBUG
#define EIGEN_RUNTIME_NO_MALLOC

#include <repel/bnn.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace {
std::atomic<bool> forbidden{false};
std::atomic<long> count{0};
}  // namespace

void* operator new(std::size_t size) {
  if (forbidden) ++count;
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

int failures = 0;

/// Eigen's own allocations fail an assertion, which aborts; the library's others are counted.
template <class P, class Sampler>
void check_steps(const char* name, Sampler sampler, const P& particles) {
  auto state = sampler.init(particles);
  for (int t = 0; t < 3; ++t) sampler.step(state);  // the buffers find their size
  count = 0;
  forbidden = true;
  Eigen::internal::set_is_malloc_allowed(false);
  for (int t = 0; t < 10; ++t) sampler.step(state);
  Eigen::internal::set_is_malloc_allowed(true);
  forbidden = false;
  if (count != 0) {
    std::printf("FAILED: %s with %ldx%ld particles allocated %ld times\n", name, static_cast<long>(particles.rows()),
                static_cast<long>(particles.cols()), count.load());
    ++failures;
  }
}

template <class P, class Rule, class Optimiser>
void check(const char* name, const Rule& rule, const Optimiser& optimiser, const P& particles) {
  check_steps(name, repel::weight_space([](const auto& w, auto& g) { g = -w; }, rule, optimiser), particles);
}

/// The observer, while it judges; it allocates at its start.
void check_settled(const Eigen::MatrixXd& particles) {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{});
  auto state = sampler.init(particles);
  repel::StopWhenSettled settled{{.steps = 1}};
  settled.on_start(state, 100);
  for (int t = 0; t < 100; ++t) {
    const repel::StepInfo info = sampler.step(state);
    count = 0;
    forbidden = true;
    Eigen::internal::set_is_malloc_allowed(false);
    settled(state, info);
    Eigen::internal::set_is_malloc_allowed(true);
    forbidden = false;
    if (count == 0) continue;
    std::printf("FAILED: StopWhenSettled allocated %ld times\n", count.load());
    ++failures;
  }
}

/// Calibration, noise and coordinates, which are renewed (and may allocate) up to step 2 only.
void check_calibrated(const Eigen::MatrixXd& particles) {
  using namespace repel;
  const Adam adam;
  check("Calibrated total", Wgd{Calibrated{Kde{}}}, adam, particles);
  check("Calibrated coordinates", Wgd{Calibrated{Sge{}, Calibration::coordinates}}, adam, particles);
  check("Calibrated shrunk", Wgd{Calibrated{Kde{}, Calibration::shrunk}}, adam, particles);
  if (particles.cols() > particles.rows())
    check("Calibrated full", Wgd{Calibrated{Kde{}, Calibration::full}}, adam, particles);
  check("Langevin", Langevin{Svgd{}, 0.1, 1}, Scheduled{Clipped{Sgd{}, 1.0}, schedule::Cosine{.steps = 100}},
        particles);
  const auto framed = [&](const char* name, auto coords) {
    check_steps(name, weight_space([](const auto& w, auto& g) { g = -w; }, Langevin{Svgd{}, 0.1, 1}, adam, coords),
                particles);
  };
  framed("Standardised", coordinates::Standardised{.until = 2});
  framed("Whitened", coordinates::Whitened{.until = 2});
}

/// Networks, in weight space, in function space with all that can be chosen there, and under HMC.
void check_networks() {
  using namespace repel;
  const Eigen::MatrixXd x = normal(2, 12, 1);
  const Eigen::VectorXi labels = Eigen::VectorXi::LinSpaced(12, 0, 2);
  const Mlp network({2, 6, 5, 3}, Activation::gelu);
  const CategoricalLikelihood likelihood;
  const Bnn posterior(network, likelihood, NormalPrior{1.0}, x, labels, Minibatch{5, 1});
  const Eigen::MatrixXd w = posterior.prior_draws(7, 1);
  check_steps("a network", weight_space(posterior.target(), Svgd{}), w);
  check_steps("an implicit prior", function_space(posterior.functions(), Svgd{}), w);
  check_steps("an implicit prior of more draws than particles",
              function_space(posterior.functions(ImplicitPrior{Ssge{}, 11}), Svgd{}), w);
  check_steps("an implicit prior by KDE", function_space(posterior.functions(ImplicitPrior{Kde{}}), Svgd{}), w);
  check_steps("a Gaussian process on further points",
              function_space(posterior.functions(GpPrior{Rbf{FixedBandwidth{1.0}}}, UniformPoints{{-1, -1}, {1, 1}, 4}),
                             Svgd{}, Adam{}, view::Probabilities{view::AddedPoints{}}),
              w);
  const Bnn all(network, likelihood, NormalPrior{1.0}, x, labels);
  check_steps("HMC", HmcSampler(all.target(), Hmc{.warmup = 0}), w);
  // NUTS allocates when the number of chains whose trees grow changes: one chain is always one.
  check_steps("NUTS", NutsSampler(all.target(), Nuts{.warmup = 0}), w.leftCols(1).eval());
}

}  // namespace

int main() {
  using namespace repel;
  for (const Eigen::MatrixXd& x : {normal(2, 30, 1), normal(20, 30, 1)}) {  // both layouts of the particles
    check("PlainEnsemble", PlainEnsemble{}, Sgd{.momentum = 0.9, .nesterov = true}, x);
    check("Svgd", Svgd{Rbf{}}, Adam{}, x);
    check("Kde", Wgd{Kde{Laplace{PairMedianBandwidth{}}}}, AdaGrad{}, x);
    check("Sge", Wgd{Sge{Imq{}}}, RmsProp{}, x);
    check("Ssge", Wgd{Ssge{Rbf{MedianLogNBandwidth{}}}}, Adam{}, x);
    // Ssge with some eigenpairs is not here: Eigen's eigenvalue solver allocates inside.
    check("Blob", Wgd{Blob{Matern52{FixedBandwidth{2.0}}}}, Adam{}, x);
    check("Ard", Svgd{Ard{Rbf{Ramp{}}}}, Scheduled{Clipped{Adam{}, 0.1}, schedule::Cosine{.steps = 100}}, x);
    check("Ard with a scale", Wgd{Kde{Ard{Imq{}, std::vector<double>(static_cast<std::size_t>(x.rows()), 2.0)}}},
          Clipped{Scheduled{Sgd{}, schedule::WarmUp{5}}, 0.1}, x);
    check("Sge of Ard", Wgd{Sge{Ard{}}}, Adam{}, x);
    check("HeatBandwidth", Svgd{Rbf{Scaled{HeatBandwidth{2}, 0.5}}}, Adam{}, x);
    check_settled(x);
    check_calibrated(repel::normal(4, 30, 5));
    check_calibrated(repel::normal(40, 30, 5));
  }
  check("Svgd in float", Svgd{Rbf{}}, Adam{}, normal<float>(20, 30, 1));
  check("Kde with fixed rows", Wgd{Kde{}}, Adam{}, Eigen::Matrix<double, 2, Eigen::Dynamic>(normal(2, 30, 1)));
  check_networks();
  if (failures == 0) std::puts("no allocation in a steady step");
  return failures == 0 ? 0 : 1;
}
