// SPDX-License-Identifier: MIT
#pragma once

#include <repel/io/file_size_signal.hpp>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#if !defined(_WIN32) && __has_include(<unistd.h>)
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define REPEL_HAS_FSYNC 1
#endif

namespace repel {

/// Replaces a file atomically: the new one is written next to it, synced to disk, and renamed. Without
/// commit() nothing changes. What is being written has a name of its own, PATH.part-…, that no other writer has and that
/// was not there before, so that two writers do not tear each other's files and no planted link is followed.
class AtomicFile {
 public:
  /// Begins to write beside `path`; commit() puts the file in its place.
  explicit AtomicFile(std::filesystem::path path) : path_(std::move(path)) {
    std::error_code error;
    const auto there = std::filesystem::status(path_, error);  // asked once: another writer may be replacing it
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
      throw std::runtime_error("repel: " + path_.string() + ": cannot be written: it exists, but is not a file");
    for (int tries = 0; file_ == nullptr; ++tries) {
      part_ = path_.string() + ".part-" + unique_ending();
      file_ = create(part_);
      if (file_ == nullptr && (errno != EEXIST || tries == 100)) refuse("cannot be written");
    }
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() {
    if (file_ == nullptr) return;
    const detail::NoFileSizeSignal no_signal;
    std::fclose(file_);
    remove(part_);
  }

  /// Appends bytes.
  void write(const void* bytes, std::size_t count) {
    const detail::NoFileSizeSignal no_signal;
    if (count > 0 && std::fwrite(bytes, 1, count, file_) != count) refuse("cannot be written");
  }

  /// Puts the file in its place. With `previous`, the one that was there is kept under that name.
  void commit(const std::filesystem::path& previous = {}) {
    const detail::NoFileSizeSignal no_signal;
    bool good = std::fflush(file_) == 0;
#ifdef REPEL_HAS_FSYNC
    good = good && ::fsync(::fileno(file_)) == 0;
#endif
    int why = errno;
    if (std::fclose(file_) != 0 && good) {
      good = false;
      why = errno;
    }
    file_ = nullptr;
    if (!good) {
      remove(part_);
      errno = why;
      refuse("cannot be written");
    }
    std::error_code error;
    bool moved = false;
    if (!previous.empty() && std::filesystem::exists(path_)) moved = keep_as(previous, error);
    if (!error) {
      std::filesystem::rename(part_, path_, error);
      std::error_code ignored;
      if (error && moved) std::filesystem::rename(previous, path_, ignored);  // as it was
    }
    if (error) {
      remove(part_);
      throw std::runtime_error("repel: " + path_.string() + ": cannot be put in place: " + error.message());
    }
    sync_folder();
  }

  /// Removes what writers of this file left behind when they were killed. Those that are still writing keep a lock on
  /// theirs.
  static void remove_leftovers([[maybe_unused]] const std::filesystem::path& path) {
#ifdef REPEL_HAS_FSYNC
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const std::string start = path.filename().string() + ".part-";
    std::error_code error;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
      if (!at->path().filename().string().starts_with(start)) continue;
      const int descriptor = ::open(at->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
      if (descriptor < 0) continue;
      if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) remove(at->path());
      ::close(descriptor);
    }
#endif
  }

 private:
  [[noreturn]] void refuse(const char* what) const {
    throw std::runtime_error("repel: " + path_.string() + ": " + what + ": " + std::strerror(errno));
  }

  static void remove(const std::filesystem::path& file) {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  }

  /// Gives the file that is there a second name, `previous`, so that there is a file at PATH at any time. Returns whether
  /// it was moved there instead, where the file system has no hard links.
  bool keep_as(const std::filesystem::path& previous, std::error_code& error) const {
    const std::filesystem::path link = part_.string() + "-previous";
    std::filesystem::create_hard_link(path_, link, error);
    const bool linked = !error;
    std::filesystem::rename(linked ? link : path_, previous, error);
    if (linked) remove(link);  // it is still there if `previous` was the same file
    if (error == std::errc::no_such_file_or_directory) error.clear();  // another writer has just moved it there
    return !linked && !error;
  }

  static std::string unique_ending() {
    static std::atomic<unsigned> count = 0;
    static const unsigned start = std::random_device{}();
#ifdef REPEL_HAS_FSYNC
    const long process = ::getpid();
#else
    const long process = 0;
#endif
    return std::to_string(process) + "-" + std::to_string(start + count++);
  }

  /// A new file, never one that is there, nor what a link points to; null with errno set.
  static std::FILE* create(const std::filesystem::path& part) {
#ifdef REPEL_HAS_FSYNC
    const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor < 0) return nullptr;
    ::flock(descriptor, LOCK_EX | LOCK_NB);  // until it is closed; see remove_leftovers
    struct stat ours {
    }, there{};
    if (::fstat(descriptor, &ours) != 0 || ::lstat(part.c_str(), &there) != 0 || ours.st_ino != there.st_ino) {
      ::close(descriptor);  // another process took it for a leftover before it was locked
      errno = EEXIST;
      return nullptr;
    }
    std::FILE* const file = ::fdopen(descriptor, "wb");
    if (file == nullptr) ::close(descriptor);
    return file;
#else
    return std::fopen(part.string().c_str(), "wbx");
#endif
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
