#pragma once

#include <repel/bnn/minibatch.hpp>
#include <repel/core/types.hpp>

namespace repel::detail {

/// The points of the current step, copied together.
template <class Posterior>
class BnnBatch {
 public:
  explicit BnnBatch(const Posterior& posterior) : schedule_(posterior.schedule()) { load(posterior, 0); }

  void load(const Posterior& posterior, Index step) {
    if (schedule_.all()) return;
    const Index* index = schedule_.at(step);
    inputs_.resize(posterior.inputs().rows(), schedule_.size());
    targets_.resize(posterior.targets().rows(), schedule_.size());
    for (Index i = 0; i < schedule_.size(); ++i) {
      inputs_.col(i) = posterior.inputs().col(index[i]);
      targets_.col(i) = posterior.targets().col(index[i]);
    }
  }

  const auto& inputs(const Posterior& posterior) const { return schedule_.all() ? posterior.inputs() : inputs_; }
  const auto& targets(const Posterior& posterior) const { return schedule_.all() ? posterior.targets() : targets_; }
  Index size() const { return schedule_.size(); }
  bool all() const { return schedule_.all(); }

  /// N / B, which rescales the batch likelihood to the full data.
  double scale() const { return static_cast<double>(schedule_.points()) / static_cast<double>(schedule_.size()); }

 private:
  BatchSchedule schedule_;
  Matrix<typename Posterior::Scalar> inputs_;
  typename Posterior::Targets targets_;
};

}  // namespace repel::detail
