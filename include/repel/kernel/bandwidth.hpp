// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/begin_step.hpp>
#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <cmath>
#include <concepts>
#include <limits>
#include <vector>

// Bandwidth rules: from the pairwise distances of the particles to the h of k(x, y) = φ(distance / h).
//
// The distances are the kernel's own: squared Euclidean for radial kernels, L1 for Laplace. The bundled rules need no
// more than a median, which is found exactly without storing the distances (pairwise/streaming_median.hpp). A rule of
// your own is a value with
//
//   template <class Scalar>
//   double operator()(const repel::Matrix<Scalar>& distances, std::vector<Scalar>& scratch) const;
//
// that reads the strictly lower triangle of the n×n matrix `distances` (the diagonal is 0) and may use `scratch` so
// as not to allocate at every step. Pass it to any kernel: Rbf{MyRule{}}.
//
// A rule that needs the points themselves has a nested `template <class Scalar> struct Workspace`, which is kept, and
//
//   double operator()(const auto& points, auto& workspace) const;                       // points: d×n
//
// A factor on any rule is a rule, too: Rbf{Scaled{MedianBandwidth{}, 0.5}}.
//
// The floor: if a rule gives 0 (half of the distances are 0, or n = 1), the mean distance of the distinct pairs
// replaces the median; if that is also 0 (all particles coincide), h = 1. So h is always positive, follows the
// scale of the particles, and coincident particles get a finite direction.

namespace repel {

/// The default: the median of all n² distances, including the n zeros, divided by log(n + 1).
struct MedianBandwidth {
  static constexpr bool counts_zeros = true;
  static double divisor(Index n) { return std::log(static_cast<double>(n) + 1); }
};

/// The same median divided by log n, as in Liu & Wang (2016).
struct MedianLogNBandwidth {
  static constexpr bool counts_zeros = true;
  static double divisor(Index n) { return std::log(static_cast<double>(n)); }
};

/// The median over the distinct pairs only, divided by log n.
struct PairMedianBandwidth {
  static constexpr bool counts_zeros = false;
  static double divisor(Index n) { return std::log(static_cast<double>(n)); }
};

/// The default rule on a sample: the median of all distances among `particles` evenly spaced ones, divided by
/// log(n + 1) for the full n. Saves a pass over all pairs if n is very large; its relative error is some 1/√particles.
struct SampledMedianBandwidth {
  Index particles = 1000;  ///< the largest number of particles used

  static constexpr bool counts_zeros = true;
  static double divisor(Index n) { return MedianBandwidth::divisor(n); }
  /// The size of the subset.
  Index sample_size() const { return particles; }
  void validate() const {
    if (particles < 2) detail::fail("SampledMedianBandwidth", "particles is ", particles, ", but must be at least 2");
  }
};

/// A constant h > 0.
struct FixedBandwidth {
  double h;  ///< the bandwidth

  void validate() const { detail::require_positive("FixedBandwidth", "h", h); }

  template <class Scalar>
  double value() const {
    if (!(h >= std::numeric_limits<Scalar>::min() && h <= std::numeric_limits<Scalar>::max()))
      detail::fail("FixedBandwidth", "h is ", h, ", but must be within the normal range of ", 8 * sizeof(Scalar),
                   "-bit numbers");
    return h;
  }
};

/// A rule that is a median of the distances over a divisor.
template <class Rule>
concept MedianRule = requires(const Rule& rule) {
  { Rule::counts_zeros } -> std::convertible_to<bool>;
  { rule.divisor(Index{2}) } -> std::convertible_to<double>;
};

/// A rule that needs no distances.
template <class Rule>
concept ConstantRule = requires(const Rule& rule) {
  { rule.template value<double>() } -> std::convertible_to<double>;
};

/// A rule that wants to see all distances.
template <class Rule>
concept DistanceRule = requires(const Rule& rule, const Matrix<double>& distances, std::vector<double>& scratch) {
  { rule(distances, scratch) } -> std::convertible_to<double>;
};

/// A rule that wants to see the points themselves, d×n, with buffers of its own.
template <class Rule>
concept PointRule = requires(const Rule& rule, const Matrix<double>& points,
                             typename Rule::template Workspace<double>& workspace) {
  { rule(points, workspace) } -> std::convertible_to<double>;
};

/// A factor on the rule `inner`.
template <class Rule>
concept ScalingRule = requires(const Rule& rule) {
  rule.inner;
  { rule.current_factor() } -> std::convertible_to<double>;
};

/// Any of the rules above.
template <class Rule>
concept BandwidthRule =
    MedianRule<Rule> || ConstantRule<Rule> || DistanceRule<Rule> || PointRule<Rule> || ScalingRule<Rule>;

namespace detail {

/// Turns the misuse Rbf{2.0} into a readable compile error.
template <class Rule>
consteval bool assert_bandwidth_rule() {
  static_assert(BandwidthRule<Rule>,
                "repel: a kernel takes a bandwidth rule, such as MedianBandwidth{} or FixedBandwidth{2.0}; for a "
                "constant h write Rbf{FixedBandwidth{h}}");
  return true;
}

}  // namespace detail

/// A factor on the h of another rule: Scaled{MedianBandwidth{}, 0.5}. It does not change the floor of 1 for particles
/// that all coincide.
template <class Rule = MedianBandwidth>
struct Scaled {
  static_assert(detail::assert_bandwidth_rule<Rule>());
  Rule inner{};       ///< the rule
  double factor = 1;  ///< on its result

  void validate() const {
    detail::require_positive("Scaled", "factor", factor);
    detail::validate(inner);
  }
  /// The factor now.
  double current_factor() const { return factor; }
};
Scaled()->Scaled<>;
template <class Rule>
Scaled(Rule) -> Scaled<Rule>;
template <class Rule>
Scaled(Rule, double) -> Scaled<Rule>;

/// A factor that goes from `from` to `to` in a straight line over the first `steps` steps of a state, and stays there:
/// Ramp{MedianBandwidth{}, 1, 5, 1000} starts with local repulsion and ends with a wide one. Outside a sampler it is at
/// its start.
template <class Rule = MedianBandwidth>
struct Ramp {
  static_assert(detail::assert_bandwidth_rule<Rule>());
  Rule inner{};        ///< the rule
  double from = 1;     ///< the first factor
  double to = 5;       ///< the last factor
  Index steps = 1000;  ///< until then
  Index step = 0;      ///< set by the sampler: steps taken so far

  void validate() const {
    detail::require_positive("Ramp", "from", from);
    detail::require_positive("Ramp", "to", to);
    if (steps < 1) detail::fail("Ramp", "steps is ", steps, ", but must be at least 1");
    detail::validate(inner);
  }
  void begin_step(Index now) {
    step = now;
    detail::begin_step(inner, now);
  }
  /// The factor now.
  double current_factor() const {
    if (step >= steps) return to;
    return from + (to - from) * static_cast<double>(step) / static_cast<double>(steps);
  }
};
Ramp()->Ramp<>;
template <class Rule>
Ramp(Rule) -> Ramp<Rule>;
template <class Rule>
Ramp(Rule, double, double) -> Ramp<Rule>;
template <class Rule>
Ramp(Rule, double, double, Index) -> Ramp<Rule>;

namespace detail {

/// The positions of the median among the distinct pairs in order, low ≤ high ≤ low + 1. Sorted, all n² entries of the
/// distance matrix are n zeros and then every distinct pair twice. `zero`: the lower of the two middle entries is one
/// of those zeros.
struct MedianPositions {
  std::size_t low = 0, high = 0;
  bool zero = false, none = false;
};

inline MedianPositions median_positions(Index count, bool counts_zeros) {
  const auto n = static_cast<std::size_t>(count);
  const std::size_t pairs = n * (n - 1) / 2;
  if (n < 2) return {.none = true};
  if (!counts_zeros) return {(pairs - 1) / 2, pairs / 2};
  const std::size_t low = (n * n - 1) / 2, high = n * n / 2;  // never below n for n ≥ 3
  if (high < n) return {.none = true};
  const std::size_t high_pair = (high - n) / 2;
  if (low < n) return {high_pair, high_pair, true};
  return {(low - n) / 2, high_pair};
}

/// median / divisor with the floor described at the top of this file; mean() is the mean distance of distinct pairs.
template <class Scalar, class Mean>
double with_floor(double median, double divisor, const Mean& mean) {
  constexpr double smallest = std::numeric_limits<Scalar>::min();
  if (!(divisor > 0)) return 1;
  if (median / divisor >= smallest) return median / divisor;
  const double instead = mean() / divisor;
  return instead >= smallest ? instead : 1;
}

}  // namespace detail

}  // namespace repel
