#include <repel/bnn.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

// See a.cpp.

double from_b() {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{});
  auto state = sampler.init(repel::normal(2, 5, 1));
  (void)repel::run(sampler, state, 3, repel::ProgressBar{}, repel::StopOnInterrupt{});
  return state.particles.sum();
}
