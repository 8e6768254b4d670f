#pragma once

#include <repel/run.hpp>

#include <array>
#include <csignal>

namespace repel {

/// An observer that lets Ctrl-C (SIGINT) and a batch system's or `kill`'s request to end (SIGTERM) end the run after
/// the current step, with the state intact, instead of killing the program. The handlers are replaced while the run
/// lasts. A second signal of the same kind acts as it would have without this observer, and if SIGINT was already
/// ignored (in a program started by nohup, or in the background of a script) it stays ignored.
class StopOnInterrupt {
 public:
  StopOnInterrupt() = default;
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  ~StopOnInterrupt() { release(); }

  template <class State>
  void on_start(const State&, Index) {
    if (holding_) return;
    holding_ = true;
    if (shared().holders++ > 0) return;  // another run is being watched already
    shared().seen = 0;
    for (Watched& signal : shared().signals) {
      signal.previous = std::signal(signal.number, handle);
      if (signal.previous == SIG_IGN) std::signal(signal.number, SIG_IGN);
    }
  }

  template <class State>
  bool operator()(const State&, const StepInfo&) {
    return interrupted();
  }

  void on_finish(const Report&) { release(); }

  /// Whether such a signal came during the last run.
  static bool interrupted() { return shared().seen != 0; }

 private:
  struct Watched {
    int number;
    void (*previous)(int) = SIG_DFL;
    void restore() const {
      if (previous != SIG_ERR) std::signal(number, previous);
    }
  };

  struct Shared {
    volatile std::sig_atomic_t seen = 0;
    std::array<Watched, 2> signals{Watched{SIGINT}, Watched{SIGTERM}};
    int holders = 0;
  };

  static Shared& shared() {
    static Shared instance;
    return instance;
  }

  static void handle(int number) {
    shared().seen = 1;
    for (const Watched& signal : shared().signals)
      if (signal.number == number) signal.restore();
  }

  void release() {
    if (!holding_) return;
    holding_ = false;
    if (--shared().holders > 0) return;
    for (const Watched& signal : shared().signals) signal.restore();
  }

  bool holding_ = false;
};

}  // namespace repel
