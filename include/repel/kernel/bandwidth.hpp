#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
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

/// Copies the n(n−1)/2 distances of distinct pairs into `pairs`; allocates on first use only.
template <class Scalar>
void collect_pairs(const Matrix<Scalar>& distances, std::vector<Scalar>& pairs) {
  const Index n = distances.cols();
  pairs.resize(static_cast<std::size_t>(n * (n - 1) / 2));
  auto out = pairs.begin();
  for (Index j = 0; j + 1 < n; ++j) {
    const Scalar* column = distances.data() + j * distances.outerStride();
    out = std::copy(column + j + 1, column + n, out);
  }
}

/// The mean of the values at positions `low` and `high` (low ≤ high ≤ low + 1) of the sorted pairs, by selection.
template <class Scalar>
double middle_of_sorted(std::vector<Scalar>& pairs, std::size_t low, std::size_t high) {
  const auto at = pairs.begin() + static_cast<std::ptrdiff_t>(high);
  std::nth_element(pairs.begin(), at, pairs.end());
  if (low == high) return static_cast<double>(*at);
  return 0.5 * (static_cast<double>(*std::max_element(pairs.begin(), at)) + static_cast<double>(*at));
}

/// The median of all n² entries of the distance matrix, found from the distinct pairs: sorted, the n² entries are
/// n zeros and then every distinct pair twice.
template <class Scalar>
double median_of_all(std::vector<Scalar>& pairs, std::size_t n) {
  if (n < 2) return 0;
  const std::size_t low = (n * n - 1) / 2, high = n * n / 2;  // never below n for n ≥ 3
  if (high < n) return 0;
  const std::size_t high_pair = (high - n) / 2;
  if (low < n) return 0.5 * middle_of_sorted(pairs, high_pair, high_pair);
  return middle_of_sorted(pairs, (low - n) / 2, high_pair);
}

template <class Scalar>
double median_of_pairs(std::vector<Scalar>& pairs) {
  if (pairs.empty()) return 0;
  return middle_of_sorted(pairs, (pairs.size() - 1) / 2, pairs.size() / 2);
}

/// median / divisor with the floor described at the top of this file.
template <class Scalar>
double with_floor(double median, const std::vector<Scalar>& pairs, double divisor) {
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
    detail::collect_pairs(distances, scratch);
    return detail::with_floor(detail::median_of_all(scratch, n), scratch, std::log(static_cast<double>(n) + 1));
  }
};

/// The same median over log n, as in Liu & Wang (2016).
struct MedianLogNBandwidth {
  template <class Scalar>
  double operator()(const Matrix<Scalar>& distances, std::vector<Scalar>& scratch) const {
    const auto n = static_cast<std::size_t>(distances.cols());
    detail::collect_pairs(distances, scratch);
    return detail::with_floor(detail::median_of_all(scratch, n), scratch, std::log(static_cast<double>(n)));
  }
};

/// The median over the distinct pairs only, over log n.
struct PairMedianBandwidth {
  template <class Scalar>
  double operator()(const Matrix<Scalar>& distances, std::vector<Scalar>& scratch) const {
    const auto n = static_cast<double>(distances.cols());
    detail::collect_pairs(distances, scratch);
    return detail::with_floor(detail::median_of_pairs(scratch), scratch, std::log(n));
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
