#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace repel {

/// How many points each step sees. They are reshuffled every epoch; leftover points that do not fill a last batch
/// are skipped in that epoch, so all batches have the same size and all points are equally likely to be used.
struct Minibatch {
  Index size = 0;          ///< 0: all points, in their order
  std::uint64_t seed = 0;  ///< for the shuffles, and for everything that a function-space model draws
};

namespace detail {

/// The points of a step: a function of the seed and the step alone, so that a run can continue from any step.
class BatchSchedule {
 public:
  BatchSchedule(Minibatch settings, Index points) : settings_(settings), points_(points) {
    if (settings_.size < 0 || settings_.size > points)
      fail("Minibatch", "size is ", settings_.size, ", but must be at most the number of points, ", points,
           ", or 0 for all of them");
    if (settings_.size == 0) settings_.size = points;
    order_.resize(static_cast<std::size_t>(points));
    std::iota(order_.begin(), order_.end(), Index{0});
  }

  Index size() const { return settings_.size; }
  Index points() const { return points_; }
  bool all() const { return settings_.size == points_; }

  /// The indices of the batch of a step, size() of them.
  const Index* at(Index step) {
    if (all()) return order_.data();
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
    return order_.data() + (step % per_epoch) * settings_.size;
  }

 private:
  Minibatch settings_;
  Index points_;
  Index epoch_ = -1;
  std::vector<Index> order_;
};

}  // namespace detail

}  // namespace repel
