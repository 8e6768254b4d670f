// expect: repel: a score estimator is expected here, such as Kde
#include <repel/repel.hpp>

int main() { repel::Wgd rule{repel::Rbf{}}; }
