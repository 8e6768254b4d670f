// expect: repel: annealing must be callable with a step and return the factor, a double
#include <repel/repel.hpp>

int main() {
  repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::PlainEnsemble{}, repel::Adam{},
                      [] { return 1.0; });
}
