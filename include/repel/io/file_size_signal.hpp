// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>

namespace repel::detail {

/// While it lives, a file that grows beyond the process's limit (ulimit -f) makes a write in this thread fail with EFBIG,
/// an error like a full disk, instead of sending SIGXFSZ, which ends the program.
class NoFileSizeSignal {
#ifdef SIGXFSZ
 public:
  NoFileSizeSignal() {
    sigset_t pending;
    sigemptyset(&only_);
    sigaddset(&only_, SIGXFSZ);
    sigpending(&pending);
    if (sigismember(&pending, SIGXFSZ) == 1) return;  // blocked already, and not ours to take away
    blocked_ = pthread_sigmask(SIG_BLOCK, &only_, &before_) == 0;
  }
  ~NoFileSizeSignal() {
    if (!blocked_) return;
    sigset_t pending;
    int which = 0;
    sigpending(&pending);
    if (sigismember(&pending, SIGXFSZ) == 1) sigwait(&only_, &which);  // does not wait: it is there
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoFileSizeSignal(const NoFileSizeSignal&) = delete;
  NoFileSizeSignal& operator=(const NoFileSizeSignal&) = delete;

 private:
  sigset_t only_, before_;
  bool blocked_ = false;
#else
 public:
  NoFileSizeSignal() {}  // NOLINT(modernize-use-equals-default): not an unused variable
#endif
};

}  // namespace repel::detail
