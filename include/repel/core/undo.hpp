// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/scratch.hpp>

#include <optional>
#include <utility>

namespace repel::detail {

/// Puts a state back as it was, unless it is cancelled: for an update in place that a user's executor may give up, by an
/// exception in the middle. The library's own threads do not, and without an executor nothing is copied.
template <class State>
class Undo {
 public:
  Undo(State& state, Scratch& memory) : state_(state) {
    if (current_executor.object == nullptr) return;
    before_ = &memory.get<std::optional<State>>();
    *before_ = state;  // allocates the first time only
  }
  ~Undo() {
    if (before_ != nullptr) state_ = std::move(**before_);
  }
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  void cancel() { before_ = nullptr; }

 private:
  State& state_;
  std::optional<State>* before_ = nullptr;
};

}  // namespace repel::detail
