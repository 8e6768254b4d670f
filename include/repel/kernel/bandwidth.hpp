#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

// Bandwidth rules: from the pairwise distances of the particles to the h of k(x, y) = φ(distance / h).
//
// The distances are the kernel's own: squared Euclidean for radial kernels, L1 for Laplace. A rule is a value with
//
//   template <class Scalar>
//   double operator()(const repel::Matrix<Scalar>& distances, std::vector<Scalar>& scratch) const;
//
// that reads the strictly lower triangle of the n×n matrix `distances` (the diagonal is 0) and may use `scratch` so
// as not to allocate at every step. Write your own and pass it to any kernel: Rbf{MyRule{}}.
//
// The floor: where a rule gives 0 (half of the distances are 0, or n = 1), the mean of the distances of distinct pairs
// stands in for the median; where that is 0 too (all particles coincide), h = 1. So h is always positive, follows the
// scale of the particles, and coincident particles get a finite direction.

namespace repel {

namespace detail {

/// The n(n−1)/2 distances of distinct pairs, copied into the first half of `scratch`; allocates on first use only. The
/// second half is room for selection.
template <class Scalar>
std::span<Scalar> collect_pairs(const Matrix<Scalar>& distances, std::vector<Scalar>& scratch) {
  const Index n = distances.cols();
  const auto count = static_cast<std::size_t>(n * (n - 1) / 2);
  scratch.resize(2 * count);
  auto out = scratch.begin();
  for (Index j = 0; j + 1 < n; ++j) {
    const Scalar* column = distances.data() + j * distances.outerStride();
    out = std::copy(column + j + 1, column + n, out);
  }
  return {scratch.data(), count};
}

/// The mean of the values at positions `low` and `high` (low ≤ high ≤ low + 1) of the sorted pairs, by selection.
/// `room` is as long as `pairs`.
template <class Scalar>
double middle_of_sorted(std::span<Scalar> pairs, Scalar* room, std::size_t low, std::size_t high) {
  // Selecting among thousands of values is slow for its unpredictable branches. So first, without branches, keep those
  // between two elements of a sorted sample that most likely enclose the wanted positions; the counts tell for certain.
  constexpr std::size_t sample_size = 128, margin = 16;
  if (pairs.size() > 8 * sample_size) {
    std::array<Scalar, sample_size> sample;
    for (std::size_t i = 0; i < sample_size; ++i) sample[i] = pairs[i * pairs.size() / sample_size];
    std::sort(sample.begin(), sample.end());
    const std::size_t at = high * sample_size / pairs.size();
    const Scalar from = sample[at < margin ? 0 : at - margin], to = sample[std::min(at + margin, sample_size - 1)];
    std::size_t below = 0, kept = 0;
    for (const Scalar value : pairs) {
      room[kept] = value;
      below += static_cast<std::size_t>(value < from);
      kept += static_cast<std::size_t>((value >= from) & (value <= to));
    }
    if (low >= below && high < below + kept) {
      pairs = {room, kept};
      low -= below;
      high -= below;
    }
  }
  const auto at = pairs.begin() + static_cast<std::ptrdiff_t>(high);
  std::nth_element(pairs.begin(), at, pairs.end());
  if (low == high) return static_cast<double>(*at);
  return 0.5 * (static_cast<double>(*std::max_element(pairs.begin(), at)) + static_cast<double>(*at));
}

/// The median of all n² entries of the distance matrix, found from the distinct pairs: sorted, the n² entries are
/// n zeros and then every distinct pair twice.
template <class Scalar>
double median_of_all(std::span<Scalar> pairs, std::size_t n) {
  if (n < 2) return 0;
  const std::size_t low = (n * n - 1) / 2, high = n * n / 2;  // never below n for n ≥ 3
  if (high < n) return 0;
  const std::size_t high_pair = (high - n) / 2;
  Scalar* const room = pairs.data() + pairs.size();
  if (low < n) return 0.5 * middle_of_sorted(pairs, room, high_pair, high_pair);
  return middle_of_sorted(pairs, room, (low - n) / 2, high_pair);
}

template <class Scalar>
double median_of_pairs(std::span<Scalar> pairs) {
  if (pairs.empty()) return 0;
  return middle_of_sorted(pairs, pairs.data() + pairs.size(), (pairs.size() - 1) / 2, pairs.size() / 2);
}

/// median / divisor with the floor described at the top of this file.
template <class Scalar>
double with_floor(double median, std::span<const Scalar> pairs, double divisor) {
  constexpr double smallest = std::numeric_limits<Scalar>::min();
  if (!(divisor > 0)) return 1;
  if (median / divisor >= smallest) return median / divisor;
  double mean = 0;
  for (const Scalar distance : pairs) mean += static_cast<double>(distance);
  if (!pairs.empty()) mean /= static_cast<double>(pairs.size());
  return mean / divisor >= smallest ? mean / divisor : 1;
}

}  // namespace detail

/// The default: the median of all n² distances, the n zeros included, over log(n + 1).
struct MedianBandwidth {
  template <class Scalar>
  double operator()(const Matrix<Scalar>& distances, std::vector<Scalar>& scratch) const {
    const auto n = static_cast<std::size_t>(distances.cols());
    const auto pairs = detail::collect_pairs(distances, scratch);
    return detail::with_floor<Scalar>(detail::median_of_all(pairs, n), pairs, std::log(static_cast<double>(n) + 1));
  }
};

/// The same median over log n, as in Liu & Wang (2016).
struct MedianLogNBandwidth {
  template <class Scalar>
  double operator()(const Matrix<Scalar>& distances, std::vector<Scalar>& scratch) const {
    const auto n = static_cast<std::size_t>(distances.cols());
    const auto pairs = detail::collect_pairs(distances, scratch);
    return detail::with_floor<Scalar>(detail::median_of_all(pairs, n), pairs, std::log(static_cast<double>(n)));
  }
};

/// The median over the distinct pairs only, over log n.
struct PairMedianBandwidth {
  template <class Scalar>
  double operator()(const Matrix<Scalar>& distances, std::vector<Scalar>& scratch) const {
    const auto n = static_cast<double>(distances.cols());
    const auto pairs = detail::collect_pairs(distances, scratch);
    return detail::with_floor<Scalar>(detail::median_of_pairs(pairs), pairs, std::log(n));
  }
};

/// A constant h > 0.
struct FixedBandwidth {
  double h;

  void validate() const { detail::require_positive("FixedBandwidth", "h", h); }

  template <class Scalar>
  double operator()(const Matrix<Scalar>&, std::vector<Scalar>&) const {
    if (!(h >= std::numeric_limits<Scalar>::min() && h <= std::numeric_limits<Scalar>::max()))
      detail::fail("FixedBandwidth", "h is ", h, ", but must be within the normal range of ", 8 * sizeof(Scalar),
                   "-bit numbers");
    return h;
  }
};

template <class Rule>
concept BandwidthRule = requires(const Rule& rule, const Matrix<double>& distances, std::vector<double>& scratch) {
  { rule(distances, scratch) } -> std::convertible_to<double>;
};

}  // namespace repel
