// expect: repel: this policy takes a kernel, such as Rbf
#include <repel/repel.hpp>

int main() { repel::Svgd rule{repel::Sge{}}; }
