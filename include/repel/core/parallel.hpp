#pragma once

#include <repel/core/float_mode.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

#ifdef _OPENMP
#include <omp.h>
#endif

// The one file that knows threads. A loop over pieces is shared out by OpenMP where the user's compiler flags enable
// it, by the user's own executor where one is in use (UseExecutor), and runs serially otherwise. The pieces are cut by
// the caller from the size of the problem alone, never from the number of threads, and no two pieces write the same
// memory, and all compute in the floating-point mode of the thread that started the loop: the result has the same bits
// in every case.

namespace repel {

/// A user's own threads: an object with
///   Index slots() const                       how many pieces may be in work at once
///   void run(Index pieces, piece)             calls piece(p, slot) for p = 0 … pieces − 1, each once, in any order
///                                             and in any threads, and returns when all have returned; pieces at work
///                                             at the same time have different slots below slots(). A piece never
///                                             throws.
/// where piece is a std::function<void(Index p, Index slot)>, passed by reference.
template <class E>
concept Executor = requires(E& executor, const std::function<void(Index, Index)>& piece) {
  { executor.slots() } -> std::convertible_to<Index>;
  executor.run(Index{1}, piece);
};

namespace detail {

struct ExecutorHandle {
  void* object = nullptr;
  Index (*slots)(void*) = nullptr;
  void (*run)(void*, Index, const std::function<void(Index, Index)>&) = nullptr;
};

inline thread_local ExecutorHandle current_executor;
inline thread_local bool inside_piece = false;  ///< of a user's executor: loops in there stay in their thread

}  // namespace detail

/// While it lives, the loops that this thread starts are run by the user's executor:
///
///   MyPool pool(8);
///   repel::UseExecutor use(pool);
///   repel::run(sampler, state, 1000);
///
/// Other threads are not concerned, so two samplers in two threads may each have their own.
class UseExecutor {
 public:
  template <Executor E>
  explicit UseExecutor(E& executor)
      : before_(std::exchange(detail::current_executor,
                              {&executor, [](void* e) { return static_cast<Index>(static_cast<E*>(e)->slots()); },
                               [](void* e, Index pieces, const std::function<void(Index, Index)>& piece) {
                                 static_cast<E*>(e)->run(pieces, piece);
                               }})) {}
  ~UseExecutor() { detail::current_executor = before_; }
  UseExecutor(const UseExecutor&) = delete;
  UseExecutor& operator=(const UseExecutor&) = delete;

 private:
  detail::ExecutorHandle before_;
};

namespace detail {

/// Work, in multiply-adds, below which starting threads costs more than it gains. It must not exceed 100 000: up to
/// there Eigen, too, keeps to one thread, and above it the region below makes it do so. Left to itself it would cut a
/// product by the number of threads, and the bits with it.
inline constexpr double kParallelWork = 100'000;

/// How many pieces can be in work at once, and the number of the slot that this piece runs in: for scratch memory that
/// a piece fills before it reads it. What a piece computes must not depend on its slot.
inline Index thread_slots() {
  if (inside_piece) return 1;
  if (current_executor.object != nullptr) return std::max<Index>(1, current_executor.slots(current_executor.object));
#ifdef _OPENMP
  return omp_in_parallel() ? 1 : static_cast<Index>(omp_get_max_threads());
#else
  return 1;
#endif
}

/// The exception of the lowest piece that threw, as in a serial loop.
class FirstError {
 public:
  template <class Body>
  void guard(Index piece, const Body& body) {
    try {
      body();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_ || piece < piece_) {
        piece_ = piece;
        error_ = std::current_exception();
      }
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  Index piece_ = 0;
};

/// Marks a thread as one that works on a piece of a user's executor, where Eigen, too, must keep to one thread.
class InsidePiece {
 public:
  InsidePiece() {
#ifdef _OPENMP
    threads_ = omp_get_max_threads();
    omp_set_num_threads(1);  // for this thread alone
#endif
    before_ = std::exchange(inside_piece, true);
  }
  ~InsidePiece() {
    inside_piece = before_;
#ifdef _OPENMP
    omp_set_num_threads(threads_);
#endif
  }

 private:
  bool before_ = false;
  [[maybe_unused]] int threads_ = 1;  // with OpenMP alone
};

template <class Body>
void parallel_for(Index pieces, double work_per_piece, Body&& body) {
  const auto run = [&body](Index p, Index slot) {
    if constexpr (requires { body(p, Index{0}); })
      body(p, slot);
    else
      body(p);
  };
  const bool large = static_cast<double>(pieces) * work_per_piece >= kParallelWork;
  const unsigned mode = float_mode();
  if (large && !inside_piece && current_executor.object != nullptr) {
    FirstError error;
    const std::function<void(Index, Index)> piece = [&](Index p, Index slot) {
      const InsidePiece mark;
      const WithFloatMode same(mode);
      error.guard(p, [&] { run(p, slot); });
    };
    current_executor.run(current_executor.object, pieces, piece);
    error.rethrow();
    return;
  }
#ifdef _OPENMP
  // Within a parallel region, the user's or our own, the loop stays in its thread; so does Eigen.
  if (large && !inside_piece && !omp_in_parallel()) {
    FirstError error;
#pragma omp parallel for schedule(dynamic)
    for (Index p = 0; p < pieces; ++p) {
      const WithFloatMode same(mode);
      error.guard(p, [&] { run(p, omp_get_thread_num()); });
    }
    error.rethrow();
    return;
  }
#endif
  for (Index p = 0; p < pieces; ++p) run(p, 0);
}

/// Columns handled in one piece of work.
inline constexpr Index kTile = 64;

/// Rows handled in one piece, where there are many rows and few columns.
inline constexpr Index kRowTile = 512;

/// Columns handled in one piece, where there are many of both.
inline constexpr Index kColumnTile = 256;

/// Cuts columns 0…count into tiles of a fixed width and runs body(first, width) on each.
template <class Body>
void parallel_tiles(Index count, Index width, double work_per_column, Body&& body) {
  const Index tiles = (count + width - 1) / width;
  parallel_for(tiles, work_per_column * static_cast<double>(std::min(width, count)), [&](Index t) {
    const Index first = t * width;
    body(first, std::min(width, count - first));
  });
}

/// Cuts a matrix into blocks of about equal size, at most 512×256, and runs body(row, rows, column, columns) on each.
template <class Body>
void parallel_blocks(Index rows, Index columns, double work_per_entry, Body&& body) {
  if (rows < 1 || columns < 1) return;
  const auto cut = [](Index length, Index most) {
    const Index pieces = std::max<Index>(1, (length + most - 1) / most);
    return ((length + pieces - 1) / pieces + 7) / 8 * 8;
  };
  const Index height = cut(rows, kRowTile), width = cut(columns, kColumnTile);
  const Index high = (rows + height - 1) / height, wide = (columns + width - 1) / width;
  parallel_for(high * wide, work_per_entry * static_cast<double>(std::min(rows, height) * std::min(columns, width)),
               [&](Index block, Index slot) {
                 const Index row = block % high * height, column = block / high * width;
                 const Index h = std::min(height, rows - row), w = std::min(width, columns - column);
                 if constexpr (requires { body(row, h, column, w, slot); })
                   body(row, h, column, w, slot);
                 else
                   body(row, h, column, w);
               });
}

/// The sum of piece(first, width) over tiles that cover 0…count, at most 64 of them, added in order.
template <class Piece>
double parallel_sum(Index count, double work_per_item, const Piece& piece) {
  constexpr Index most = 64;
  std::array<double, most> sums{};
  const Index width = work_per_item * static_cast<double>(count) < kParallelWork ? count : (count + most - 1) / most;
  if (width < 1) return 0;
  parallel_tiles(count, width, work_per_item, [&](Index first, Index items) {
    sums[static_cast<std::size_t>(first / width)] = piece(first, items);
  });
  double total = 0;
  for (Index t = 0; t < (count + width - 1) / width; ++t) total += sums[static_cast<std::size_t>(t)];
  return total;
}

}  // namespace detail

}  // namespace repel
