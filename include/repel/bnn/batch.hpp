// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/minibatch.hpp>
#include <repel/core/share.hpp>
#include <repel/core/types.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace repel {

/// Changes a point before a step sees it, in place: flips a picture, adds noise. A function of a seed, which is another one
/// for every step and point, and of the point alone, so that a run continues from any step with the same bits. It may be
/// called from several threads at once.
template <class Scalar>
using Augmentation = std::function<void(std::uint64_t seed, Eigen::Ref<Vector<Scalar>> point)>;

}  // namespace repel

namespace repel::detail {

/// The points of the current step, copied together: one batch for all particles, or one for each.
template <class Posterior>
class BnnBatch {
  using Scalar = typename Posterior::Scalar;
  using Targets = typename Posterior::Targets;

 public:
  explicit BnnBatch(const Posterior& posterior)
      : settings_(posterior.minibatch()), indices_(settings_, posterior.inputs().cols()) {
    if (!per_particle()) load(posterior, 0);
  }

  void load(const Posterior& posterior, Index step) {
    step_ = step;
    if (untouched(posterior) || per_particle()) return;
    copy(posterior, indices_.at(step), settings_.seed, inputs_, targets_);
  }

  const auto& inputs(const Posterior& posterior) const { return untouched(posterior) ? posterior.inputs() : inputs_; }
  const auto& targets(const Posterior& posterior) const {
    return untouched(posterior) ? posterior.targets() : targets_;
  }
  Index size() const { return indices_.size(); }
  bool all() const { return indices_.all(); }
  double scale() const { return indices_.scale(); }

  bool per_particle() const { return settings_.per_particle && !all(); }

  /// Which particle the first one is.
  void take_share(const Share& share) {
    if (share.first != first_) own_.clear();
    first_ = share.first;
  }
  Index first_particle() const { return first_; }

  /// Before the particles of a step ask for their own: shuffles as many orders as there are particles.
  void prepare(Index particles) {
    while (static_cast<Index>(own_.size()) < particles) {
      Minibatch mine = settings_;
      mine.seed = seed_of(own_.size());
      own_.emplace_back(mine, indices_.points());
    }
    targets_of_.resize(own_.size());
  }
  /// The points of one particle, written to x.
  const Matrix<Scalar>& load_own(const Posterior& posterior, Index particle, Matrix<Scalar>& x) {
    const auto j = static_cast<std::size_t>(particle);
    copy(posterior, own_[j].at(step_), seed_of(j), x, targets_of_[j]);
    return x;
  }
  const Targets& own_targets(Index particle) const { return targets_of_[static_cast<std::size_t>(particle)]; }

 private:
  std::uint64_t seed_of(std::size_t j) const {
    return stream_seed(settings_.seed, static_cast<std::uint64_t>(first_) + j, 3);
  }

  /// Whether a step sees the data as they are, which saves the copy.
  bool untouched(const Posterior& posterior) const { return all() && !posterior.augmentation(); }

  void copy(const Posterior& posterior, std::span<const Index> index, std::uint64_t seed, Matrix<Scalar>& x,
            Targets& y) const {
    const auto count = static_cast<Index>(index.size());
    x.resize(posterior.inputs().rows(), count);
    y.resize(posterior.targets().rows(), count);
    for (Index i = 0; i < count; ++i) {
      x.col(i) = posterior.inputs().col(index[static_cast<std::size_t>(i)]);
      y.col(i) = posterior.targets().col(index[static_cast<std::size_t>(i)]);
    }
    const auto& augment = posterior.augmentation();
    if (!augment) return;
    const std::uint64_t of_step = stream_seed(seed, static_cast<std::uint64_t>(step_), 4);
    for (Index i = 0; i < count; ++i)
      augment(stream_seed(of_step, static_cast<std::uint64_t>(index[static_cast<std::size_t>(i)])), x.col(i));
  }

  Minibatch settings_;
  BatchIndices indices_;
  Index step_ = 0, first_ = 0;
  Matrix<Scalar> inputs_;
  Targets targets_;
  std::vector<BatchIndices> own_;
  std::vector<Targets> targets_of_;
};

}  // namespace repel::detail
