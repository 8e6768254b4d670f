#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <type_traits>

// What the fuzz targets share: the fuzzer's bytes as a file, or as a stream of small choices.

namespace fuzz {

/// The bytes as a file that is in no folder.
class File {
 public:
  File(const void* bytes, std::size_t size) : descriptor_(::memfd_create("fuzz", 0)) {
    require(descriptor_ >= 0 && ::write(descriptor_, bytes, size) == static_cast<ssize_t>(size));
  }
  explicit File(const std::string& bytes) : File(bytes.data(), bytes.size()) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(descriptor_); }

  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  static void require(bool good) {
    if (!good) std::abort();
  }

 private:
  int descriptor_;
};

/// The program ends here if something holds that must not.
inline void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

/// Runs body. It may refuse its input, with an exception of these two kinds and a sentence of ours; nothing else.
template <class Body>
bool accepts(const Body& body) {
  const auto is_ours = [](const std::exception& error) {
    require(std::strncmp(error.what(), "repel", 5) == 0, error.what());
  };
  try {
    body();
    return true;
  } catch (const std::runtime_error& error) {
    is_ours(error);
  } catch (const std::invalid_argument& error) {
    is_ours(error);
  }
  return false;
}

/// Numbers from the fuzzer's bytes; 0 when they are used up.
class Choices {
 public:
  Choices(const std::uint8_t* bytes, std::size_t size) : at_(bytes), end_(bytes + size) {}

  template <class Number>
  Number take() {
    Number value{};
    const std::size_t size = sizeof value, there = static_cast<std::size_t>(end_ - at_),
                      used = there < size ? there : size;
    if (used > 0) std::memcpy(&value, at_, used);
    at_ += used;
    return value;
  }
  /// 0 … below − 1
  int below(int below) { return take<std::uint8_t>() % below; }
  /// Mostly numbers of ordinary size, at times any bits at all.
  template <class Scalar>
  Scalar number() {
    const int kind = below(8);
    if (kind == 0) return take<Scalar>();
    if (kind == 1) return 0;
    const auto value = static_cast<Scalar>(take<std::int8_t>());
    return kind < 6 ? value / 16 : value * (kind == 6 ? Scalar(1e5) : Scalar(1e-5));
  }
  bool empty() const { return at_ == end_; }

 private:
  const std::uint8_t *at_, *end_;
};

}  // namespace fuzz
