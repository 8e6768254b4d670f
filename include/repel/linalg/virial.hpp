// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

// The temperature of an ensemble. For any density p with a mean m and tails that vanish, integration by parts gives
// E_p[(x − m)_k ∂_l log p(x)] = −δ_kl (Stein's identity of first order; the virial theorem of physics). So for particles
// that are a sample of p, with s = ∇ log p at them,
//
//   T_k = −1/(n−1) Σ_i (x_ik − x̄_k) s_ik  ≈ 1  in every coordinate,      T = the mean over k.
//
// T < 1: the particles are too close together. T > 1: too far apart, or not arrived yet. It takes no knowledge of the
// truth and O(nd) operations.
//
// What it cannot see: a mode that no particle has found; a scale of ∇ log p that is wrong everywhere (that is another
// posterior, and T is 1 for a sample of it); correlations, and whatever else leaves these d averages as they are. It is an
// average of n products: for n exact draws of a normal density T_k has the standard deviation √(2/n), T of d independent
// coordinates √(2/(nd)); where log p is far from a parabola it is noisier, and for particles that are not settled it says
// which way they go, not how far. A gradient from minibatches adds noise of mean zero.

namespace repel {

namespace detail {

/// Sums over the particles for one coordinate, c = x − x̄.
struct VirialSums {
  double cg = 0;  ///< Σ_i c_i g_i
  double cc = 0;  ///< Σ_i c_i²
  double gg = 0;  ///< Σ_i g_i²
};

constexpr Index kVirialTile = 512;  // coordinates at a time: half a page or more of each particle

/// The sums of `width` coordinates from `first`, in one pass over x and g, both d×n. Differences to the first particle
/// are summed, so that an offset common to all costs no digits. Squares are left out unless asked for.
template <bool Squares, class X, class G>
void virial_sums(const X& x, const G& g, Index first, Index width, VirialSums* out) {
  const Index n = x.cols();
  const auto count = static_cast<double>(n);
  const auto finish = [&](Index r, double sx, double sg, double sxg, double sxx, double sgg) {
    out[r] = {.cg = sxg - sx * sg / count, .cc = std::max(0.0, sxx - sx * sx / count), .gg = sgg};
  };
  if (X::IsRowMajor || width < 16) {  // short columns: Eigen's set-up would take longer than the sums
    for (Index r = 0; r < width; ++r) {
      double sx = 0, sg = 0, sxg = 0, sxx = 0, sgg = 0;
      for (Index j = 0; j < n; ++j) {
        const double dx = static_cast<double>(x.coeff(first + r, j) - x.coeff(first + r, 0)),
                     gj = static_cast<double>(g.coeff(first + r, j));
        sx += dx, sg += gj, sxg += dx * gj;
        if constexpr (Squares) sxx += dx * dx, sgg += gj * gj;
      }
      finish(r, sx, sg, sxg, sxx, sgg);
    }
    return;
  }
  using Scalar = typename X::Scalar;
  constexpr Index flush = 64, group = 8,
                  chunk = 16;  // columns summed in Scalar before a sum in double; at a time; rows
  alignas(64) double total[5][kVirialTile] = {};
  alignas(64) Scalar part[5][kVirialTile];
  for (Index begin = 0; begin < n; begin += flush) {
    for (auto& row : part) std::fill_n(row, width, Scalar(0));
    const Index end = std::min(n, begin + flush);
    for (Index j = begin; j < end; j += group) {  // a group of columns: the sums go through memory an eighth as often
      const Index last = std::min(end, j + group);
      const auto add = [&]<int Rows>(Index r, std::integral_constant<int, Rows>) {
        using Rowwise = Eigen::Array<Scalar, Rows, 1>;
        const auto at = [&](const auto& m, Index column) {
          return Eigen::Map<const Rowwise>(m.data() + first + r + column * m.outerStride());
        };
        const auto sum = [&](int k) { return Eigen::Map<Rowwise>(part[k] + r); };
        const Rowwise x0 = at(x, 0);
        Rowwise sx = sum(0), sg = sum(1), sxg = sum(2), sxx = sum(3), sgg = sum(4);
        for (Index i = j; i < last; ++i) {
          const Rowwise dx = at(x, i) - x0, gi = at(g, i);
          sx += dx;
          sg += gi;
          sxg += dx * gi;
          if constexpr (Squares) {
            sxx += dx.square();
            sgg += gi.square();
          }
        }
        sum(0) = sx, sum(1) = sg, sum(2) = sxg;
        if constexpr (Squares) sum(3) = sxx, sum(4) = sgg;
      };
      Index r = 0;
      for (; r + chunk <= width; r += chunk) add(r, std::integral_constant<int, chunk>{});
      for (; r < width; ++r) add(r, std::integral_constant<int, 1>{});
    }
    for (Index k = 0; k < 5; ++k)
      array_at(total[k], width) += array_at(std::as_const(part[k]), width).template cast<double>();
  }
  for (Index r = 0; r < width; ++r) finish(r, total[0][r], total[1][r], total[2][r], total[3][r], total[4][r]);
}

/// Those of all coordinates, in parallel if there are many; the same bits for any number of threads.
template <bool Squares, class X, class G>
void virial_sums(const X& x, const G& g, std::vector<VirialSums>& out) {
  out.resize(static_cast<std::size_t>(x.rows()));
  parallel_tiles(x.rows(), kVirialTile, 4 * static_cast<double>(x.cols()),
                 [&](Index first, Index width) { virial_sums<Squares>(x, g, first, width, out.data() + first); });
}

/// T of the particles x with scores s; 0 for one particle.
template <class X, class S>
double temperature_of(const X& x, const S& s, std::vector<VirialSums>& sums) {
  if (x.cols() < 2) return 0;
  virial_sums<false>(x, s, sums);
  double all = 0;
  for (const VirialSums& each : sums) all += each.cg;
  return -all / static_cast<double>(x.rows()) / static_cast<double>(x.cols() - 1);
}

template <class X, class S>
void require_temperature(const char* name, const X& x, const S& s) {
  require_points(name, "X", x);
  if (x.cols() < 2) fail(name, "X has ", x.cols(), " columns, but must have at least 2");
  require_same_shape(name, "S", s, "X", x);
  require_usable(name, "S", s);
}

}  // namespace detail

/// T_k of every coordinate, for particles (the columns of x) and ∇ log p at them; length d.
template <class X, class S>
Vector<double> temperatures(const Eigen::MatrixBase<X>& x, const Eigen::MatrixBase<S>& s) {
  static_assert(std::same_as<typename X::Scalar, typename S::Scalar>,
                "repel::temperatures: X and S must have the same scalar type");
  const Matrix<typename X::Scalar> points = x, scores = s;
  detail::require_temperature("temperatures", points, scores);
  std::vector<detail::VirialSums> sums;
  detail::virial_sums<false>(points, scores, sums);
  Vector<double> out(points.rows());
  for (Index k = 0; k < out.size(); ++k)
    out(k) = -sums[static_cast<std::size_t>(k)].cg / static_cast<double>(points.cols() - 1);
  return out;
}

/// T, their mean: 1 for a sample of p.
template <class X, class S>
double temperature(const Eigen::MatrixBase<X>& x, const Eigen::MatrixBase<S>& s) {
  return temperatures(x, s).mean();
}

}  // namespace repel
