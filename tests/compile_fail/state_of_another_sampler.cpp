// expect: repel: this state was made by a sampler with another rule or optimiser
#include <repel/repel.hpp>

int main() {
  const auto target = [](const auto& w, auto& g) { g = -w; };
  auto svgd = repel::weight_space(target, repel::Svgd{});
  auto map = repel::weight_space(target, repel::Map{});
  auto state = map.init(repel::normal(2, 5, 1));
  svgd.step(state);
}
