// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace repel {

/// How many points each step sees. They are reshuffled every epoch; leftover points that do not fill a last batch
/// are skipped in that epoch, so all batches have the same size and all points are equally likely to be used.
struct Minibatch {
  Index size = 0;          ///< 0: all points, in their order
  std::uint64_t seed = 0;  ///< for the shuffles, and for everything that a function-space model draws
  /// Whether each particle has a batch of its own. One batch for all moves all particles together, so that the noise
  /// of the batches does not average out over the ensemble (docs/networks.md has figures); a batch each takes longer to
  /// copy. For weight space: functions are compared at points that all particles share.
  bool per_particle = false;
};

/// The points of each step, for targets of one's own:
///
///   struct Target {
///     repel::BatchIndices batches{repel::Minibatch{.size = 32, .seed = 1}, /*points=*/1000};
///     std::vector<repel::Index> batch{};
///     void begin_step(repel::Index step) {
///       const auto now = batches.at(step);
///       batch.assign(now.begin(), now.end());                       // a copy, so that the target itself may be copied
///     }
///     …                                                              // multiply the sum over `batch` by batches.scale()
///
/// They are a function of the seed and the step alone, so that a run can continue from any step.
class BatchIndices {
 public:
  /// Batches of indices below `points`.
  BatchIndices(Minibatch settings, Index points) : settings_(settings), points_(points) {
    if (points < 1) detail::fail("BatchIndices", "points is ", points, ", but must be at least 1");
    if (settings_.size < 0 || settings_.size > points)
      detail::fail("Minibatch", "size is ", settings_.size, ", but must be at most the number of points, ", points,
                   ", or 0 for all of them");
    if (settings_.size == 0) settings_.size = points;
    order_.resize(static_cast<std::size_t>(points));
    std::iota(order_.begin(), order_.end(), Index{0});
  }

  /// Points in a batch.
  Index size() const { return settings_.size; }
  /// Points in all.
  Index points() const { return points_; }
  /// Whether a batch is all of them.
  bool all() const { return settings_.size == points_; }

  /// N / B, which rescales a sum over the batch to the full data.
  double scale() const { return static_cast<double>(points_) / static_cast<double>(settings_.size); }

  /// The indices of the batch of a step, size() of them, until the next call.
  std::span<const Index> at(Index step) {
    const auto count = static_cast<std::size_t>(settings_.size);
    if (step < 0) detail::fail("BatchIndices", "step is ", step, ", but must be at least 0");
    if (all()) return {order_.data(), count};
    const Index per_epoch = points_ / settings_.size, epoch = step / per_epoch;
    if (epoch != epoch_) {
      std::iota(order_.begin(), order_.end(), Index{0});
      Random random(stream_seed(settings_.seed, static_cast<std::uint64_t>(epoch)));
      for (Index i = points_ - 1; i > 0; --i) {  // Fisher–Yates
        const auto other = static_cast<Index>(random.uniform() * static_cast<double>(i + 1));
        std::swap(order_[static_cast<std::size_t>(i)], order_[static_cast<std::size_t>(other)]);
      }
      epoch_ = epoch;
    }
    return {order_.data() + (step % per_epoch) * settings_.size, count};
  }

 private:
  Minibatch settings_;
  Index points_;
  Index epoch_ = -1;
  std::vector<Index> order_;
};

}  // namespace repel
