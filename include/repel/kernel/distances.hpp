#pragma once

#include <repel/kernel/bandwidth.hpp>
#include <repel/kernel/metric.hpp>
#include <repel/kernel/selection.hpp>
#include <repel/kernel/sweep.hpp>

#include <cmath>
#include <concepts>
#include <limits>
#include <utility>
#include <vector>

// The distances of all pairs of one set of points, and the bandwidth that a rule makes of them.
//
// In few dimensions a distance costs less than the memory to keep it, so they are formed again wherever they are
// needed. In many they are kept as a matrix, while that is not too large; beyond, they are formed by strips of some
// columns.

namespace repel::detail {

/// In many dimensions n×n matrices are held up to this many points.
inline constexpr Index kHeldCount = 4096;

/// Columns in a strip of a matrix that is not held.
inline constexpr Index kStrip = 96;

template <class Metric, class Scalar>
class Distances {
 public:
  template <class Rule>
  double bandwidth(const Rule& rule, const Points<Scalar>& points) {
    held_ = false;
    double h = 0;
    if constexpr (ConstantRule<Rule>) {
      h = rule.template value<Scalar>();
    } else if constexpr (std::same_as<Rule, SampledMedianBandwidth>) {
      const Index m = std::min(rule.particles, points.count);
      sample_.take(points, m, [&](Index k) { return k * points.count / m; });
      h = median(rule, sample_, points.count);
      held_ = false;  // only of the sample
    } else if constexpr (MedianRule<Rule>) {
      h = median(rule, points, points.count);
    } else {
      h = rule(hold(points), scratch_);
    }
    if (!(h > 0) || !(static_cast<Scalar>(1 / h) > 0) || !std::isfinite(static_cast<Scalar>(1 / h)))
      fail("bandwidth", "the rule returned ", h, ", but h must be positive and 1/h within the range of ",
           8 * sizeof(Scalar), "-bit numbers");
    return h;
  }

  /// The matrix of distances, its lower half, moved to the caller, who may give the memory back by recycle().
  void hold_into(const Points<Scalar>& points, Matrix<Scalar>& out) {
    hold(points);
    out.swap(matrix_);
    held_ = false;
  }
  void recycle(Matrix<Scalar>& memory) { matrix_.swap(memory); }

  /// Strip by strip, all distances to some of the points: body(first, strip, distances), where strip are the points
  /// first, first + 1 … and distances is n×|strip|, for the caller to use up.
  template <class Body>
  void for_each_strip(const Points<Scalar>& points, const Body& body) {
    for (Index first = 0; first < points.count; first += kStrip) {
      strip_.take(points, std::min(kStrip, points.count - first), [&](Index k) { return first + k; });
      distances<Metric>(points, strip_, parts_, strip_distances_);
      body(first, strip_, strip_distances_);
    }
  }

 private:
  const Matrix<Scalar>& hold(const Points<Scalar>& points) {
    if (!held_) distances<Metric>(points, points, parts_, matrix_);
    held_ = true;
    return matrix_;
  }

  template <class Rule>
  double median(const Rule& rule, const Points<Scalar>& points, Index divisor_count) {
    const MedianPositions at = median_positions(points.count, Rule::counts_zeros);
    const auto count = static_cast<std::size_t>(points.count);
    const std::size_t pairs = count * (count - 1) / 2;
    const auto pass = [&](const auto& consume) { for_each_run(points, consume); };
    double middle = 0;
    if (!at.none) {
      if (!points.few() && points.count <= kHeldCount) hold(points);
      middle = selection_.middle(pairs, at.low, at.high, triangle(points).tasks(), pass,
                                 [&](std::size_t k) { return some_distance(points, k); });
      if (at.zero) middle *= 0.5;
    }
    return with_floor<Scalar>(middle, rule.divisor(divisor_count), [&] { return mean(points); });
  }

  double mean(const Points<Scalar>& points) {
    if (points.count < 2) return 0;
    std::vector<double> sums(static_cast<std::size_t>(triangle(points).tasks()), 0.0);  // rare: it may allocate
    for_each_run(points, [&](Index task, const Scalar* values, Index how_many) {
      double sum = 0;
      for (Index i = 0; i < how_many; ++i)
        if (values[i] <= std::numeric_limits<Scalar>::max()) sum += static_cast<double>(values[i]);
      sums[static_cast<std::size_t>(task)] += sum;
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    return total / (0.5 * static_cast<double>(points.count) * static_cast<double>(points.count - 1));
  }

  static Triangle triangle(const Points<Scalar>& points) {
    return Triangle(points.count, points.few() ? static_cast<double>(4 + 2 * points.dim) : 4);
  }

  /// consume(task, values, count) for all distances of distinct pairs, in runs.
  template <class Consume>
  void for_each_run(const Points<Scalar>& points, const Consume& consume) {
    if (!points.few() && !held_) {
      for_each_strip(points, [&](Index first, const Points<Scalar>& strip, Matrix<Scalar>& strip_distances) {
        const Index tasks = triangle(points).tasks();
        parallel_for(std::min(tasks, strip.count), static_cast<double>(points.count * kStrip / tasks), [&](Index task) {
          for (Index j = task; j < strip.count; j += tasks)
            consume(task, &strip_distances(0, j) + first + j + 1, points.count - first - j - 1);
        });
      });
      return;
    }
    triangle(points).for_each_tile([&](Index task, Index i, Index rows, Index first, Index columns) {
      if (held_) {
        for (Index j = first; j < first + columns; ++j)
          if (const Index top = std::max(i, j + 1); top < i + rows) consume(task, &matrix_(top, j), i + rows - top);
        return;
      }
      // Several columns make a run: at each there is something to set up.
      constexpr Index W = kChunk<Scalar>, room = 4 * kLargestTile;
      constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
      alignas(64) Scalar run[room];
      Index filled = 0;
      for (Index j = first; j < first + columns; ++j) {
        const Index begin = std::max(i, (j + 1) / W * W), end = i + rows, padded = whole(end, W);
        if (begin >= end) break;
        Scalar* const out = run + filled;
        if (points.dim == 2)
          distance_run<2, Metric>(points, j, begin, padded, out);
        else
          distance_run<Eigen::Dynamic, Metric>(points, j, begin, padded, out);
        for (Index k = 0; k <= j - begin; ++k) out[k] = infinity;
        for (Index k = end - begin; k < padded - begin; ++k) out[k] = infinity;
        filled += padded - begin;
        if (filled > room - kLargestTile) consume(task, run, std::exchange(filled, 0));
      }
      if (filled > 0) consume(task, run, filled);
    });
  }

  /// Distances of pairs that are spread over all of them.
  Scalar some_distance(const Points<Scalar>& points, std::size_t k) const {
    const auto n = static_cast<std::size_t>(points.count);
    const auto i = static_cast<Index>((k * 0x9E3779B97F4A7C15u >> 20) % n);
    const auto j =
        static_cast<Index>((static_cast<std::size_t>(i) + 1 + (k * 0xD1B54A32D192ED03u >> 20) % (n - 1)) % n);
    if (held_) return matrix_(std::max(i, j), std::min(i, j));
    if (points.few()) return Metric::term((points.coordinates.row(i) - points.coordinates.row(j)).array()).sum();
    return Metric::term((points.columns.col(i) - points.columns.col(j)).array()).sum();
  }

  bool held_ = false;
  Matrix<Scalar> matrix_, strip_distances_, parts_;
  Points<Scalar> strip_, sample_;
  Selection<Scalar> selection_;
  std::vector<Scalar> scratch_;
};

}  // namespace repel::detail
