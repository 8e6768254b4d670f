// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/kernel/metric.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/packed_points.hpp>

#include <algorithm>

// Sums of gradients of distances, with a matrix of weights at hand:
//   column j of out = c_j Σ_i a(i, j) ∇_{y_j} distance(x_i, y_j)

namespace repel::detail {

/// c_j: a constant, over divisor[j] if there are divisors. To be applied one after the other, c (value / divisor),
/// since c / divisor may be out of range even if the result is not.
template <class Scalar>
struct ColumnFactor {
  Scalar constant = 1;
  Scalar inverse_bandwidth = 0;  ///< 1/h of the kernel that a comes from, to tell what is far away
  const Scalar* divisor = nullptr;
  const Scalar* weight_sums = nullptr;  ///< Σ_i a(i, j), if it is known already
  Scalar inverse(Index j) const { return divisor == nullptr ? Scalar(1) : 1 / divisor[j]; }
};

/// Sums of weight · slope(y − x) in a vector register.
template <class Metric, class Scalar>
struct SlopeSum {
  using Register = Chunk<Scalar>;
  static Register load(const Scalar* from) { return Eigen::Map<const Register>(from); }
  static void store(Scalar* to, const Register& sum) { std::copy_n(sum.data(), kChunk<Scalar>, to); }
  static void add(Register& sum, const Register& weight, const Register& x, const Register& y) {
    const Register difference = y - x;
    sum += weight * Metric::slope(difference);
  }
  static Register all(Scalar value) { return Register::Constant(value); }
};

/// The L1 distance adds or subtracts the weight.
template <class Scalar>
struct SlopeSum<Manhattan, Scalar> {
  using Register = typename Eigen::internal::packet_traits<Scalar>::type;
  static Register load(const Scalar* from) { return Eigen::internal::ploadu<Register>(from); }
  static void store(Scalar* to, const Register& sum) { Eigen::internal::pstoreu(to, sum); }
  static void add(Register& sum, const Register& weight, const Register& x, const Register& y) {
    namespace simd = Eigen::internal;
    sum = simd::psub(simd::padd(sum, simd::pand(simd::pcmp_lt(x, y), weight)), simd::pand(simd::pcmp_lt(y, x), weight));
  }
  static Register all(Scalar value) { return Eigen::internal::pset1<Register>(value); }
};

/// In high dimension for any metric: no matrix product gives Σ a(i, j) slope(y_j − x_i).
template <class Metric, class Scalar>
void gradient_sums_by_panels(const PackedPoints<Scalar>& x, const PackedPoints<Scalar>& y, const Matrix<Scalar>& a,
                             const ColumnFactor<Scalar>& factor, Matrix<Scalar>& scratch, Out<Scalar> out) {
  using Sum = SlopeSum<Metric, Scalar>;
  constexpr Index P = kChunk<Scalar>, panel = 4 * P;
  const Index stride = x.columns.rows(), panels = (stride + panel - 1) / panel, slots = thread_slots();
  scratch.resize(panel * x.count, slots);
  parallel_for(panels, static_cast<double>(panel * y.count * x.count), slots, [&](Index piece, Index slot) {
    // Four registers of coordinates of all x, side by side: in place they would be far apart.
    const Index k = piece * panel, rows = std::min(panel, stride - k);
    Scalar* const packed = scratch.col(slot).data();
    std::fill(packed, packed + panel * x.count, Scalar(0));
    for (Index i = 0; i < x.count; ++i) std::copy_n(&x.columns(k, i), rows, packed + i * panel);
    for (Index j = 0; j < y.count; ++j) {
      alignas(64) Scalar at[panel] = {}, sums[panel] = {};
      std::copy_n(&y.columns(k, j), rows, at);
      typename Sum::Register target[4], sum[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        target[r] = Sum::load(at + r * P);
        sum[r] = Sum::all(0);
      }
      const Scalar *source = packed, *weights = &a(0, j);
      for (Index i = 0; i < x.count; ++i, source += panel) {
        const auto weight = Sum::all(weights[i]);
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) Sum::add(sum[r], weight, Sum::load(source + r * P), target[r]);
      }
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) Sum::store(sums + r * P, sum[r]);
      for (Index r = 0; r < std::min(panel, x.dim - k); ++r)
        out(k + r, j) = factor.constant * (factor.inverse(j) * sums[r]);
    }
  });
}

/// Some rows of Σ_i a_i (y_j − x_i), difference by difference, for a target so far from the origin that the product below
/// would cancel. There are few of these, and most of their weights are 0.
template <class Scalar>
void sum_differences(const PackedPoints<Scalar>& x, const Scalar* y, const Scalar* a, Index row, Index rows,
                     Scalar* out) {
  const auto target = array_at(y + row, rows);
  auto sum = array_at(out, rows);
  sum.setZero();
  for (Index i = 0; i < x.count; ++i)
    if (a[i] != 0) sum += a[i] * (target - array_at(&x.columns(row, i), rows));
}

/// In high dimension for squared distances: Σ_i a_ij 2 (y_j − x_i) = 2 (y_j Σ_i a_ij − (X A)_j).
template <class Scalar>
void gradient_sums_by_product(const PackedPoints<Scalar>& x, const PackedPoints<Scalar>& y, const Matrix<Scalar>& a,
                              const ColumnFactor<Scalar>& factor, Matrix<Scalar>& scratch, Out<Scalar> out) {
  const bool some_distant = y.any_distant(factor.inverse_bandwidth);
  const Scalar* sums = factor.weight_sums;
  scratch.resize(y.count, 2);
  if (some_distant)
    for (Index j = 0; j < y.count; ++j) scratch(j, 1) = y.is_distant(j, factor.inverse_bandwidth) ? 1 : 0;
  if (sums == nullptr) {
    parallel_tiles(y.count, 16, static_cast<double>(x.count), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) scratch(j, 0) = array_at(&a(0, j), x.count).sum();
    });
    sums = scratch.data();
  }
  parallel_blocks(x.dim, y.count, static_cast<double>(x.count), [&](const BlockOf& at) {
    const Block<Scalar> block = block_at(out, at.row, at.column);
    multiply<Stored::plain, Stored::plain, Scalar>(at.rows, at.columns, x.count, block_at(x.columns, at.row, 0),
                                                   block_at(a, 0, at.column), block);
    for (Index b = 0; b < at.columns; ++b) {
      const Index j = at.column + b;
      auto column = array_at(block.data + b * block.stride, at.rows);
      if (some_distant && scratch(j, 1) != 0) {
        sum_differences(x, &y.columns(0, j), &a(0, j), at.row, at.rows, column.data());
        column = (2 * factor.constant) * (factor.inverse(j) * column);
        continue;
      }
      column =
          (2 * factor.constant) * (factor.inverse(j) * (sums[j] * array_at(&y.columns(at.row, j), at.rows) - column));
    }
  });
}

/// Column j of out = c_j Σ_i a(i, j) ∇_{y_j} distance(x_i, y_j).
template <class Metric, class Scalar>
void gradient_sums(const PackedPoints<Scalar>& x, const PackedPoints<Scalar>& y, const Matrix<Scalar>& a,
                   const ColumnFactor<Scalar>& factor, Matrix<Scalar>& scratch, Out<Scalar> out) {
  if (!x.low_dimensional()) {
    if constexpr (std::same_as<Metric, SquaredEuclidean>)
      gradient_sums_by_product(x, y, a, factor, scratch, out);
    else
      gradient_sums_by_panels<Metric>(
          x, y, a, {factor.constant * kSlopeFactor<Metric>, 0, factor.divisor, factor.weight_sums}, scratch, out);
    return;
  }
  parallel_tiles(y.count, kTile, static_cast<double>(x.count * x.dim), [&](Index first, Index width) {
    for (Index j = first; j < first + width; ++j) {
      const Scalar c = factor.constant * static_cast<Scalar>(kSlopeFactor<Metric>), inverse = factor.inverse(j);
      for (Index k = 0; k < x.dim; ++k) {
        const auto difference = y.coordinates(j, k) - array_at(&x.coordinates(0, k), x.count);
        out(k, j) = c * (inverse * (array_at(&a(0, j), x.count) * Metric::slope(difference)).sum());
      }
    }
  });
}

}  // namespace repel::detail
