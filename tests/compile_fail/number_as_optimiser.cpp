// expect: repel: an optimiser is expected here, such as Adam
#include <repel/repel.hpp>

int main() {
  repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::PlainEnsemble{}, 0.1);
}
