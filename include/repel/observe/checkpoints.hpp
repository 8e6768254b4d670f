// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/io/atomic_file.hpp>
#include <repel/io/checkpoint.hpp>
#include <repel/run.hpp>

#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>

namespace repel {

/// An observer that writes a checkpoint every so many seconds, and at the end of the run, however it ends. If one
/// cannot be written (the disk is full, say) the run goes on: last_error() says why, and the next one is tried on
/// schedule. Only a failure at the end throws, and a place where nothing can be written from the start: a folder that is
/// missing or read-only is noticed before the first step.
class Checkpoints {
 public:
  /// Saves to `path` every so many seconds; `settings` must match when the run is resumed.
  Checkpoints(std::filesystem::path path, std::string settings, double seconds = 60)
      : path_(std::move(path)), settings_(std::move(settings)), seconds_(seconds) {
    if (!(seconds >= 0)) detail::fail("Checkpoints", "seconds is ", seconds, ", but must be at least 0");
  }

  /// `note` is called for each checkpoint, and what it returns is stored there for the caller.
  Checkpoints& with_note(std::function<std::string()> note) {
    note_ = std::move(note);
    return *this;
  }

  template <class State>
  void on_start(const State& state, Index) {
    { const AtomicFile trial(path_); }
    AtomicFile::remove_leftovers(path_);
    saved_step_ = state.step;
    last_ = Clock::now();
    save_now_ = [this, &state] { save(state); };
  }

  template <class State>
  void operator()(const State& state, const StepInfo& info) {
    bandwidth_ = info.bandwidth;
    if (std::chrono::duration<double>(Clock::now() - last_).count() < seconds_) return;
    try {
      save(state);
    } catch (const std::exception& error) {
      last_error_ = error.what();
      last_ = Clock::now();
    }
  }

  void on_finish(const Report&) {
    if (save_now_) std::exchange(save_now_, nullptr)();
  }

  /// Why the last checkpoint could not be written; empty if it could.
  const std::string& last_error() const { return last_error_; }

 private:
  using Clock = std::chrono::steady_clock;

  template <class State>
  void save(const State& state) {
    if (state.step != saved_step_) save_checkpoint(path_, state, settings_, bandwidth_, note_ ? note_() : "");
    saved_step_ = state.step;
    last_ = Clock::now();
    last_error_.clear();
  }

  std::filesystem::path path_;
  std::string settings_, last_error_;
  double seconds_, bandwidth_ = 0;
  std::function<std::string()> note_;
  std::function<void()> save_now_;
  Index saved_step_ = 0;
  Clock::time_point last_{};
};

}  // namespace repel
