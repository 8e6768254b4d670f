// The steps that torch_steps.py takes, taken by repel. Run by compare.py.

#include "serve.hpp"

#include <repel/repel.hpp>

namespace {

template <class Scalar, class Rule>
peers::Setup steps_of(const Rule& rule) {
  return [rule](repel::Index n, repel::Index d) -> peers::Step {
    // The gradient of a standard normal log density; of long particles one by one, in threads, as PyTorch forms it.
    auto target = [](const auto& w, auto& g) {
      auto one = repel::per_particle([](const auto& particle, auto& gradient) { gradient = -particle; });
      if (w.rows() > 100)
        one(w, g);
      else
        g = -w;
    };
    auto sampler = repel::weight_space(target, rule, repel::Adam{.learning_rate = 1e-3});
    auto state = sampler.init(repel::normal<Scalar>(d, n, 42));
    return [sampler, state]() mutable { sampler.step(state); };
  };
}

template <class Scalar>
void add(std::map<std::string, peers::Setup>& setups, const std::string& scalar) {
  setups["Svgd " + scalar] = steps_of<Scalar>(repel::Svgd{});
  setups["Kde " + scalar] = steps_of<Scalar>(repel::Wgd{repel::Kde{}});
  setups["Sge " + scalar] = steps_of<Scalar>(repel::Wgd{repel::Sge{}});
  setups["Ssge " + scalar] = steps_of<Scalar>(repel::Wgd{repel::Ssge{}});
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, peers::Setup> setups;
  add<double>(setups, "double");
  add<float>(setups, "float");
  peers::serve(argc, argv, setups);
}
