// expect: Eigen::Index must have 64 bits, since sizes are multiplied
#define EIGEN_DEFAULT_DENSE_INDEX_TYPE int
#include <repel/repel.hpp>

int main() {}
