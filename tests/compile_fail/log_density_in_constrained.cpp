// expect: for a log density alone write repel::constrained(repel::differentiated(log_density)
#include <repel/repel.hpp>

int main() {
  repel::constrained([]<class T>(const repel::Vector<T>& w) -> T { return -w.squaredNorm(); }, repel::positive(2));
}
