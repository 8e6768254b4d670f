// expect: repel: this state was made by a sampler with another optimiser
#include <repel/repel.hpp>

int main() {
  const auto target = [](const auto& w, auto& g) { g = -w; };
  auto adam = repel::weight_space(target, repel::Svgd{}, repel::Adam{});
  auto sgd = repel::weight_space(target, repel::Svgd{}, repel::Sgd{});
  auto state = sgd.init(repel::normal(2, 5, 1));
  adam.step(state);
}
