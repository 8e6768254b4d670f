// SPDX-License-Identifier: MIT
#pragma once

#include <repel/diagnostics/check.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/pairwise/pairs.hpp>

#include <cmath>
#include <limits>

// How many different particles there are: the effective number at a length ℓ,
//
//   D(ℓ) = n² / Σ_ij exp(−‖x_i − x_j‖² / ℓ²),
//
// n if all are much farther apart than ℓ, 1 if all are much closer, c for c tight clumps of equal size. It is the
// reciprocal of Σ λ² for the eigenvalues λ of K/n, k = exp(−‖x − y‖² / 2ℓ²), which makes it the Vendi score of order 2
// (Friedman & Dieng 2023; Pasarkar & Dieng 2024): like the exponential of their entropy, but a sum over pairs, without
// an eigenvalue problem.
//
// The length carries the meaning: two particles closer than ℓ count as one. It must come from outside of the particles,
// since measured in units of their own spread a collapsed ensemble looks as rich as a healthy one. Use a difference
// that matters to you, or the length at which draws from the posterior, or from the prior, begin to coincide:
// distinct_length(reference). Distances grow like √d, so no constant serves for all dimensions.
//
// What it does not see: whether the particles are where they should be. Particles flung far away, or all in one of
// several modes, count as n if they are apart.

namespace repel::diagnostics {

namespace detail {

inline double distinct_of(const Eigen::MatrixXd& x, double length) {
  Pairs<Rbf<FixedBandwidth>, double> pairs;
  pairs.measure(Rbf{FixedBandwidth{length * length}}, x);
  Eigen::VectorXd sums;
  pairs.accumulate(pair::sums(sums));
  const auto n = static_cast<double>(x.cols());
  return n * n / sums.sum();
}

inline void require_length(const char* where, double length) {
  const double square = length * length;  // the bandwidth
  if (!(length > 0 && square >= std::numeric_limits<double>::min() && square <= std::numeric_limits<double>::max()))
    fail(where, "length is ", length, ", but must be larger than 0, with a square within range");
}

}  // namespace detail

/// The effective number of distinct particles (d×n, a particle per column), 1 to n, at a length in the units of their
/// coordinates.
template <class X>
double distinct(const Eigen::MatrixBase<X>& particles, double length) {
  constexpr const char* where = "diagnostics::distinct";
  detail::require_length(where, length);
  return detail::distinct_of(detail::checked_sample(where, "particles", particles, 1), length);
}

/// The length at which a reference sample has `fraction` · n distinct members: a healthy ensemble of as many particles
/// then has about that number, a collapsed one fewer. Take as many reference draws as there are particles, since more draws lie closer together; draws from the posterior (HMC) to find particles that are too close, draws from the
/// prior to see how far the data have narrowed it. Found by bisection to 10 digits, at the cost of some 50 D(ℓ).
template <class Y>
double distinct_length(const Eigen::MatrixBase<Y>& reference, double fraction = 0.5) {
  constexpr const char* where = "diagnostics::distinct_length";
  const Eigen::MatrixXd y = detail::checked_sample(where, "reference", reference, 2);
  const auto n = static_cast<double>(y.cols());
  if (!(fraction * n > 1 && fraction < 1))
    detail::fail(where, "fraction is ", fraction, ", but must be below 1, and more than one of ", y.cols(), " members");
  const Eigen::MatrixXd centred = y.colwise() - y.rowwise().mean();
  // D rises from 1 to the number of different columns as the length falls. Below, log₂ of the length.
  const double widest = centred.colwise().norm().maxCoeff();
  if (!(widest > 0)) detail::fail(where, "all columns of reference are the same, but must differ");
  double high = std::log2(widest) + 1, low = high;
  while (detail::distinct_of(centred, std::exp2(high)) > fraction * n) ++high;
  do {
    low -= 2;
    if (low < high - 60)
      detail::fail(where, "fraction is ", fraction, ", but must be below the fraction of different columns");
  } while (detail::distinct_of(centred, std::exp2(low)) < fraction * n);
  while (high - low > 1e-10) {
    const double middle = (low + high) / 2;
    (detail::distinct_of(centred, std::exp2(middle)) > fraction * n ? low : high) = middle;
  }
  return std::exp2((low + high) / 2);
}

}  // namespace repel::diagnostics
