// SPDX-License-Identifier: MIT
#pragma once

#include <repel/run.hpp>

#include <utility>

namespace repel {

/// An observer that stops the run as soon as predicate(state, info) is true:
///   auto still = [](const auto&, const auto& info) { return info.direction < 1e-6; };
///   auto report = repel::run(sampler, state, 5000, repel::StopWhen(still));
template <class Predicate>
class StopWhen {
 public:
  /// Stops where predicate(state, info) is true.
  explicit StopWhen(Predicate predicate) : predicate_(std::move(predicate)) {}

  template <class State>
  bool operator()(const State& state, const StepInfo& info) {
    return predicate_(state, info);
  }

 private:
  Predicate predicate_;
};

}  // namespace repel
