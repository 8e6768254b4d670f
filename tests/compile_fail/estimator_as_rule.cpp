// expect: repel: an update rule is expected here, such as Wgd
#include <repel/repel.hpp>

int main() {
  repel::weight_space([](const auto& w, auto& g) { g = -w; }, repel::Sge{});
}
