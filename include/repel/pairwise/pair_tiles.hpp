// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/function_ref.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>

// All pairs of n points, each once: the lower triangle of an n×n matrix, cut into square tiles and these into tasks.
//
// A pair (i, j) acts on both i and j, so tiles that run at the same time would write the same sums. Each task therefore
// sums up on its own, and the tasks' sums are added in order. How many tasks there are follows from n alone: the bits
// are the same for any number of threads.

namespace repel::detail {

inline constexpr Index kLargestTile = 256;

class PairTiles {
 public:
  PairTiles() = default;

  /// `work` in multiply-adds per pair; at most `most_tasks` tasks.
  PairTiles(Index count, double work, Index most_tasks = 32) : count_(count), work_(work) {
    width_ = count <= 1024 ? 128 : kLargestTile;
    tiles_ = (count + width_ - 1) / width_;
    tile_pairs_ = tiles_ * (tiles_ + 1) / 2;
    const double total = work * static_cast<double>(count) * static_cast<double>(count) / 2;
    // Enough work in each to be worth a thread.
    tasks_ = std::clamp<Index>(static_cast<Index>(total / 200'000), 1, std::min(most_tasks, tile_pairs_));
  }

  Index tasks() const { return tasks_; }
  Index width() const { return width_; }
  /// Of all pairs, in multiply-adds.
  double work() const { return work_ * static_cast<double>(count_) * static_cast<double>(count_) / 2; }

  /// Calls body(task, first_row, rows, first_column, columns) for all tiles; on the diagonal first_row == first_column.
  using Body = FunctionRef<void(Index task, Index first_row, Index rows, Index first_column, Index columns)>;
  void for_each(Body body) const { for_some(0, tasks_, body); }

  /// The same for tasks begin … end.
  void for_some(Index begin, Index end, Body body) const {
    const double pairs = static_cast<double>(count_) * static_cast<double>(count_) / 2;
    parallel_for(end - begin, work_ * pairs / static_cast<double>(tasks_), [&](Index piece) {
      const Index task = begin + piece;
      for (Index p = task * tile_pairs_ / tasks_; p < (task + 1) * tile_pairs_ / tasks_; ++p) {
        const auto [row, column] = tile(p);
        const Index i = row * width_, j = column * width_;
        body(task, i, std::min(width_, count_ - i), j, std::min(width_, count_ - j));
      }
    });
  }

 private:
  /// Tile pair p, counted row by row: (0, 0), (1, 0), (1, 1), (2, 0) …
  static std::pair<Index, Index> tile(Index p) {
    Index row = static_cast<Index>((std::sqrt(8.0 * static_cast<double>(p) + 1) - 1) / 2);
    while (row * (row + 1) / 2 > p) --row;
    while ((row + 1) * (row + 2) / 2 <= p) ++row;
    return {row, p - row * (row + 1) / 2};
  }

  Index count_ = 0, width_ = 1, tiles_ = 0, tile_pairs_ = 0, tasks_ = 0;
  double work_ = 0;
};

}  // namespace repel::detail
