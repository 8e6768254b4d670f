#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#if __has_include(<unistd.h>)
#include <fcntl.h>
#include <unistd.h>
#define REPEL_HAS_FSYNC 1
#endif

namespace repel {

/// Replaces a file atomically: the new one is written next to it, synced to disk, and renamed. Without
/// commit() nothing changes.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path) : path_(std::move(path)), part_(path_.string() + ".part") {
    std::error_code error;
    if (std::filesystem::exists(path_, error) && !std::filesystem::is_regular_file(path_, error))
      throw std::runtime_error("repel: " + path_.string() + ": cannot be written: it exists, but is not a file");
    file_ = std::fopen(part_.c_str(), "wb");
    if (file_ == nullptr) refuse("cannot be written");
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() {
    if (file_ == nullptr) return;
    std::fclose(file_);
    std::remove(part_.c_str());
  }

  void write(const void* bytes, std::size_t count) {
    if (count > 0 && std::fwrite(bytes, 1, count, file_) != count) refuse("cannot be written");
  }

  /// Puts the file in its place. With `previous`, the one that was there is kept under that name.
  void commit(const std::filesystem::path& previous = {}) {
    bool good = std::fflush(file_) == 0;
#ifdef REPEL_HAS_FSYNC
    good = good && ::fsync(::fileno(file_)) == 0;
#endif
    good = std::fclose(file_) == 0 && good;
    file_ = nullptr;
    if (!good) {
      const int why = errno;
      std::remove(part_.c_str());
      errno = why;
      refuse("cannot be written");
    }
    std::error_code error;
    const bool keep = !previous.empty() && std::filesystem::exists(path_);
    if (keep) std::filesystem::rename(path_, previous, error);
    if (!error) {
      std::filesystem::rename(part_, path_, error);
      std::error_code ignored;
      if (error && keep) std::filesystem::rename(previous, path_, ignored);  // as it was
    }
    if (error) {
      std::remove(part_.c_str());
      throw std::runtime_error("repel: " + path_.string() + ": cannot be put in place: " + error.message());
    }
    sync_folder();
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    throw std::runtime_error("repel: " + path_.string() + ": " + what + ": " + std::strerror(errno));
  }

  /// The rename must also reach the disk.
  void sync_folder() const {
#ifdef REPEL_HAS_FSYNC
    const auto folder = path_.has_parent_path() ? path_.parent_path() : std::filesystem::path(".");
    const int descriptor = ::open(folder.c_str(), O_RDONLY);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
#endif
  }

  std::filesystem::path path_, part_;
  std::FILE* file_ = nullptr;
};

/// Writes a whole text file atomically.
inline void write_file(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace repel
