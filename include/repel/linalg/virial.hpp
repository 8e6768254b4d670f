#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <concepts>
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

/// The sums of `width` coordinates from `first`, in one pass over x and g, both d×n. Differences to the first particle
/// are summed, so that an offset common to all costs no digits. Squares are left out unless asked for.
template <bool Squares, class X, class G>
void virial_sums(const X& x, const G& g, Index first, Index width, VirialSums* out) {
  using Scalar = typename X::Scalar;
  constexpr Index most = 128, flush = 64;  // coordinates; columns summed in Scalar before a sum in double
  const Index n = x.cols();
  struct Totals {
    alignas(64) double x[most]{}, g[most]{}, xg[most]{}, xx[most]{}, gg[most]{};
  } sums;
  if (X::IsRowMajor || width < 16) {  // short columns: Eigen's set-up would take longer than the sums
    for (Index j = 0; j < n; ++j)
      for (Index r = 0; r < width; ++r) {
        const double dx = static_cast<double>(x.coeff(first + r, j) - x.coeff(first + r, 0)),
                     gj = static_cast<double>(g.coeff(first + r, j));
        sums.x[r] += dx;
        sums.g[r] += gj;
        sums.xg[r] += dx * gj;
        if constexpr (Squares) {
          sums.xx[r] += dx * dx;
          sums.gg[r] += gj * gj;
        }
      }
  } else {
    alignas(64) Scalar space[5][most];
    auto sx = array_at(space[0], width), sg = array_at(space[1], width), sxg = array_at(space[2], width),
         sxx = array_at(space[3], width), sgg = array_at(space[4], width);
    const auto x0 = array_at(x.data() + first, width);
    for (Index begin = 0; begin < n; begin += flush) {
      for (auto& row : space) std::fill_n(row, width, Scalar(0));
      for (Index j = begin; j < std::min(n, begin + flush); ++j) {
        const auto xj = array_at(x.data() + first + j * x.outerStride(), width),
                   gj = array_at(g.data() + first + j * g.outerStride(), width);
        sx += xj - x0;
        sg += gj;
        sxg += (xj - x0) * gj;
        if constexpr (Squares) {
          sxx += (xj - x0).square();
          sgg += gj.square();
        }
      }
      array_at(sums.x, width) += sx.template cast<double>();
      array_at(sums.g, width) += sg.template cast<double>();
      array_at(sums.xg, width) += sxg.template cast<double>();
      if constexpr (Squares) {
        array_at(sums.xx, width) += sxx.template cast<double>();
        array_at(sums.gg, width) += sgg.template cast<double>();
      }
    }
  }
  const auto count = static_cast<double>(n);
  for (Index r = 0; r < width; ++r) {
    out[r].cg = sums.xg[r] - sums.x[r] * sums.g[r] / count;
    out[r].cc = std::max(0.0, sums.xx[r] - sums.x[r] * sums.x[r] / count);
    out[r].gg = sums.gg[r];
  }
}

/// Those of all coordinates, in parallel if there are many; the same bits for any number of threads.
template <bool Squares, class X, class G>
void virial_sums(const X& x, const G& g, std::vector<VirialSums>& out) {
  out.resize(static_cast<std::size_t>(x.rows()));
  parallel_tiles(x.rows(), 128, 4 * static_cast<double>(x.cols()),
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
