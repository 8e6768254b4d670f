#include "input.hpp"

#include <repel/io/npy.hpp>

// load_npy in both scalar types; what was read is written and read again.

namespace {

template <class Scalar>
void read(const fuzz::File& file) {
  fuzz::accepts([&] { (void)repel::load_npy<Scalar>(file.path()); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::File file(bytes, size);
  read<double>(file);
  read<float>(file);
  return 0;
}
