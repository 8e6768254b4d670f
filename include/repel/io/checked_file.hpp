// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/io/atomic_file.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

// Files that are whole or refused: eight bytes that say what it is, the format's version, the content, and a checksum of
// all that. Written in one go and atomically, read back in the same order. Numbers are little-endian, 8 bytes each.

namespace repel {

/// A file that cannot be used, and why.
struct FileError : std::runtime_error {
  /// Why, and whether the file is damaged.
  FileError(const std::string& why, bool is_damaged) : std::runtime_error(why), damaged(is_damaged) {}
  bool damaged;  ///< otherwise it is intact, but is not what was asked for
};

/// The 64-bit FNV-1a hash, on whole words where possible: enough to notice a damaged file.
inline std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&hash](std::uint64_t word) { hash = (hash ^ word) * 0x100000001b3; };
  std::size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    mix(word);
    hash ^= hash >> 29;  // the top bits of a word must reach the low bits of the hash
  }
  for (; at < bytes.size(); ++at) mix(static_cast<unsigned char>(bytes[at]));
  return hash;
}

namespace detail {

static_assert(std::endian::native == std::endian::little,
              "repel/io: files are little-endian, and so must the machine be that reads or writes them");

class CheckedWriter {
 public:
  CheckedWriter(std::string_view magic, std::uint64_t version) {
    raw(magic.data(), magic.size());
    number(version);
  }
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void number(double value) { raw(&value, sizeof value); }
  void text(const std::string& value) {
    number(std::uint64_t{value.size()});
    bytes_ += value;
  }
  void raw(const void* data, std::size_t count) {
    if (count > 0) bytes_.append(static_cast<const char*>(data), count);  // an empty matrix has no data
  }

  /// Puts the file in its place; with `previous`, the one that was there is kept under that name.
  void write(const std::filesystem::path& path, const std::filesystem::path& previous = {}) const {
    const std::uint64_t sum = checksum(bytes_);
    AtomicFile file(path);
    file.write(bytes_.data(), bytes_.size());
    file.write(&sum, sizeof sum);
    file.commit(previous);
  }

 private:
  std::string bytes_;
};

/// Reads what a writer wrote; never past the end.
class CheckedReader {
 public:
  /// Throws FileError if the file is damaged, is something else, or has a version above `newest`. `noun` is what it
  /// is called in messages, such as "checkpoint".
  CheckedReader(const std::filesystem::path& path, const char* noun, std::string_view magic, std::uint64_t newest)
      : file_(concat(noun, " ", path.string())) {
    std::error_code error;  // looked at before it is opened: opening a pipe waits for a writer
    if (!std::filesystem::is_regular_file(path, error)) refuse("cannot be opened, or is no file");
    std::ifstream in(path, std::ios::binary);
    if (!in) refuse("cannot be opened, or is no file");
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    // The checksum first: a mismatch means damage, wherever it is.
    std::uint64_t sum = 0;
    if (bytes_.size() < 24) damaged("it has ", bytes_.size(), " bytes");
    std::memcpy(&sum, bytes_.data() + bytes_.size() - sizeof sum, sizeof sum);
    bytes_.resize(bytes_.size() - sizeof sum);
    if (checksum(bytes_) != sum)
      damaged("its checksum does not fit its content",
              bytes_.starts_with(magic) ? "" : concat(", which does not start like a ", noun, " of repel"));
    if (std::string_view(skip("start", 8), 8) != magic) refuse("is no ", noun, " of repel");
    version_ = number<std::uint64_t>("version");
    if (version_ < 1 || version_ > newest)
      refuse("has format version ", version_, ", but this program reads ",
             newest == 1 ? "version 1" : concat("versions 1 to ", newest));
  }

  std::uint64_t version() const { return version_; }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw FileError(concat("repel: the ", file_, " ", parts...), false);
  }
  template <class... Parts>
  [[noreturn]] void damaged(const Parts&... parts) const {
    throw FileError(concat("repel: the ", file_, " is damaged: ", parts...), true);
  }
  /// Where the next `count` bytes are.
  const char* skip(const char* what, std::size_t count) {
    if (count > bytes_.size() - at_) damaged("it ends within its ", what);
    return bytes_.data() + std::exchange(at_, at_ + count);
  }
  template <class Number>
  Number number(const char* what) {
    Number value{};
    std::memcpy(&value, skip(what, sizeof value), sizeof value);
    return value;
  }
  std::string text(const char* what) {
    const auto length = number<std::uint64_t>(what);
    if (length > bytes_.size() - at_) damaged("it ends within its ", what);
    return {skip(what, static_cast<std::size_t>(length)), static_cast<std::size_t>(length)};
  }
  void end(const char* last) const {
    if (at_ != bytes_.size()) damaged("it goes on after its ", last);
  }

 private:
  std::string bytes_, file_;
  std::uint64_t version_ = 0;
  std::size_t at_ = 0;
};

}  // namespace detail

}  // namespace repel
