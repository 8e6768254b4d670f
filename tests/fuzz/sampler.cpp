#include "input.hpp"

#include <repel/repel.hpp>

#include <algorithm>

// Steps of every rule from arbitrary small particles, with gradients that may be anything: a step that calls itself finite
// leaves no NaN behind, and one that does not leaves all as it was.

namespace {

template <class Scalar, class Rule, class Optimiser>
void walk(fuzz::Choices& choices, const Rule& rule, const Optimiser& optimiser, repel::Index d, repel::Index n) {
  repel::Matrix<Scalar> start(d, n), noise(d, n);
  const repel::Index chosen = std::min<repel::Index>(start.size(), 200);  // many particles repeat the first ones, moved
  for (repel::Index k = 0; k < start.size(); ++k)
    start(k) = k < chosen ? choices.number<Scalar>() : start(k - chosen) + Scalar(0.125);
  for (repel::Index k = 0; k < start.size(); ++k) noise(k) = k < chosen ? choices.number<Scalar>() : noise(k - chosen);
  fuzz::accepts([&] {
    auto sampler = repel::weight_space([&](const auto& w, auto& g) { g = noise - w; }, rule, optimiser);
    auto state = sampler.init(start);
    for (int step = 0; step < (n > 9 ? 1 : 4); ++step) {
      const auto before = state;
      const auto info = sampler.step(state);
      if (info.finite) {
        fuzz::require(!state.particles.hasNaN() && state.step == before.step + 1, "a finite step left a NaN");
      } else {
        fuzz::require(state.particles == before.particles && state.step == before.step, "a failed step moved");
        break;
      }
    }
  });
}

template <class Scalar>
void sample(fuzz::Choices& choices) {
  using namespace repel;
  const int shape = choices.below(8);  // few and low-dimensional as a rule, high-dimensional, or more than one tile
  const Index d = 1 + choices.below(shape < 2 ? 24 : 5),
              n = shape == 2 ? 250 + choices.below(64) : 1 + choices.below(9);
  const double ridge = choices.below(3) == 0 ? 0 : 0.01;
  const int rule = choices.below(8);
  if (rule == 0) return walk<Scalar>(choices, Svgd{}, Adam{.learning_rate = 0.1}, d, n);
  if (rule == 1) return walk<Scalar>(choices, Wgd{Kde{}}, Adam{.learning_rate = 0.1}, d, n);
  if (rule == 2) return walk<Scalar>(choices, Wgd{Sge{Rbf{}, ridge}}, Adam{.learning_rate = 0.1}, d, n);
  if (rule == 3) return walk<Scalar>(choices, Wgd{Ssge{}}, Adam{.learning_rate = 0.1}, d, n);
  if (rule == 4) return walk<Scalar>(choices, Wgd{Blob{}}, Sgd{.learning_rate = 0.1}, d, n);
  if (rule == 5) return walk<Scalar>(choices, Svgd{Laplace{}}, Sgd{.learning_rate = 0.1}, d, n);
  if (rule == 6)
    return walk<Scalar>(choices, Wgd{Sge{Rbf{}, ridge, IterativeSolver{}}}, Sgd{.learning_rate = 0.1}, d, n);
  return walk<Scalar>(choices, PlainEnsemble{}, Adam{.learning_rate = 0.1}, d, n);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Choices choices(bytes, size);
  if (choices.below(2) == 0)
    sample<float>(choices);
  else
    sample<double>(choices);
  return 0;
}
