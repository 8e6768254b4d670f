// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

// What chains learn in warm-up: the step size of each, and the variances of the coordinates for the mass matrix.

namespace repel::detail {

/// Nesterov's dual averaging of the log step size of every chain (Hoffman & Gelman 2014, their constants).
class DualAveraging {
 public:
  void restart(const Vector<double>& step_size) {
    centre_.resize(step_size.size());
    for (Index c = 0; c < centre_.size(); ++c) centre_(c) = std::log(10 * step_size(c));
    error_.setZero(centre_.size());
    average_.setZero(centre_.size());
    count_ = 0;
  }

  /// Takes the acceptances of an iteration and gives the step sizes of the next.
  void update(const Vector<double>& acceptance, double wanted, Vector<double>& step_size) {
    constexpr double gamma = 0.05, delay = 10, kappa = 0.75;
    const auto count = static_cast<double>(++count_);
    for (Index c = 0; c < centre_.size(); ++c) {
      error_(c) += (wanted - acceptance(c) - error_(c)) / (count + delay);
      const double log_size = centre_(c) - std::sqrt(count) / gamma * error_(c);
      average_(c) += std::pow(count, -kappa) * (log_size - average_(c));
      step_size(c) = std::exp(log_size);
    }
  }

  /// The step sizes to stay with.
  void result(Vector<double>& step_size) const {
    for (Index c = 0; c < average_.size(); ++c) step_size(c) = std::exp(average_(c));
  }

  auto fields() { return std::tie(centre_, error_, average_, count_); }
  auto fields() const { return std::tie(centre_, error_, average_, count_); }

 private:
  Vector<double> centre_, error_, average_;
  Index count_ = 0;
};

/// Running mean and sum of squares of every coordinate of every chain (Welford).
template <class P>
class RunningMoments {
 public:
  void reset(const P& like) {
    count_ = 0;
    mean_ = squares_ = difference_ = P::Zero(like.rows(), like.cols());
  }

  void add(const P& particles) {
    ++count_;
    difference_ = particles - mean_;
    mean_ += difference_ / static_cast<typename P::Scalar>(count_);
    squares_.array() += difference_.array() * (particles - mean_).array();
  }

  /// The variance of every coordinate within chains, shrunk slightly towards a small value, as in Stan.
  Vector<double> variances() const {
    const auto count = static_cast<double>(count_), chains = static_cast<double>(squares_.cols());
    const Vector<double> within = squares_.template cast<double>().rowwise().sum() / ((count - 1) * chains);
    const double weight = count * chains / (count * chains + 5);
    return (weight * within.array() + (1 - weight) * 1e-3).matrix();
  }

  auto fields() { return std::tie(count_, mean_, squares_); }
  auto fields() const { return std::tie(count_, mean_, squares_); }

 private:
  Index count_ = 0;  ///< per chain
  P mean_, squares_, difference_;
};

/// Stan's schedule of warm-up: first the step size alone, then windows that double in width, each ending with a new
/// mass matrix, then the step size again.
class WarmupWindows {
 public:
  explicit WarmupWindows(Index warmup) : start_(warmup * 15 / 100) {
    const Index last = warmup - warmup / 10;
    if (warmup < 20) return;  // too short for any
    Index at = start_;
    for (Index width = 25; at < last; width *= 2) {
      at += width;
      if (at + 2 * width > last) at = last;  // the next window would not fit: extend this one
      ends_.push_back(at);
    }
  }

  /// Whether the draw after this many iterations belongs to a window, and whether it is the last of one.
  bool contains(Index step) const { return !ends_.empty() && step > start_ && step <= ends_.back(); }
  bool ends_at(Index step) const { return std::find(ends_.begin(), ends_.end(), step) != ends_.end(); }

 private:
  Index start_;
  std::vector<Index> ends_;
};

}  // namespace repel::detail
