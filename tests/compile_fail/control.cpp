// The same scaffold without a mistake: it must compile, so that the other cases fail for their own reason.
#include <repel/repel.hpp>

int main() {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Svgd{repel::Rbf{}});
  auto state = sampler.init(repel::normal(2, 5, 1));
  sampler.step(state);
}
