#pragma once

#include <repel/run.hpp>

#include <csignal>

namespace repel {

/// An observer that lets Ctrl-C end the run after the step in hand, with the state intact, instead of killing the
/// program. While the run lasts it replaces the handler of SIGINT; a second Ctrl-C then acts as usual.
class StopOnInterrupt {
 public:
  StopOnInterrupt() = default;
  StopOnInterrupt(const StopOnInterrupt&) = delete;
  StopOnInterrupt& operator=(const StopOnInterrupt&) = delete;
  ~StopOnInterrupt() { restore(); }

  template <class State>
  void on_start(const State&, Index) {
    seen() = 0;
    previous_ = std::signal(SIGINT, [](int) {
      seen() = 1;
      std::signal(SIGINT, SIG_DFL);
    });
    installed_ = true;
  }

  template <class State>
  bool operator()(const State&, const StepInfo&) {
    return interrupted();
  }

  void on_finish(const Report&) { restore(); }

  /// Whether Ctrl-C was pressed during the last run.
  static bool interrupted() { return seen() != 0; }

 private:
  static volatile std::sig_atomic_t& seen() {
    static volatile std::sig_atomic_t flag = 0;
    return flag;
  }

  void restore() {
    if (installed_ && previous_ != SIG_ERR) std::signal(SIGINT, previous_);
    installed_ = false;
  }

  void (*previous_)(int) = SIG_DFL;
  bool installed_ = false;
};

}  // namespace repel
