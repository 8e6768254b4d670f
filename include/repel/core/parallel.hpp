#pragma once

#include <repel/core/types.hpp>

#include <algorithm>
#include <exception>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif

// The one file that knows threads. With OpenMP enabled by the user's compiler flags the loop is shared out,
// otherwise it runs serially. The pieces are cut by the caller from the size of the problem alone, never from the
// number of threads, and no two pieces write the same memory: the result has the same bits either way.

namespace repel::detail {

/// Work, in multiply-adds, below which starting threads costs more than it gains. It must not exceed 100 000: up to
/// there Eigen, too, keeps to one thread, and above it the region below makes it do so. Left to itself it would cut a
/// product by the number of threads, and the bits with it.
inline constexpr double kParallelWork = 100'000;

/// How many pieces can be in work at once, and the number of the slot that this piece runs in: for scratch memory that
/// a piece fills before it reads it. What a piece computes must not depend on its slot.
inline Index thread_slots() {
#ifdef _OPENMP
  return omp_in_parallel() ? 1 : static_cast<Index>(omp_get_max_threads());
#else
  return 1;
#endif
}

template <class Body>
void parallel_for(Index pieces, double work_per_piece, Body&& body) {
  const auto run = [&body](Index p, [[maybe_unused]] int slot) {
    if constexpr (requires { body(p, Index{0}); })
      body(p, static_cast<Index>(slot));
    else
      body(p);
  };
#ifdef _OPENMP
  // Within a parallel region, the user's or our own, the loop stays in its thread; so does Eigen.
  if (static_cast<double>(pieces) * work_per_piece >= kParallelWork && !omp_in_parallel()) {
    std::exception_ptr error;  // of the lowest piece that threw, as in a serial loop
    Index error_piece = pieces;
    std::mutex guard;
#pragma omp parallel for schedule(dynamic)
    for (Index p = 0; p < pieces; ++p) {
      try {
        run(p, omp_get_thread_num());
      } catch (...) {
        const std::lock_guard lock(guard);
        if (p < error_piece) {
          error_piece = p;
          error = std::current_exception();
        }
      }
    }
    if (error) std::rethrow_exception(error);
    return;
  }
#else
  (void)work_per_piece;
#endif
  for (Index p = 0; p < pieces; ++p) run(p, 0);
}

/// Columns handled in one piece of work.
inline constexpr Index kTile = 64;

/// Rows handled in one piece, where there are many rows and few columns.
inline constexpr Index kRowTile = 512;

/// Cuts columns 0…count into tiles of a fixed width and runs body(first, width) on each.
template <class Body>
void parallel_tiles(Index count, Index width, double work_per_column, Body&& body) {
  const Index tiles = (count + width - 1) / width;
  parallel_for(tiles, work_per_column * static_cast<double>(width), [&](Index t) {
    const Index first = t * width;
    body(first, std::min(width, count - first));
  });
}

/// Cuts a matrix into blocks of kRowTile×kTile and runs body(row, rows, column, columns) on each.
template <class Body>
void parallel_blocks(Index rows, Index columns, double work_per_entry, Body&& body) {
  const Index high = (rows + kRowTile - 1) / kRowTile, wide = (columns + kTile - 1) / kTile;
  parallel_for(high * wide, work_per_entry * static_cast<double>(std::min(rows, kRowTile) * std::min(columns, kTile)),
               [&](Index block) {
                 const Index row = block % high * kRowTile, column = block / high * kTile;
                 body(row, std::min(kRowTile, rows - row), column, std::min(kTile, columns - column));
               });
}

}  // namespace repel::detail
