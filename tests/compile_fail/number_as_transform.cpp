// expect: a transform must have free_dim(), dim() and constrain(z, x)
#include <repel/repel.hpp>

int main() {
  (void)repel::constrained([](const auto& w, auto& g) { g = -w; }, 3);
}
