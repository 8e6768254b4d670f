// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/scratch.hpp>
#include <repel/core/team.hpp>
#include <repel/kernel/bandwidth.hpp>
#include <repel/pairwise/pair_matrix.hpp>
#include <repel/pairwise/streaming_median.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>
#include <vector>

namespace repel::detail {

/// From a bandwidth rule and the points to h. In low dimension distances are streamed and not kept: computing them
/// costs less than storing them. In high dimension they stay in the PairMatrix, where K is made from them; beyond
/// kHeldCount points they are formed in strips.
template <class Metric, class Scalar>
class BandwidthSearch {
 public:
  /// x: the points as they were given, for rules that want to see them.
  template <class Rule>
  double bandwidth(const Rule& rule, const In<Scalar>& x, const PackedPoints<Scalar>& points,
                   PairMatrix<Metric, Scalar>& matrix) {
    const double h = scaled(rule, 1, x, points, matrix);
    if (!(h > 0) || !(static_cast<Scalar>(1 / h) > 0) || !std::isfinite(static_cast<Scalar>(1 / h)))
      fail("bandwidth", "the rule returned ", h, ", but h must be positive and 1/h within the range of ",
           8 * sizeof(Scalar), "-bit numbers");
    return h;
  }

 private:
  using Consume = typename StreamingMedian<Scalar>::Consume;
  using Matrices = PairMatrix<Metric, Scalar>;

  /// factor times what the rule gives.
  template <class Rule>
  double scaled(const Rule& rule, double factor, const In<Scalar>& x, const PackedPoints<Scalar>& points,
                Matrices& matrix) {
    if constexpr (ScalingRule<Rule>) {
      return scaled(rule.inner, factor * rule.current_factor(), x, points, matrix);
    } else if constexpr (ConstantRule<Rule>) {
      return factor * rule.template value<Scalar>();
    } else if constexpr (MedianRule<Rule> && requires { rule.sample_size(); }) {
      const Index m = std::min(rule.sample_size(), points.count);
      sample_.take(points, m, [&](Index k) { return k * points.count / m; });
      const double h = median(sample_, matrix, Rule::counts_zeros, rule.divisor(points.count) / factor);
      matrix.clear();  // it has the distances of the sample
      return h;
    } else if constexpr (MedianRule<Rule>) {
      return median(points, matrix, Rule::counts_zeros, rule.divisor(points.count) / factor);
    } else if constexpr (PointRule<Rule>) {
      static_assert(std::same_as<Metric, SquaredEuclidean>,
                    "repel: a bandwidth rule that sees the points chooses an h for squared Euclidean distances, so its "
                    "kernel must have the metric SquaredEuclidean");
      return factor * rule(x, rule_workspace_.template get<typename Rule::template Workspace<Scalar>>());
    } else {
      return factor * rule(matrix.distances_among(points), scratch_);
    }
  }

  double median(const PackedPoints<Scalar>& points, Matrices& matrix, bool counts_zeros, double divisor) {
    const MedianPositions at = median_positions(points.count, counts_zeros);
    const auto count = static_cast<std::size_t>(points.count);
    double middle = 0;
    if (!at.none) {
      if (!points.low_dimensional() && points.count <= kHeldCount) matrix.distances_among(points);
      Team* const team = matrix.holds_distances() ? nullptr : team_for(work(points));
      middle = median_.middle(
          count * (count - 1) / 2, at.low, at.high, tiles(points).tasks(),
          [&](Consume consume) { for_each_run(points, matrix, team, consume); },
          [&](std::size_t k) { return some_distance(points, k); }, team);
      if (at.zero) middle *= 0.5;
    }
    return with_floor<Scalar>(middle, divisor, [&] { return mean(points, matrix); });
  }

  double mean(const PackedPoints<Scalar>& points, Matrices& matrix) {
    if (points.count < 2) return 0;
    std::vector<double> sums(static_cast<std::size_t>(tiles(points).tasks()), 0.0);  // rare: it may allocate
    for_each_run(points, matrix, nullptr, [&](Index task, const Scalar* values, Index how_many) {
      double sum = 0;
      for (Index i = 0; i < how_many; ++i)
        if (values[i] <= std::numeric_limits<Scalar>::max()) sum += static_cast<double>(values[i]);
      sums[static_cast<std::size_t>(task)] += sum;
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    return total / (0.5 * static_cast<double>(points.count) * static_cast<double>(points.count - 1));
  }

  static PairTiles tiles(const PackedPoints<Scalar>& points) {
    return PairTiles(points.count, points.low_dimensional() ? static_cast<double>(4 + 2 * points.dim) : 4);
  }

  static double work(const PackedPoints<Scalar>& points) {
    return points.low_dimensional()
               ? tiles(points).work()
               : static_cast<double>(points.count) * static_cast<double>(points.count * points.dim);
  }

  /// consume(task, values, count) for all distances of distinct pairs, in runs; with a team, for some of them, such that
  /// each belongs to one process.
  void for_each_run(const PackedPoints<Scalar>& points, Matrices& matrix, Team* team, Consume consume) {
    const auto share = [&](Index count) {
      return team == nullptr ? std::pair<Index, Index>{0, count}
                             : std::pair{team->first(count, team->rank()), team->first(count, team->rank() + 1)};
    };
    if (matrix.holds_distances()) {
      const Matrix<Scalar>& held = matrix.distances_among(points);
      tiles(points).for_each([&](Index task, Index i, Index rows, Index first, Index columns) {
        for (Index j = first; j < first + columns; ++j)
          if (const Index top = std::max(i, j + 1); top < i + rows) consume(task, &held(top, j), i + rows - top);
      });
    } else if (!points.low_dimensional()) {
      const auto [begin, end] = share((points.count + kStrip - 1) / kStrip);
      for (Index first = begin * kStrip; first < std::min(points.count, end * kStrip); first += kStrip) {
        const Index width = std::min(kStrip, points.count - first), tasks = tiles(points).tasks();
        const Matrix<Scalar>& strip = matrix.strip_distances(points, first, width);
        parallel_for(std::min(tasks, width), static_cast<double>(points.count * kStrip / tasks), [&](Index task) {
          for (Index j = task; j < width; j += tasks)
            if (const Index top = first + j + 1; top < points.count) consume(task, &strip(top, j), points.count - top);
        });
      }
    } else {
      const auto [begin, end] = share(tiles(points).tasks());
      stream(points, begin, end, consume);
    }
  }

  /// In low dimension. A run spans several columns, since each run has a set-up cost.
  void stream(const PackedPoints<Scalar>& points, Index begin_task, Index end_task, Consume consume) {
    tiles(points).for_some(begin_task, end_task, [&](Index task, Index i, Index rows, Index first, Index columns) {
      constexpr Index W = kChunk<Scalar>, length = 4 * kLargestTile;
      constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
      alignas(64) Scalar run[length];
      Index filled = 0;
      for (Index j = first; j < first + columns; ++j) {
        const Index begin = std::max(i, (j + 1) / W * W), end = i + rows, padded = whole(end, W);
        if (begin >= end) break;
        Scalar* const out = run + filled;
        if (points.dim == 2)
          distance_run<2, Metric>(points, points, j, begin, padded, out);
        else
          distance_run<Eigen::Dynamic, Metric>(points, points, j, begin, padded, out);
        for (Index k = 0; k <= j - begin; ++k) out[k] = infinity;
        for (Index k = end - begin; k < padded - begin; ++k) out[k] = infinity;
        filled += padded - begin;
        if (filled > length - kLargestTile) consume(task, run, std::exchange(filled, 0));
      }
      if (filled > 0) consume(task, run, filled);
    });
  }

  /// The distance of the k-th pair of a sample spread over all pairs.
  static Scalar some_distance(const PackedPoints<Scalar>& points, std::size_t k) {
    const auto n = static_cast<std::size_t>(points.count);
    const auto i = static_cast<Index>((k * 0x9E3779B97F4A7C15u >> 20) % n);
    const auto j =
        static_cast<Index>((static_cast<std::size_t>(i) + 1 + (k * 0xD1B54A32D192ED03u >> 20) % (n - 1)) % n);
    Scalar sum = 0;
    using One = Eigen::Array<Scalar, 1, 1>;
    for (Index c = 0; c < points.dim; ++c) {
      const One difference(points.low_dimensional() ? points.coordinates(i, c) - points.coordinates(j, c)
                                                    : points.columns(c, i) - points.columns(c, j));
      sum += One(Metric::term(difference))(0);
    }
    return sum;
  }

  PackedPoints<Scalar> sample_;
  StreamingMedian<Scalar> median_;
  std::vector<Scalar> scratch_;
  Scratch rule_workspace_;
};

}  // namespace repel::detail
