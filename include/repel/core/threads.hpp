// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/function_ref.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#endif

// The threads that help with the library's loops. One pool serves the whole process; it is empty until set_threads()
// asks for more than one thread and a loop is large enough to share.
//
// It is built for machines that are shared with other programs:
// - The caller works on the loop itself, piece by piece, and so does every helper that gets a core in time. At the end
//   the caller waits for pieces that were begun, never for a helper that has not started.
// - The caller takes pieces from the front, helpers take them from the back. So in every loop over the same particles a
//   core sees mostly those that its cache holds: caches that do not share a level exchange little.
// - A helper without work spins for a few microseconds, then yields its core to whoever wants it, then sleeps.
// - If the caller had to wait long for a helper that was descheduled in the middle of a piece, it runs the next
//   loops alone, for a multiple of the time it lost. On a busy machine that bounds the loss to a few per cent.

namespace repel {

namespace detail {

inline void pause_briefly() {
#if defined(__SSE2__) || defined(_M_X64)
  _mm_pause();
#endif
}

class ThreadPool {
 public:
  using Clock = std::chrono::steady_clock;
  using Body = FunctionRef<void(Index piece, Index slot)>;

  /// Never destroyed: its threads sleep until the process ends, whichever of them ends it.
  static ThreadPool& instance() {
    static ThreadPool* const pool = new ThreadPool;
    return *pool;
  }

  /// Calls body(piece, slot) for every piece, in this thread (slot 0) and in up to `threads` − 1 helpers, and returns
  /// true; or does nothing and returns false if the pool is busy with another loop, or if helpers have recently
  /// cost more time than they saved. The body must not throw.
  bool run(Index pieces, Index threads, Body body) {
    const std::unique_lock only_caller(callers_, std::try_to_lock);
    if (!only_caller || resting()) return false;
    start_workers(threads - 1);
    job_.body = &body;
    job_.pieces = pieces;
    job_.helpers = threads - 1;
    taken_.store(0, std::memory_order_relaxed);
    open_.store(true);
    signal_.fetch_add(1);
    signal_.notify_all();

    const auto start = Clock::now();
    Index mine = 0;
    for (Index p = take(pieces, kFront); p >= 0; p = take(pieces, kFront), ++mine) body(p, 0);
    open_.store(false);  // a helper that arrives now finds no work
    judge(start, mine, pieces);
    return true;
  }

 private:
  // On x86 a pause takes some 0.02 to 0.1 µs, a yield some 0.5 µs if nobody else wants the core.
  static constexpr int kPauses = 300, kYields = 400;
  static constexpr int kMostPatience = 128;

  struct Job {  // written while no worker can see it: before open_ is set, after active_ was 0
    const Body* body = nullptr;
    Index pieces = 0, helpers = 0;
  };

  ThreadPool() = default;

  static constexpr std::uint64_t kFront = 1, kBack = std::uint64_t{1} << 32;

  /// A piece that nobody has taken, from the front or from the back; −1 if there is none left.
  Index take(Index pieces, std::uint64_t end) {
    const std::uint64_t taken = taken_.fetch_add(end);
    const auto front = static_cast<Index>(taken % kBack), back = static_cast<Index>(taken / kBack);
    if (front + back >= pieces) return -1;
    return end == kFront ? front : pieces - 1 - back;
  }

  void start_workers(Index count) {
    while (static_cast<Index>(workers_.size()) < count) {
      const auto slot = static_cast<Index>(workers_.size()) + 1;
      try {
        workers_.emplace_back([this, slot] { work(slot); });
      } catch (const std::system_error&) {  // the system has no more threads to give: go on with those there are
        return;
      }
    }
  }

  /// Waits until done() is true, or gives up after some microseconds.
  template <class Done>
  static bool wait_briefly(const Done& done) {
    for (int k = 0; k < kPauses; ++k) {
      if (done()) return true;
      pause_briefly();
    }
    for (int k = 0; k < kYields; ++k) {
      if (done()) return true;
      std::this_thread::yield();
    }
    return false;
  }

  void work(Index slot) {
    std::uint32_t seen = 0;
    for (;;) {
      if (!wait_briefly([&] { return signal_.load() != seen; })) signal_.wait(seen);
      seen = signal_.load();
      // Either the caller sees this thread in active_ and waits, or this thread sees that the loop is over: both
      // variables are sequentially consistent.
      ++active_;
      if (open_.load() && slot <= job_.helpers)
        for (Index p = take(job_.pieces, kBack); p >= 0; p = take(job_.pieces, kBack)) (*job_.body)(p, slot);
      if (--active_ == 0) active_.notify_one();
    }
  }

  /// Waits for the pieces that are still running, and decides whether the next loops should be shared.
  void judge(Clock::time_point start, Index mine, Index pieces) {
    const auto finished = Clock::now();
    if (!wait_briefly([&] { return active_.load() == 0; }))
      for (int left = active_.load(); left != 0; left = active_.load()) active_.wait(left);
    if (mine == pieces) {
      // No helper came although there was time: the cores have other work. Waking helpers costs a system call.
      late_ = finished - start > std::chrono::microseconds(20) ? late_ + 1 : 0;
      if (late_ >= 16) rest(std::chrono::milliseconds(1));
      return;
    }
    late_ = 0;
    // A helper that took its last piece just before the end delays the caller by about the time of a piece. Much
    // longer means that it was descheduled.
    const auto lost = Clock::now() - finished;
    if (mine > 0 && lost > std::chrono::microseconds(50) && lost > 3 * ((finished - start) / mine))
      rest(lost);
    else if (++good_ % 64 == 0)
      patience_ = std::max(1, patience_ / 2);
  }

  void rest(Clock::duration lost) {
    rest_until_ = Clock::now() + patience_ * lost;
    patience_ = std::min(2 * patience_, kMostPatience);
    resting_ = true;
    good_ = late_ = 0;
  }

  bool resting() {
    if (resting_ && Clock::now() >= rest_until_) resting_ = false;
    return resting_;
  }

  std::mutex callers_;  ///< held during a loop; the members down to workers_ belong to its holder
  bool resting_ = false;
  int patience_ = 1;  ///< the next rest lasts this many times the loss; grows with every loss
  int good_ = 0, late_ = 0;
  Clock::time_point rest_until_{};
  std::vector<std::thread> workers_;
  Job job_;
  alignas(64) std::atomic<std::uint64_t> taken_{
      0};  ///< pieces taken from the front, and kBack times those from the back
  alignas(64) std::atomic<bool> open_{false};
  std::atomic<std::uint32_t> signal_{0};    ///< counts loops; helpers sleep on it
  alignas(64) std::atomic<int> active_{0};  ///< helpers that are looking at the loop
};

inline std::atomic<Index> thread_count{1};

}  // namespace detail

/// How many threads a large loop may use, for samplers in every thread of the process: initially 1; 0 means as many as
/// there are cores. Results have the same bits whatever the number.
///
///   repel::set_threads(0);
///   repel::run(sampler, state, 1000);
inline void set_threads(Index count) {
  if (count < 0)
    throw std::invalid_argument(std::string("repel::set_threads: count is ")
                                    .append(std::to_string(count))
                                    .append(", but must be at least 0; 0 means as many as there are cores"));
  if (count == 0) count = std::max<Index>(1, static_cast<Index>(std::thread::hardware_concurrency()));
  detail::thread_count.store(std::min<Index>(count, 1024));
}

/// What set_threads() has set.
inline Index threads() { return detail::thread_count.load(std::memory_order_relaxed); }

}  // namespace repel
