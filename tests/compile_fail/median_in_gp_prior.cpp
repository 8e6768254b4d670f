// expect: repel::GpPrior: the kernel needs a FixedBandwidth
#include <repel/repel.hpp>

int main() {
  const repel::GpPrior prior{repel::Rbf{}};
  (void)prior;
}
