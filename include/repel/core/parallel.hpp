// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/float_mode.hpp>
#include <repel/core/function_ref.hpp>
#include <repel/core/threads.hpp>
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

// Loops over pieces of work. A large one is shared with the library's own threads (core/threads.hpp), or handed to the
// user's executor if one is in use; a small one stays in its thread. The caller cuts the pieces by the size of the
// problem, never by the number of threads; no two pieces write the same memory; and all compute in the floating-point
// mode of the thread that started the loop. So the result has the same bits in every case.

namespace repel {

/// A user's own threads: an object with
///   Index slots() const                       how many pieces may run at once
///   void run(Index pieces, piece)             calls piece(p, slot) for p = 0 … pieces − 1, each once, in any order
///                                             and in any threads, and returns when all have returned; pieces that run
///                                             at the same time have different slots below slots(). A piece never
///                                             throws. If run() itself throws, no piece may be running any more; the
///                                             step is then given up, and has moved nothing.
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
inline thread_local bool inside_piece = false;  ///< loops within a piece of a loop stay in their thread

}  // namespace detail

/// While it lives, the loops that this thread starts are run by the user's executor:
///
///   MyPool pool(8);
///   repel::UseExecutor use(pool);
///   repel::run(sampler, state, 1000);
///
/// Other threads are not affected, so two samplers in two threads may each have their own.
class UseExecutor {
 public:
  /// From here on this thread's loops run on `executor`, which must outlive this object.
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

/// Work, in multiply-adds, below which sharing a loop costs more than it gains. It must not exceed 100 000: up to that
/// much work, Eigen also keeps to one thread (see KeepEigenSerial).
inline constexpr double kParallelWork = 100'000;

/// While it lives, Eigen's products in this thread stay in it. In a program compiled with OpenMP they would otherwise
/// be split by the number of threads, and the bits would depend on it.
class KeepEigenSerial {
#ifdef _OPENMP
 public:
  KeepEigenSerial() : threads_(omp_get_max_threads()) {
    if (threads_ != 1) omp_set_num_threads(1);  // for this thread alone
  }
  ~KeepEigenSerial() {
    if (threads_ != 1) omp_set_num_threads(threads_);
  }
  KeepEigenSerial(const KeepEigenSerial&) = delete;
  KeepEigenSerial& operator=(const KeepEigenSerial&) = delete;

 private:
  int threads_;
#else
 public:
  KeepEigenSerial() {}  // NOLINT(modernize-use-equals-default): not an unused variable
#endif
};

/// Whether loops stay in this thread: within a piece of another loop, or in the user's own parallel region.
inline bool keeps_to_this_thread() {
#ifdef _OPENMP
  if (omp_in_parallel() != 0) return true;
#endif
  return inside_piece;
}

/// How many pieces can run at once: for scratch memory, one per slot, which a piece fills before it reads it. What
/// a piece computes must not depend on its slot.
inline Index thread_slots() {
  if (keeps_to_this_thread()) return 1;
  if (current_executor.object != nullptr) return std::max<Index>(1, current_executor.slots(current_executor.object));
  return threads();
}

/// Keeps the exception of the lowest-numbered piece that threw, as a serial loop would.
class FirstError {
 public:
  void store(Index piece) {
    const std::lock_guard lock(mutex_);
    if (error_ && piece > piece_) return;
    piece_ = piece;
    error_ = std::current_exception();
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  Index piece_ = 0;
};

using PieceBody = FunctionRef<void(Index piece, Index slot)>;

/// body(piece, slot) for all pieces, with slots below `slots`.
inline void run_pieces(Index pieces, double work_per_piece, Index slots, PieceBody body) {
  const bool large = static_cast<double>(pieces) * work_per_piece >= kParallelWork;
  if (large && !keeps_to_this_thread() && (current_executor.object != nullptr || (slots > 1 && pieces > 1))) {
    FirstError error;
    const unsigned mode = float_mode();
    const auto guarded = [&](Index p, Index slot) noexcept {
      const bool before = std::exchange(inside_piece, true);
      const KeepEigenSerial serial;
      const WithFloatMode same(mode);
      try {
        body(p, slot);
      } catch (...) {
        error.store(p);
      }
      inside_piece = before;
    };
    bool done = true;
    if (current_executor.object != nullptr)
      current_executor.run(current_executor.object, pieces, std::ref(guarded));
    else
      done = ThreadPool::instance().run(pieces, std::min(slots, pieces), guarded);
    error.rethrow();
    if (done) return;
  }
  const KeepEigenSerial serial;
  for (Index p = 0; p < pieces; ++p) body(p, 0);
}

/// body(piece, slot) for all pieces, with a slot below `slots`, which the caller took from thread_slots().
template <class Body>
void parallel_for(Index pieces, double work_per_piece, Index slots, const Body& body) {
  run_pieces(pieces, work_per_piece, slots, body);
}

/// body(piece) for all pieces.
template <class Body>
void parallel_for(Index pieces, double work_per_piece, const Body& body) {
  run_pieces(pieces, work_per_piece, thread_slots(), [&body](Index p, Index) { body(p); });
}

/// Columns handled in one piece of work.
inline constexpr Index kTile = 64;

/// Rows handled in one piece, if there are many rows and few columns.
inline constexpr Index kRowTile = 512;

/// Columns handled in one piece, if there are many of both.
inline constexpr Index kColumnTile = 256;

/// Cuts columns 0…count into tiles of a fixed width and runs body(first, width) on each.
template <class Body>
void parallel_tiles(Index count, Index width, double work_per_column, const Body& body) {
  const Index tiles = (count + width - 1) / width;
  parallel_for(tiles, work_per_column * static_cast<double>(std::min(width, count)), [&](Index t) {
    const Index first = t * width;
    body(first, std::min(width, count - first));
  });
}

/// A block of a matrix: rows row … row + rows, columns column … column + columns.
struct BlockOf {
  Index row, rows, column, columns;
};

/// Cuts a matrix into blocks of about equal size, at most 512×256, and runs body(block, slot) on each.
template <class Body>
void parallel_blocks(Index rows, Index columns, double work_per_entry, Index slots, const Body& body) {
  if (rows < 1 || columns < 1) return;
  const auto cut = [](Index length, Index most) {
    const Index pieces = std::max<Index>(1, (length + most - 1) / most);
    return ((length + pieces - 1) / pieces + 7) / 8 * 8;
  };
  const Index height = cut(rows, kRowTile), width = cut(columns, kColumnTile);
  const Index high = (rows + height - 1) / height, wide = (columns + width - 1) / width;
  parallel_for(high * wide, work_per_entry * static_cast<double>(std::min(rows, height) * std::min(columns, width)),
               slots, [&](Index piece, Index slot) {
                 const Index row = piece % high * height, column = piece / high * width;
                 body(BlockOf{row, std::min(height, rows - row), column, std::min(width, columns - column)}, slot);
               });
}
template <class Body>
void parallel_blocks(Index rows, Index columns, double work_per_entry, const Body& body) {
  parallel_blocks(rows, columns, work_per_entry, thread_slots(), [&body](const BlockOf& b, Index) { body(b); });
}

/// The sum of piece(first, width) over tiles that cover 0…count, at most 64 of them, added in order. Sums may also be
/// small structs with operator+=.
template <class Piece>
auto parallel_sum(Index count, double work_per_item, const Piece& piece) {
  using Sum = decltype(piece(Index{0}, Index{0}));
  constexpr Index most = 64;
  std::array<Sum, most> sums{};
  const Index width = work_per_item * static_cast<double>(count) < kParallelWork ? count : (count + most - 1) / most;
  Sum total{};
  if (width < 1) return total;
  parallel_tiles(count, width, work_per_item, [&](Index first, Index items) {
    sums[static_cast<std::size_t>(first / width)] = piece(first, items);
  });
  for (Index t = 0; t < (count + width - 1) / width; ++t) total += sums[static_cast<std::size_t>(t)];
  return total;
}

}  // namespace detail

}  // namespace repel
