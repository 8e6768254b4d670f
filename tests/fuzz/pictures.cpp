#include "input.hpp"

#include <repel/data.hpp>

// read_idx and read_cifar10, plain and compressed.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::File file(bytes, size);
  constexpr std::size_t limit = std::size_t{1} << 24;
  fuzz::accepts([&] {
    const auto array = repel::data::read_idx(file.path(), limit);
    std::size_t product = 1;
    for (const repel::Index length : array.shape) product *= static_cast<std::size_t>(length);
    fuzz::require(array.values.size() == product, "the shape does not fit the values");
  });
  fuzz::accepts([&] {
    const auto set = repel::data::read_cifar10<float>(file.path(), limit);
    fuzz::require(set.inputs.cols() == set.labels.size() && set.labels.maxCoeff() <= 9, "labels do not fit");
  });
  return 0;
}
