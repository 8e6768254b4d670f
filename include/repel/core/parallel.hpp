#pragma once

#include <repel/core/types.hpp>

#include <algorithm>
#include <exception>
#include <mutex>

// The one file that knows threads. With OpenMP enabled by the user's compiler flags the loop is shared out,
// otherwise it runs serially. The pieces are cut by the caller from the size of the problem alone, never from the
// number of threads, and no two pieces write the same memory: the result has the same bits either way.

namespace repel::detail {

/// Work, in rough multiply-adds, below which starting threads costs more than it gains.
inline constexpr double kParallelWork = 200'000;

template <class Body>
void parallel_for(Index pieces, double work_per_piece, Body&& body) {
#ifdef _OPENMP
  if (pieces > 1 && static_cast<double>(pieces) * work_per_piece >= kParallelWork) {
    std::exception_ptr error;  // of the lowest piece that threw, as in a serial loop
    Index error_piece = pieces;
    std::mutex guard;
#pragma omp parallel for schedule(dynamic)
    for (Index p = 0; p < pieces; ++p) {
      try {
        body(p);
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
  for (Index p = 0; p < pieces; ++p) body(p);
}

/// Cuts columns 0…count into tiles of a fixed width and runs body(first, width) on each.
template <class Body>
void parallel_tiles(Index count, Index width, double work_per_column, Body&& body) {
  const Index tiles = (count + width - 1) / width;
  parallel_for(tiles, work_per_column * static_cast<double>(width), [&](Index t) {
    const Index first = t * width;
    body(first, std::min(width, count - first));
  });
}

}  // namespace repel::detail
