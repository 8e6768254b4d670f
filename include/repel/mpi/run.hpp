// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/mpi/communicator.hpp>
#include <repel/mpi/spread.hpp>
#include <repel/run.hpp>

#include <mpi.h>

#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>

namespace repel::mpi {

/// An observer for one process alone, the first of `comm`: a progress bar, a trace that is written to a file. The others run
/// on; if it stops the run, all stop.
template <class Observer>
class OnRoot {
 public:
  /// See on_root().
  explicit OnRoot(Observer observer, MPI_Comm comm = MPI_COMM_WORLD) : observer_(std::forward<Observer>(observer)) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    here_ = rank == 0;
  }

  template <class State>
  void on_start(const State& state, Index steps) {
    if (here_) detail::tell_start(detail::unwrap(observer_), state, steps);
  }
  /// Called after every step; returning true stops the run.
  template <class State>
  bool operator()(const State& state, const StepInfo& info) {
    return here_ && detail::tell_step(detail::unwrap(observer_), state, info);
  }
  void on_finish(const Report& report) {
    if (here_) detail::tell_finish(detail::unwrap(observer_), report);
  }

 private:
  Observer observer_;
  bool here_ = true;
};

/// A named observer is kept by reference, so that what it has collected is there afterwards.
template <class Observer>
OnRoot<Observer> on_root(Observer&& observer, MPI_Comm comm = MPI_COMM_WORLD) {
  return OnRoot<Observer>(std::forward<Observer>(observer), comm);
}

}  // namespace repel::mpi

namespace repel::detail {

/// All observers of this process as one, which stops the run when any observer of any process does, in all processes at the
/// same step. An exception in one stops all.
template <class... Observers>
class Agreed {
 public:
  Agreed(Communicator& comm, Observers&... observers) : comm_(comm), observers_(observers...) {}

  template <class State>
  void on_start(const State& state, Index steps) {
    together(state, [&](auto& observer) {
      tell_start(observer, state, steps);
      return false;
    });
  }
  template <class State>
  bool operator()(const State& state, const StepInfo& info) {
    return together(state, [&](auto& observer) { return tell_step(observer, state, info); });
  }
  void on_finish(const Report& report) {
    std::exception_ptr error;
    each([&](auto& observer) {
      try {
        tell_finish(observer, report);
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    });
    if (error) std::rethrow_exception(error);
  }

 private:
  template <class Body>
  void each(const Body& body) {
    std::apply([&](auto&... observer) { (body(unwrap(observer)), ...); }, observers_);
  }

  template <class State, class Tell>
  bool together(const State& state, const Tell& tell) {
    Notice own{.step = state.step};
    std::exception_ptr error;
    try {
      each([&](auto& observer) { own.flag |= tell(observer) ? 1 : 0; });
    } catch (...) {
      if (comm_.lost() || comm_.agreed_failure()) throw;
      error = std::current_exception();
    }
    bool stop = false;
    for (const Notice& notice : comm_.agree(own, error)) stop |= notice.flag != 0;
    return stop;
  }

  Communicator& comm_;
  std::tuple<Observers&...> observers_;
};

}  // namespace repel::detail

namespace repel {

/// run() in several processes: observers see the particles of their own process and the same info everywhere.
template <mpi::SpreadSampler S, class State, class... Observers>
[[nodiscard]] Report run(S& sampler, State& state, Index steps, Observers&&... observers) {
  detail::Communicator& comm = sampler.communicator();
  struct Stepper {
    S& inner;
    StepInfo step(State& now) { return inner.step(now); }
  };
  comm.forget_failure();
  std::exception_ptr error;
  Report report;
  try {
    if constexpr (sizeof...(observers) == 0)
      report = run(Stepper{sampler}, state, steps);
    else
      report = run(Stepper{sampler}, state, steps,
                   detail::Agreed<std::remove_reference_t<Observers>...>(comm, observers...));
  } catch (...) {
    if (comm.lost() || comm.agreed_failure()) throw;
    error = std::current_exception();
  }
  comm.agree({.step = state.step}, error);  // the end, or what one process alone has met
  return report;
}

}  // namespace repel
