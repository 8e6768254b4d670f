// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>
#include <repel/data/byte_source.hpp>
#include <repel/data/labelled.hpp>

#include <cstdint>
#include <filesystem>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace repel::data {

/// An array of unsigned bytes, as IDX files have it: the last index runs fastest.
struct IdxArray {
  std::vector<Index> shape;          ///< its length in each dimension
  std::vector<std::uint8_t> values;  ///< the bytes, the last dimension fastest
};

/// Reads an IDX file: two zero bytes, the type 0x08 (unsigned byte; others are refused), the number of dimensions (1 to
/// 4), each dimension as a big-endian 32-bit number, and the values, neither fewer nor more. `limit`: see kUnpackedLimit.
inline IdxArray read_idx(const std::filesystem::path& file, std::size_t limit = kUnpackedLimit) {
  constexpr const char* where = "data::read_idx";
  constexpr std::uint64_t most = std::uint64_t{1} << 33;  // 8 GiB: more is a damaged header
  detail::ByteSource source(where, file, limit);
  const auto hex = [](const std::vector<std::uint8_t>& bytes) {
    std::ostringstream out;
    for (const std::uint8_t byte : bytes) out << "0123456789abcdef"[byte >> 4] << "0123456789abcdef"[byte & 15];
    return out.str();
  };
  const auto magic = source.read(4);
  if (magic.size() < 4)
    detail::refuse_file(where, file, "has ", magic.size(), " bytes, but an IDX file starts with 4 of magic");
  if (magic[0] != 0 || magic[1] != 0)
    detail::refuse_file(where, file, "magic is ", hex(magic), ", but an IDX file starts with 0000");
  if (magic[2] != 0x08)
    detail::refuse_file(where, file, "the type in magic ", hex(magic), " is ", hex({magic[2]}),
                        ", but must be 08, unsigned bytes");
  const int dimensions = magic[3];
  if (dimensions < 1 || dimensions > 4)
    detail::refuse_file(where, file, "the number of dimensions in magic ", hex(magic), " is ", dimensions,
                        ", but must be 1 to 4");

  IdxArray array;
  std::uint64_t size = 1;
  std::string shape;
  for (int k = 0; k < dimensions; ++k) {
    const auto bytes = source.read(4);
    if (bytes.size() < 4) detail::refuse_file(where, file, "ends within dimension ", k, " of ", dimensions);
    const std::uint64_t length =
        std::uint64_t{bytes[0]} << 24 | std::uint64_t{bytes[1]} << 16 | std::uint64_t{bytes[2]} << 8 | bytes[3];
    if (length < 1) detail::refuse_file(where, file, "dimension ", k, " is 0, but must be at least 1");
    if (length > most / size)
      detail::refuse_file(where, file, "dimension ", k, " is ", length, ", which makes more than ", most, " values");
    size *= length;
    shape += (k > 0 ? "x" : "") + std::to_string(length);
    array.shape.push_back(static_cast<Index>(length));
  }
  array.values = source.read(static_cast<std::size_t>(size));
  if (array.values.size() < size)
    detail::refuse_file(where, file, "has ", array.values.size(), " values, but the dimensions ", shape, " need ",
                        size);
  if (!source.read(1).empty())
    detail::refuse_file(where, file, "goes on after the ", size, " values of its dimensions ", shape);
  return array;
}

/// Which of a set's two parts.
enum class Part { train, test };

/// MNIST and its relatives from a folder with the four usual files (train-images-idx3-ubyte and so on, plain or .gz):
/// pictures in [0, 1], one per column, row by row of the picture. `limit`: see kUnpackedLimit.
template <class Scalar>
Labelled<Scalar> read_mnist(const std::filesystem::path& folder, Part part, std::size_t limit = kUnpackedLimit) {
  constexpr const char* where = "data::read_mnist";
  const auto find = [&](const std::string& kind) {
    const std::string name = (part == Part::train ? "train-" : "t10k-") + kind + "-ubyte";
    for (const char* ending : {"", ".gz"})
      if (const auto file = folder / (name + ending); std::filesystem::exists(file)) return file;
    detail::refuse_file(where, folder, "has neither ", name, " nor ", name, ".gz");
  };
  const auto image_file = find("images-idx3"), label_file = find("labels-idx1");
  const std::size_t bytes = limit / (1 + sizeof(Scalar));  // the rest of the limit is for the numbers made of them
  const IdxArray images = read_idx(image_file, bytes), labels = read_idx(label_file, bytes);
  if (images.shape.size() != 3)
    detail::refuse_file(where, image_file, "has ", images.shape.size(),
                        " dimensions, but pictures have 3: count, rows, columns");
  if (labels.shape.size() != 1)
    detail::refuse_file(where, label_file, "has ", labels.shape.size(), " dimensions, but labels have 1");
  if (labels.shape[0] != images.shape[0])
    detail::refuse_file(where, label_file, "has ", labels.shape[0], " labels, but there are ", images.shape[0],
                        " pictures");

  Labelled<Scalar> out;
  const Index pixels = images.shape[1] * images.shape[2], count = images.shape[0];
  using Bytes = Eigen::Matrix<std::uint8_t, Eigen::Dynamic, Eigen::Dynamic>;
  out.inputs = Eigen::Map<const Bytes>(images.values.data(), pixels, count).cast<Scalar>() / Scalar(255);
  out.labels = Eigen::Map<const Bytes>(labels.values.data(), 1, count).cast<int>();
  if (const int largest = out.labels.maxCoeff(); largest > 9)
    detail::refuse_file(where, label_file, "has the label ", largest, ", but labels are 0 to 9");
  return out;
}

}  // namespace repel::data
