#include "input.hpp"

#include <repel/data.hpp>

// read_csv and read_labelled_csv, plain and compressed: the first byte chooses the separator.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const char separator = ",\t; "[bytes[0] % 4];
  const fuzz::File file(bytes + 1, size - 1);
  constexpr std::size_t limit = std::size_t{1} << 24;
  fuzz::accepts([&] {
    const auto table = repel::data::read_csv(file.path(), separator, limit);
    fuzz::require(table.values.size() > 0 && table.values.allFinite(), "a table is empty or not finite");
    fuzz::require(table.names.empty() || static_cast<repel::Index>(table.names.size()) == table.values.cols(),
                  "names do not fit");
  });
  fuzz::accepts([&] {
    const auto table = repel::data::read_labelled_csv(file.path(), separator, limit);
    fuzz::require(table.data.inputs.allFinite() && table.data.inputs.cols() == table.data.labels.size(),
                  "points and labels do not fit");
    fuzz::require(
        table.data.labels.minCoeff() >= 0 && table.data.labels.maxCoeff() < static_cast<int>(table.classes.size()),
        "a label without a class");
  });
  return 0;
}
