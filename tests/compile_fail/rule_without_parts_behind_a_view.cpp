// expect: repel::function_space: with a view the rule must give driving force and repulsion apart
#include <repel/repel.hpp>

int main() {
  struct Plain {
    repel::RuleInfo direction(const auto&, const auto& s, auto&, auto& phi) const {
      phi = s;
      return {};
    }
  };
  struct Model {
    repel::Index output_dim() const { return 2; }
    void predict(const auto& w, auto& f) const { f = w; }
    void score(const auto& f, auto& g) const { g = -f; }
    void pullback(const auto&, const auto& v, auto& out) const { out = v; }
  };
  auto sampler = repel::function_space(Model{}, Plain{}, repel::Adam{}, repel::view::Points{0, 1});
  auto state = sampler.init(repel::normal(2, 3, 1));
  sampler.step(state);
}
