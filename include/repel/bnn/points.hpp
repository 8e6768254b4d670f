// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>

#include <cstdint>
#include <vector>

// Where functions are compared. By default, and in the paper, at the training batch; these policies add points of their
// own that have no data: only the prior and the repulsion act there. (With view::AddedPoints the kernel sees
// the added points only; the likelihood still acts at the batch.)
//
// A policy is a value with
//   Index count(Index batch) const                           how many points it adds to a batch of that size
//   void fill(seed, batch, x) const                          writes them into the columns of x; `batch` is inputs×B
// and, optionally, check(inputs), which throws if it does not fit that number of inputs.

namespace repel {

/// The training batch and nothing else.
struct BatchPoints {
  Index count(Index) const { return 0; }
  template <class Batch, class X>
  void fill(std::uint64_t, const Batch&, X&&) const {}
};

/// Fresh points at every step, uniform in a box.
struct UniformPoints {
  std::vector<double> low, high;  ///< the corners, an entry per input
  Index number = 32;              ///< points per step

  void check(Index inputs) const {
    if (number < 1) detail::fail("UniformPoints", "number is ", number, ", but must be at least 1");
    if (static_cast<Index>(low.size()) != inputs || static_cast<Index>(high.size()) != inputs)
      detail::fail("UniformPoints", "low and high have ", low.size(), " and ", high.size(),
                   " entries, but must have one per input: ", inputs);
    for (std::size_t i = 0; i < low.size(); ++i)
      if (!(low[i] <= high[i]) || !std::isfinite(high[i] - low[i]))
        detail::fail("UniformPoints", "low[", i, "] is ", low[i], " and high[", i, "] is ", high[i],
                     ", but they must be finite and in this order");
  }
  Index count(Index) const { return number; }
  template <class Batch, class X>
  void fill(std::uint64_t seed, const Batch&, X&& x) const {
    Random random(seed);
    for (Index j = 0; j < x.cols(); ++j)
      for (Index i = 0; i < x.rows(); ++i) {
        const auto k = static_cast<std::size_t>(i);
        x(i, j) = static_cast<typename std::remove_cvref_t<X>::Scalar>(low[k] + (high[k] - low[k]) * random.uniform());
      }
  }
};

/// The training batch again, with fresh normal noise on every input.
struct NoisyPoints {
  double sd = 1;  ///< of the noise

  void validate() const { detail::require_positive("NoisyPoints", "sd", sd); }
  Index count(Index batch) const { return batch; }
  template <class Batch, class X>
  void fill(std::uint64_t seed, const Batch& batch, X&& x) const {
    Random random(seed);
    for (Index j = 0; j < x.cols(); ++j)
      for (Index i = 0; i < x.rows(); ++i)
        x(i, j) = batch(i, j) + static_cast<typename std::remove_cvref_t<X>::Scalar>(sd * random.normal());
  }
};

/// A fixed set of points given by the user, one per column.
struct GivenPoints {
  /// A point per column.
  template <class Derived>
  explicit GivenPoints(const Eigen::MatrixBase<Derived>& given) : points(given.template cast<double>()) {}

  Eigen::MatrixXd points;  ///< a point per column

  void check(Index inputs) const {
    if (points.rows() != inputs)
      detail::fail("GivenPoints", "points has ", points.rows(), " rows, but must have one per input: ", inputs);
    detail::require_points("GivenPoints", "points", points);
  }
  Index count(Index) const { return points.cols(); }
  template <class Batch, class X>
  void fill(std::uint64_t, const Batch&, X&& x) const {
    x = points.template cast<typename std::remove_cvref_t<X>::Scalar>();
  }
};

}  // namespace repel
