// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef REPEL_WITH_ZLIB
#include <zlib.h>
#endif

namespace repel::data {

/// How much memory a compressed file may take when it is unpacked and read, its bytes and the numbers made of them, unless
/// the caller says otherwise: a few kilobytes can unpack to gigabytes. Plain files have no such limit, since memory is in
/// proportion to what is on the disk.
inline constexpr std::size_t kUnpackedLimit = std::size_t{1} << 30;

namespace detail {

using repel::detail::refuse_file;

/// The bytes of a file, read in sequence; a compressed file (.gz) is decompressed.
class ByteSource {
 public:
  /// `limit` is for compressed files, kUnpackedLimit.
  ByteSource(const char* where, const std::filesystem::path& file, std::size_t limit)
      : where_(where), file_(file), limit_(limit) {
    if (std::filesystem::is_directory(file)) refuse_file(where, file, "is a folder, but must be a file");
    std::error_code error;  // looked at before it is opened: opening a pipe waits for a writer
    const auto there = std::filesystem::status(file, error);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
      refuse_file(where, file, "is a pipe or a device, but must be a file");
    plain_.open(file, std::ios::binary);
    if (!plain_) refuse_file(where, file, "cannot be opened");
    char magic[2] = {};
    plain_.read(magic, 2);
    const bool compressed = plain_.gcount() == 2 && magic[0] == '\x1f' && magic[1] == '\x8b';
    plain_.clear();
    plain_.seekg(0);
    if (!compressed) return;
#ifdef REPEL_WITH_ZLIB
    plain_.close();
#ifdef _WIN32
    zipped_ = gzopen_w(file.c_str(), "rb");
#else
    zipped_ = gzopen(file.c_str(), "rb");
#endif
    if (zipped_ == nullptr) refuse_file(where, file, "cannot be opened");
#else
    refuse_file(where, file,
                "is compressed, but this program was built without zlib (see repel/data.hpp); gunzip it first");
#endif
  }
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  ~ByteSource() {
#ifdef REPEL_WITH_ZLIB
    if (zipped_ != nullptr) gzclose(zipped_);
#endif
  }

  /// Up to `count` bytes; fewer at the end of the file. Memory grows with what is really there, not with what a header
  /// promises.
  std::vector<std::uint8_t> read(std::size_t count) {
    constexpr std::size_t least = std::size_t{1} << 12, most = std::size_t{1} << 20;
    std::vector<std::uint8_t> bytes;
    while (bytes.size() < count) {
      const std::size_t before = bytes.size(), wanted = std::min(std::clamp(before, least, most), count - before);
      bytes.resize(before + wanted);
      const std::size_t got = read_some(bytes.data() + before, wanted);
      require_room(got);
      if (got < wanted) {
        bytes.resize(before + got);
        break;
      }
    }
    return bytes;
  }

  /// Throws if a compressed file takes more memory than its limit, with what the caller is about to take.
  void require_room(std::size_t more) {
    taken_ += more;
    if (compressed() && taken_ > limit_)
      refuse_file(where_, file_, "is compressed and takes more than ", limit_,
                  " bytes of memory; if that is as it should be, raise the limit, the last argument");
  }

  bool compressed() const {
#ifdef REPEL_WITH_ZLIB
    return zipped_ != nullptr;
#else
    return false;
#endif
  }

 private:
  std::size_t read_some(std::uint8_t* out, std::size_t count) {
#ifdef REPEL_WITH_ZLIB
    if (zipped_ != nullptr) {
      const int got = gzread(zipped_, out, static_cast<unsigned>(count));
      int code = Z_OK;
      std::string message = gzerror(zipped_, &code);  // after the file's name
      if (const auto at = message.rfind(": "); at != std::string::npos) message.erase(0, at + 2);
      if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
        refuse_file(where_, file_, "cannot be decompressed (zlib says: ", message, "): it is damaged or cut off");
      return static_cast<std::size_t>(got);
    }
#endif
    plain_.read(reinterpret_cast<char*>(out), static_cast<std::streamsize>(count));
    if (plain_.bad()) refuse_file(where_, file_, "cannot be read");
    return static_cast<std::size_t>(plain_.gcount());
  }

  const char* where_;
  std::filesystem::path file_;
  std::size_t limit_, taken_ = 0;
  std::ifstream plain_;
#ifdef REPEL_WITH_ZLIB
  gzFile zipped_ = nullptr;
#endif
};

}  // namespace detail

}  // namespace repel::data
