#include <repel/repel.hpp>
#include <repel/version.hpp>

#include <iostream>

int main() {
  auto sampler = repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::PlainEnsemble{});
  auto state = sampler.init(repel::normal(2, 20, 42));
  const repel::Report report = repel::run(sampler, state, 10);
  std::cout << "repel " << REPEL_VERSION_MAJOR << '.' << REPEL_VERSION_MINOR << ": " << report.message << '\n';
  return report.finished() ? 0 : 1;
}
