// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/sampler.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>

// The loop. Observers are passed as trailing arguments and are called after every step that moved the particles:
//
//   auto report = repel::run(sampler, state, 1000, [](const auto& state, const repel::StepInfo& info) {
//     return state.particles.squaredNorm() > 1e6;        // true stops the run; returning nothing is fine too
//   });
//
// An observer may also have members on_start(state, steps) and on_finish(report). Pass a named observer to keep what it
// has collected; otherwise a temporary will do.

namespace repel {

/// How a run ended.
struct Report {
  /// Why it ended.
  enum class Stop {
    finished,      ///< all steps were taken
    by_observer,   ///< an observer returned true
    not_finite,    ///< a step was not finite and moved nothing
    by_exception,  ///< the target or an observer threw; seen by observers only, since run() rethrows
  };

  Index steps = 0;             ///< steps taken in this run
  Stop stop = Stop::finished;  ///< why the run ended
  StepInfo last;               ///< of the last step tried
  double seconds = 0;          ///< wall time
  double temperature = 0;      ///< T of the last steps, some 50 of them averaged: 1 for a sample of the posterior
  std::string message;         ///< how the run ended, in a sentence, and the caution
  std::string caution;         ///< a sentence, if T says that the particles are not a sample of the posterior

  /// Whether all steps were taken.
  bool finished() const { return stop == Stop::finished; }
};

namespace detail {

/// The observer itself, or the one that std::ref refers to.
template <class Observer>
Observer& unwrap(Observer& observer) {
  return observer;
}
template <class Observer>
Observer& unwrap(std::reference_wrapper<Observer>& observer) {
  return observer.get();
}

template <class Observer, class State>
bool tell_step(Observer& observer, const State& state, const StepInfo& info) {
  static_assert(std::invocable<Observer&, const State&, const StepInfo&>,
                "repel::run: an observer must be callable as observer(state, info) with a const state and a "
                "repel::StepInfo; it may return true to stop the run");
  if constexpr (std::is_void_v<decltype(observer(state, info))>) {
    observer(state, info);
    return false;
  } else {
    return static_cast<bool>(observer(state, info));
  }
}

template <class Observer, class State>
void tell_start(Observer& observer, const State& state, Index steps) {
  if constexpr (requires { observer.on_start(state, steps); }) observer.on_start(state, steps);
}

template <class Observer>
void tell_finish(Observer& observer, const Report& report) {
  if constexpr (requires { observer.on_finish(report); }) observer.on_finish(report);
}

inline const char* describe(Fault fault) {
  switch (fault) {
    case Fault::unwritten:
      return "has a gradient that was never written: the target must write all of g, and take it by reference (auto& "
             "or "
             "auto&&); in function space a model must write all of its outputs, their score and the direction";
    case Fault::particles:
      return "has coordinates or outputs that are not finite, or too large to square";
    case Fault::gradient:
      return "has a gradient of the log posterior that is not finite, or too large to square (has a parameter a bound, "
             "which repel::constrained would keep, or is there a NaN in the data?)";
    case Fault::direction:
      return "has a direction that is not finite, or too large to square";
    case Fault::none:
      break;
  }
  return "was not moved";
}

/// Two significant digits, for sentences.
inline std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

inline std::string describe(const Report& report) {
  switch (report.stop) {
    case Report::Stop::by_observer:
      return concat("stopped by an observer after step ", report.last.step);
    case Report::Stop::not_finite:
      return concat("stopped at step ", report.last.step, ": particle ", report.last.particle, ' ',
                    describe(report.last.fault), "; all particles are as they were before that step");
    case Report::Stop::by_exception:
      return concat("stopped by an exception after step ", report.last.step);
    case Report::Stop::finished:
      break;
  }
  return concat("finished after step ", report.last.step);
}

/// What T says about n particles at the end of a run; empty if it is 1 within its noise, or not far from it.
inline std::string caution_of(double temperature, Index n, Index d) {
  const double noise = 2 * std::sqrt(2 / (static_cast<double>(n) * static_cast<double>(d)));
  if (n < 2 || (temperature > 0.8 - noise && temperature < 1.25 + noise)) return {};
  if (temperature < 0)
    return concat(
        "the gradient drives the particles apart: temperature ", rounded(temperature),
        " where a sample of the posterior has 1: they have not arrived yet, or is the sign of the gradient wrong?");
  if (temperature < 1)
    return concat("the particles are too close together: ", rounded(temperature),
                  " of the posterior's spread, by their temperature; see docs/calibration.md");
  return concat("the particles are too far apart, or have not arrived yet: temperature ", rounded(temperature),
                " where a sample of the posterior has 1; see docs/calibration.md");
}

}  // namespace detail

/// Takes up to `steps` steps. Call it again to continue from the current state. An exception thrown by the target or an
/// observer propagates out of run() after every observer has been told of the end.
template <class Sampler, class State, class... Observers>
[[nodiscard]] Report run(Sampler&& sampler, State& state, Index steps, Observers&&... observers) {
  if (steps < 0) detail::fail("run", "steps is ", steps, ", but must be at least 0");
  const auto start = std::chrono::steady_clock::now();
  Report report;
  report.last.step = state.step;
  const auto finish = [&] {
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.message = detail::describe(report);
    // In function space T is that of outputs, which vary in far fewer directions than there are (docs/calibration.md).
    if (report.steps > 0 && report.last.finite && report.last.gradients.rows() == state.particles.rows())
      report.caution = detail::caution_of(report.temperature, state.particles.cols(), state.particles.rows());
    if (!report.caution.empty()) report.message.append("; ").append(report.caution);
    report.last.gradients = report.last.directions = {};  // they may not outlive the sampler
    std::exception_ptr error;                             // every observer is told, even if one throws
    [[maybe_unused]] const auto tell = [&](auto& observer) {
      try {
        detail::tell_finish(observer, std::as_const(report));
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    };
    (tell(detail::unwrap(observers)), ...);
    return error;
  };

  try {
    (detail::tell_start(detail::unwrap(observers), std::as_const(state), steps), ...);
    while (report.steps < steps && report.finished()) {
      report.last = sampler.step(state);
      if (!report.last.finite) {
        report.stop = Report::Stop::not_finite;
        break;
      }
      ++report.steps;
      report.temperature +=
          (report.last.temperature - report.temperature) / static_cast<double>(std::min<Index>(report.steps, 50));
      bool stop = false;  // every observer is told, in order, even if one stops the run
      ((stop |= detail::tell_step(detail::unwrap(observers), state, report.last)), ...);
      if (stop) report.stop = Report::Stop::by_observer;
    }
  } catch (...) {
    report.stop = Report::Stop::by_exception;
    finish();
    throw;
  }
  if (const std::exception_ptr error = finish()) std::rethrow_exception(error);
  return report;
}

}  // namespace repel
