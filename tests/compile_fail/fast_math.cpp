// expect: -ffast-math removes every check for NaN and infinity
#undef __FINITE_MATH_ONLY__
#define __FINITE_MATH_ONLY__ 1
#include <repel/core/check.hpp>

int main() {}
