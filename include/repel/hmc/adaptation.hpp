#pragma once

#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

// What HMC learns in warm-up: the step size of every chain, and the variances of the coordinates for the mass matrix.

namespace repel::detail {

/// Nesterov's dual averaging of the log step size (Hoffman & Gelman 2014, their constants).
struct DualAveraging {
  double centre = 0, error = 0, average = 0, count = 0;

  void restart(double step_size) { *this = {std::log(10 * step_size), 0, 0, 0}; }
  /// Takes the acceptance of an iteration and returns the step size of the next.
  double update(double acceptance, double wanted) {
    constexpr double gamma = 0.05, delay = 10, kappa = 0.75;
    ++count;
    error += (wanted - acceptance - error) / (count + delay);
    const double log_size = centre - std::sqrt(count) / gamma * error;
    average += std::pow(count, -kappa) * (log_size - average);
    return std::exp(log_size);
  }
  double result() const { return std::exp(average); }
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
