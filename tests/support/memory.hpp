#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace test {

/// What the sanitizers' shadow memory may make of a limit on memory.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define REPEL_TEST_SHADOW 2
#endif
#endif
#if !defined(REPEL_TEST_SHADOW) && (defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__))
#define REPEL_TEST_SHADOW 2
#endif
#ifdef REPEL_TEST_SHADOW
inline constexpr double kShadow = REPEL_TEST_SHADOW;
#else
inline constexpr double kShadow = 1;
#endif

/// Runs body in a process of its own and returns the most memory that it had, in MiB; −1 if it died. What the process had
/// before is included.
inline double peak_memory(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {  // no Catch in here
    try {
      body();
    } catch (...) {
    }
    ::_exit(0);
  }
  int status = 0;
  struct rusage usage {};
  if (child < 0 || ::wait4(child, &status, 0, &usage) != child || !WIFEXITED(status)) return -1;
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace test
