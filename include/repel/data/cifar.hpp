// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>
#include <repel/data/byte_source.hpp>
#include <repel/data/labelled.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace repel::data {

/// A CIFAR-10 batch in the binary version (data_batch_1.bin and so on): records of a label and 3072 bytes, the red,
/// green and blue planes of 32×32 pixels. Pictures in [0, 1], one per column. `limit`: see kUnpackedLimit.
template <class Scalar>
Labelled<Scalar> read_cifar10(const std::filesystem::path& file, std::size_t limit = kUnpackedLimit) {
  constexpr const char* where = "data::read_cifar10";
  constexpr std::size_t pixels = 3072, record = pixels + 1, most = record * 1'000'000;
  detail::ByteSource source(where, file, limit);
  const auto bytes = source.read(most + 1);
  if (bytes.empty() || bytes.size() % record != 0 || bytes.size() > most)
    detail::refuse_file(where, file, "has ", bytes.size(), " bytes, but must have ", record,
                        " for each of 1 to 1000000 pictures");
  source.require_room(bytes.size() * sizeof(Scalar));
  const auto count = static_cast<Index>(bytes.size() / record);
  Labelled<Scalar> out{Matrix<Scalar>(static_cast<Index>(pixels), count), Eigen::RowVectorXi(count)};
  for (Index i = 0; i < count; ++i) {
    const std::uint8_t* const at = bytes.data() + static_cast<std::size_t>(i) * record;
    if (*at > 9)
      detail::refuse_file(where, file, "the label of picture ", i, " is ", int{*at}, ", but labels are 0 to 9");
    out.labels(i) = *at;
    for (Index k = 0; k < static_cast<Index>(pixels); ++k)
      out.inputs(k, i) = static_cast<Scalar>(at[1 + k]) / Scalar(255);
  }
  return out;
}

}  // namespace repel::data
