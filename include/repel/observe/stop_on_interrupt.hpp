// SPDX-License-Identifier: MIT
#pragma once

#include <repel/run.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>

namespace repel {

/// An observer that lets Ctrl-C (SIGINT) and a batch system's or `kill`'s request to end (SIGTERM) end the run after
/// the current step, with the state intact, instead of killing the program. The handlers are replaced while the run
/// lasts; several runs, in several threads, share them. A second signal of the same kind acts as it would have without
/// this observer, and if SIGINT was already ignored (in a program started by nohup, or in the background of a script) it
/// stays ignored. A handler that the program installs during the run is left in place.
class StopOnInterrupt {
 public:
  StopOnInterrupt() = default;
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  ~StopOnInterrupt() { release(); }

  template <class State>
  void on_start(const State&, Index) {
    if (holding_) return;
    const std::lock_guard lock(shared_.mutex);
    holding_ = true;
    if (shared_.holders++ > 0) return;  // another run is being watched already
    shared_.seen = false;
    for (Watched& signal : shared_.signals) signal.watch();
  }

  template <class State>
  bool operator()(const State&, const StepInfo&) {
    return interrupted();
  }

  void on_finish(const Report&) { release(); }

  /// Whether such a signal came during the last run.
  static bool interrupted() { return shared_.seen; }

 private:
  /// A signal, and what it did before. With sigaction, where there is one: std::signal would lose the flags and the mask
  /// of the program's own handler.
  struct Watched {
    int number;
    bool ours = false;
#ifdef SA_RESTART
    struct sigaction previous {};

    void watch() {
      ours = sigaction(number, nullptr, &previous) == 0 && !is(previous, SIG_IGN);
      if (!ours) return;
      struct sigaction mine {};
      mine.sa_handler = handle;
      mine.sa_flags = SA_RESTART;
      sigemptyset(&mine.sa_mask);
      ours = sigaction(number, &mine, nullptr) == 0;
    }
    void restore() const {  // also called by the handler: sigaction is safe there
      struct sigaction now {};
      if (ours && sigaction(number, nullptr, &now) == 0 && is(now, handle)) sigaction(number, &previous, nullptr);
    }
    static bool is(const struct sigaction& action, void (*handler)(int)) {
      return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
    }
#else
    void (*previous)(int) = SIG_DFL;

    void watch() {
      previous = std::signal(number, handle);
      ours = previous != SIG_ERR && previous != SIG_IGN;
      if (previous == SIG_IGN) std::signal(number, SIG_IGN);
    }
    void restore() const {
      if (!ours) return;
      const auto now = std::signal(number, previous);
      if (now != handle && now != SIG_ERR) std::signal(number, now);  // the program's own, installed since
    }
#endif
  };

  struct Shared {
    std::atomic<bool> seen = false;
    std::mutex mutex;  // of what follows; the handler reads `signals` without it, while they are being watched
    std::array<Watched, 2> signals{Watched{SIGINT}, Watched{SIGTERM}};
    int holders = 0;
  };
  static_assert(std::atomic<bool>::is_always_lock_free, "repel: a signal handler may use lock-free atomics only");

  static void handle(int number) {
    shared_.seen = true;
    for (const Watched& signal : shared_.signals)
      if (signal.number == number) signal.restore();
  }

  void release() {
    if (!holding_) return;
    const std::lock_guard lock(shared_.mutex);
    holding_ = false;
    if (--shared_.holders > 0) return;
    for (const Watched& signal : shared_.signals) signal.restore();
  }

  static Shared shared_;
  bool holding_ = false;
};

inline StopOnInterrupt::Shared StopOnInterrupt::shared_;

}  // namespace repel
