// expect: repel: a kernel takes a bandwidth rule, such as MedianBandwidth
#include <repel/repel.hpp>

int main() { repel::Rbf kernel{2.0}; }
