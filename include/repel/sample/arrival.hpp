// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// Arrival: from a random start each particle climbs by itself to where the posterior's mass can be, by L-BFGS (Nocedal
// 1980) on the gradient alone, as in Pathfinder (Zhang et al. 2022): some 10 to 100 gradients bring it through scales and
// correlations that first-order steps would take many thousands for. It stops at the edge: when the Newton decrement
// sᵀ H s, which is about d for a draw of a normal posterior and 0 at the mode, falls below d/2. A density need not have a
// mode for that, only a place where it is flat on its own scale.

namespace repel::detail {

/// Evaluates a target on any number of particles, and counts.
template <class Target>
class CountedTarget {
 public:
  explicit CountedTarget(Target& target) : target_(target) {}

  void operator()(const Matrix<double>& x, Matrix<double>& s) {
    resize_unwritten(s, x.rows(), x.cols());
    target_(x, s);
    require_same_shape("sample", "the gradient written by the target", s, "the particles", x);
    count_ += x.cols();
  }
  void begin_step(Index step) {
    if constexpr (requires { target_.begin_step(step); }) target_.begin_step(step);
  }
  Index count() const { return count_; }

 private:
  Target& target_;
  Index count_ = 0;
};

/// One particle on its way: where it is, its history of (Δx, −Δs), and the point it tries next. A template, like all
/// that only sample() needs, so that programs without it need not compile it.
template <class Scalar>
class Climber {
 public:
  Climber(Vector<Scalar> x, Vector<Scalar> s) : x_(std::move(x)), s_(std::move(s)) { choose_direction(); }

  bool done() const { return done_; }
  bool arrived() const { return arrived_; }
  const Vector<Scalar>& place() const { return x_; }
  Vector<Scalar> trial() const { return x_ + length_ * direction_; }

  /// Takes the gradient at trial(). A step is accepted if the slope along it has fallen, but not turned by more than half.
  void take(const Vector<Scalar>& s) {
    constexpr int most_tries = 15, most_doublings = 3;
    const bool finite = s.allFinite();
    const double slope = finite ? s.dot(direction_) : -std::numeric_limits<double>::infinity();
    ++tries_;
    if (finite && slope > 0.9 * slope_ && tries_ < most_tries && !std::isfinite(above_) && tries_ <= most_doublings) {
      below_ = length_;
      length_ *= 4;
      return;
    }
    if (slope < -0.5 * slope_ && tries_ < most_tries) {
      above_ = length_;
      const double secant = finite ? length_ * slope_ / (slope_ - slope) : 0;
      length_ = below_ + std::clamp((secant - below_) / (above_ - below_), 0.05, 0.5) * (above_ - below_);
      return;
    }
    if (!finite) return void(done_ = true);
    const Vector<Scalar> step = length_ * direction_, change = s_ - s;
    if (step.dot(change) > 1e-10 * step.norm() * change.norm()) {
      if (steps_.size() == kMemory) {
        steps_.erase(steps_.begin());
        changes_.erase(changes_.begin());
      }
      steps_.push_back(step);
      changes_.push_back(change);
    }
    x_ += step;
    s_ = s;
    choose_direction();
  }

 private:
  static constexpr std::size_t kMemory = 10;

  /// H s by the two-loop recursion, H the estimate of the inverse of −∇² log p.
  void choose_direction() {
    Vector<Scalar> q = s_;
    std::vector<double> weights(steps_.size());
    for (std::size_t i = steps_.size(); i-- > 0;) {
      weights[i] = steps_[i].dot(q) / steps_[i].dot(changes_[i]);
      q -= weights[i] * changes_[i];
    }
    q *= steps_.empty() ? 1 / std::max(1.0, s_.norm())
                        : steps_.back().dot(changes_.back()) / changes_.back().squaredNorm();
    for (std::size_t i = 0; i < steps_.size(); ++i)
      q += steps_[i] * (weights[i] - changes_[i].dot(q) / steps_[i].dot(changes_[i]));
    slope_ = s_.dot(q);
    if (s_.isZero(0)) return void(arrived_ = done_ = true);  // at a mode, to the last digit
    if (!(slope_ > 0) || !q.allFinite()) {
      if (steps_.empty()) return void(done_ = true);
      steps_.clear();
      changes_.clear();
      return choose_direction();
    }
    const auto d = static_cast<std::size_t>(x_.size());
    if (steps_.size() >= std::min<std::size_t>(5, d) && slope_ <= 0.5 * static_cast<double>(d)) arrived_ = done_ = true;
    direction_ = std::move(q);
    length_ = 1;
    below_ = 0;
    above_ = std::numeric_limits<double>::infinity();
    tries_ = 0;
  }

  Vector<Scalar> x_, s_, direction_;
  std::vector<Vector<Scalar>> steps_, changes_;
  double slope_ = 0, length_ = 1, below_ = 0, above_ = 0;
  int tries_ = 0;
  bool done_ = false, arrived_ = false;
};

/// Lets all particles climb, at most `most` gradients each; returns how many arrived.
template <class Target>
Index arrive(CountedTarget<Target>& target, Matrix<double>& x, const Matrix<double>& s, Index most) {
  std::vector<Climber<double>> climbers;
  for (Index j = 0; j < x.cols(); ++j) climbers.emplace_back(x.col(j), s.col(j));
  std::vector<std::size_t> active;
  Matrix<double> trials, gradients;
  for (Index round = 0; round < most; ++round) {
    active.clear();
    for (std::size_t j = 0; j < climbers.size(); ++j)
      if (!climbers[j].done()) active.push_back(j);
    if (active.empty()) break;
    trials.resize(x.rows(), static_cast<Index>(active.size()));
    for (Index a = 0; a < trials.cols(); ++a) trials.col(a) = climbers[active[static_cast<std::size_t>(a)]].trial();
    target(trials, gradients);
    for (Index a = 0; a < trials.cols(); ++a) climbers[active[static_cast<std::size_t>(a)]].take(gradients.col(a));
  }
  Index arrived = 0;
  for (Index j = 0; j < x.cols(); ++j) {
    x.col(j) = climbers[static_cast<std::size_t>(j)].place();
    arrived += climbers[static_cast<std::size_t>(j)].arrived() ? 1 : 0;
  }
  return arrived;
}

}  // namespace repel::detail
