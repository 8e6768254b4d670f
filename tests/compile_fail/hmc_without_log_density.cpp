// expect: repel::hmc and repel::nuts: the target must be callable as target(w, g) and have log_density
#include <repel/hmc.hpp>
#include <repel/repel.hpp>

int main() {
  repel::hmc([](const auto& w, auto& g) { g = -w; }, repel::normal(1, 3, 1));
}
