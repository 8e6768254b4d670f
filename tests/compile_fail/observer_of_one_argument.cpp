// expect: repel::run: an observer must be callable as observer(state, info)
#include <repel/repel.hpp>

int main() {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::PlainEnsemble{});
  auto state = sampler.init(repel::normal(2, 5, 1));
  (void)repel::run(sampler, state, 10, [](const repel::StepInfo&) {});
}
