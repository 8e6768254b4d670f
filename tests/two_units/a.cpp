#include <repel/bnn.hpp>
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

// With b.cpp: every function of the headers may be defined in two translation units of one program.
double from_b();

double from_a() {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{});
  auto state = sampler.init(repel::normal(2, 5, 1));
  (void)repel::run(sampler, state, 3, repel::ProgressBar{}, repel::StopOnInterrupt{});
  return state.particles.sum();
}

int main() { return from_a() == from_b() ? 0 : 1; }
