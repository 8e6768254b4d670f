// expect: files are little-endian, and so must the machine be that reads or writes them
#undef __BYTE_ORDER__
#define __BYTE_ORDER__ __ORDER_BIG_ENDIAN__
#include <repel/checkpoint.hpp>

int main() {}
