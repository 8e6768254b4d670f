#pragma once

#include <repel/core/check.hpp>

#include <bit>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

// The bytes of a checkpoint: written one after the other, read back in the same order, and summed up to notice damage.

namespace repel {

/// A checkpoint that a run cannot be resumed from, and why.
struct CheckpointError : std::runtime_error {
  CheckpointError(const std::string& why, bool is_damaged) : std::runtime_error(why), damaged(is_damaged) {}
  bool damaged;  ///< otherwise it is intact, but belongs to another run or program
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

static_assert(std::endian::native == std::endian::little, "repel/io: only for little-endian machines");

class CheckpointWriter {
 public:
  void number(std::uint64_t value) { raw(&value, sizeof value); }
  void number(double value) { raw(&value, sizeof value); }
  void text(const std::string& value) {
    number(std::uint64_t{value.size()});
    bytes_ += value;
  }
  void raw(const void* data, std::size_t count) { bytes_.append(static_cast<const char*>(data), count); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads what a writer wrote; never past the end.
class CheckpointReader {
 public:
  CheckpointReader(std::string bytes, std::string file) : bytes_(std::move(bytes)), file_(std::move(file)) {}

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    throw CheckpointError(concat("repel: the checkpoint ", file_, " ", parts...), false);
  }
  template <class... Parts>
  [[noreturn]] void damaged(const Parts&... parts) const {
    throw CheckpointError(concat("repel: the checkpoint ", file_, " is damaged: ", parts...), true);
  }
  /// Where the next `count` bytes are.
  const char* skip(const char* what, std::size_t count) {
    if (count > bytes_.size() - at_) damaged("it ends within its ", what);
    return bytes_.data() + std::exchange(at_, at_ + count);
  }
  void raw(const char* what, void* out, std::size_t count) { std::memcpy(out, skip(what, count), count); }
  template <class Number>
  Number number(const char* what) {
    Number value{};
    raw(what, &value, sizeof value);
    return value;
  }
  std::string text(const char* what) {
    const auto length = number<std::uint64_t>(what);
    if (length > bytes_.size() - at_) damaged("it ends within its ", what);
    std::string value(bytes_, at_, static_cast<std::size_t>(length));
    at_ += static_cast<std::size_t>(length);
    return value;
  }
  std::string_view all() const { return bytes_; }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string bytes_, file_;
  std::size_t at_ = 0;
};

}  // namespace detail

}  // namespace repel
