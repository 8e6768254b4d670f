#pragma once

#include <repel/run.hpp>

#include <csignal>

namespace repel {

/// An observer that lets Ctrl-C end the run after the step in hand, with the state intact, instead of killing the
/// program. The handler of SIGINT is replaced while the run lasts. A second Ctrl-C acts as it would have without this
/// observer, and where SIGINT was ignored before (a program started by nohup) it stays so.
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
    shared().previous = std::signal(SIGINT, handle);
    if (shared().previous == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  }

  template <class State>
  bool operator()(const State&, const StepInfo&) {
    return interrupted();
  }

  void on_finish(const Report&) { release(); }

  /// Whether Ctrl-C was pressed during the last run.
  static bool interrupted() { return shared().seen != 0; }

 private:
  struct Shared {
    volatile std::sig_atomic_t seen = 0;
    void (*previous)(int) = SIG_DFL;
    int holders = 0;
  };

  static Shared& shared() {
    static Shared instance;
    return instance;
  }

  static void handle(int) {
    shared().seen = 1;
    std::signal(SIGINT, shared().previous);
  }

  void release() {
    if (!holding_) return;
    holding_ = false;
    if (--shared().holders == 0 && shared().previous != SIG_ERR) std::signal(SIGINT, shared().previous);
  }

  bool holding_ = false;
};

}  // namespace repel
