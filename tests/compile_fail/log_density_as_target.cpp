// expect: for a log density alone repel::differentiated(f)
#include <repel/repel.hpp>

int main() {
  repel::sample([]<class T>(const repel::Vector<T>& w) -> T { return -w.squaredNorm(); }, 2);
}
