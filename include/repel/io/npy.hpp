// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/io/atomic_file.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

// Particles as NumPy files. A particle is a column here and a row there, and the bytes are the same:
//   repel::save_npy("particles.npy", state.particles);        // d×n
//   >>> np.load("particles.npy").shape                        # (n, d)

namespace repel {

namespace detail {

static_assert(std::endian::native == std::endian::little,
              "repel/io: files are little-endian, and so must the machine be that reads or writes them");

template <class Scalar>
constexpr const char* npy_type() {
  static_assert(Real<Scalar>, "repel::save_npy: the matrix must be of float or double");
  return sizeof(Scalar) == 8 ? "<f8" : "<f4";
}

inline constexpr std::string_view kNpyMagic{"\x93NUMPY\x01\x00", 8};

/// What follows 'key': in the header's dictionary, up to the comma that ends it.
inline std::string_view npy_value(std::string_view header, std::string_view key) {
  const auto at = header.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view value = header.substr(at + key.size());
  const auto begin = value.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  value.remove_prefix(begin);
  const auto end = value.front() == '(' ? value.find(')') : value.find_first_of(",}");
  return value.substr(0, end == std::string_view::npos ? value.size() : end + (value.front() == '(' ? 1 : 0));
}

}  // namespace detail

/// Writes a d×n matrix as an n×d NumPy array of the same scalar type; the file is written atomically.
template <class Derived>
void save_npy(const std::filesystem::path& path, const Eigen::MatrixBase<Derived>& matrix) {
  using Scalar = typename Derived::Scalar;
  const Matrix<Scalar> columns = matrix;  // column-major is row-major of the transpose
  std::string header =
      detail::concat("{'descr': '", detail::npy_type<Scalar>(), "', 'fortran_order': False, 'shape': (", columns.cols(),
                     ", ", columns.rows(), "), }");
  header.append(63 - (detail::kNpyMagic.size() + 2 + header.size()) % 64,
                ' ');  // to a multiple of 64, the end included
  header += '\n';
  const std::array<char, 2> length{static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  AtomicFile file(path);
  file.write(detail::kNpyMagic.data(), detail::kNpyMagic.size());
  file.write(length.data(), length.size());
  file.write(header.data(), header.size());
  file.write(columns.data(), sizeof(Scalar) * static_cast<std::size_t>(columns.size()));
  file.commit();
}

/// Reads an n×d NumPy array of this scalar type, in either order, as a d×n matrix; a vector of n as 1×n.
template <class Scalar = double>
Matrix<Scalar> load_npy(const std::filesystem::path& path) {
  const auto refuse = [&](const auto&... parts) { detail::refuse_file("load_npy", path, parts...); };
  std::error_code error;  // looked at before it is opened: opening a pipe waits for a writer
  const auto there = std::filesystem::status(path, error);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    refuse("is no file, but a folder, a pipe or a device");
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse("cannot be opened");
  std::array<char, 10> start{};
  in.read(start.data(), start.size());
  if (in.gcount() != 10 || std::string_view(start.data(), 6) != detail::kNpyMagic.substr(0, 6))
    refuse("does not start as a NumPy file");
  if (start[6] != 1) refuse("has format version ", int{start[6]}, ", but only 1 is read");
  std::string text(static_cast<std::size_t>(static_cast<unsigned char>(start[8])) |
                       static_cast<std::size_t>(static_cast<unsigned char>(start[9])) << 8,
                   ' ');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.gcount() != static_cast<std::streamsize>(text.size())) refuse("ends within its header");
  const std::string_view header(text), type = detail::npy_value(header, "'descr':"),
                                       order = detail::npy_value(header, "'fortran_order':");
  std::string_view shape = detail::npy_value(header, "'shape':");
  if (type != "'" + std::string(detail::npy_type<Scalar>()) + "'")
    refuse("descr is ", type, ", but must be '", detail::npy_type<Scalar>(), "'");
  if (order != "True" && order != "False") refuse("fortran_order is ", order, ", but must be True or False");

  std::array<Index, 2> lengths{1, 1};
  std::size_t dimensions = 0;
  const std::string all(shape);
  const auto skip = [&](std::string_view what) {
    while (!shape.empty() && what.find(shape.front()) != std::string_view::npos) shape.remove_prefix(1);
  };
  for (skip("( "); !shape.empty() && shape.front() != ')'; skip(", "), ++dimensions) {
    Index length = 0;
    const auto [end, wrong] = std::from_chars(shape.data(), shape.data() + shape.size(), length);
    if (wrong != std::errc() || length < 0 || dimensions == 2)
      refuse("shape is ", all, ", but must have 1 or 2 lengths");
    lengths[dimensions] = length;
    shape.remove_prefix(static_cast<std::size_t>(end - shape.data()));
  }
  if (dimensions == 0) refuse("shape is ", all, ", but must have 1 or 2 lengths");

  // Sizes are compared with the file before memory is asked for.
  const auto here = in.tellg();
  in.seekg(0, std::ios::end);
  const auto bytes = static_cast<double>(in.tellg() - here);
  in.seekg(here);
  const double needed =
      static_cast<double>(sizeof(Scalar)) * static_cast<double>(lengths[0]) * static_cast<double>(lengths[1]);
  if (bytes != needed) refuse("has ", bytes, " bytes of values, but its shape ", all, " needs ", needed);
  const bool by_columns = order == "True" && dimensions == 2;
  Matrix<Scalar> values(by_columns ? lengths[0] : lengths[1], by_columns ? lengths[1] : lengths[0]);
  in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(needed));
  if (!in) refuse("cannot be read");
  if (by_columns) values.transposeInPlace();
  return values;
}

}  // namespace repel
