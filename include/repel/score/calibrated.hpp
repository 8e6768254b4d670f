// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/linalg/product.hpp>
#include <repel/linalg/virial.hpp>
#include <repel/score/calibration_solve.hpp>
#include <repel/score/kde.hpp>

#include <cmath>
#include <vector>

namespace repel {

/// What of Stein's identity −E[g cᵀ] = I, c = x − x̄, a calibrated estimate g satisfies. With
/// R = −1/(n−1) Σ_i g_i c_iᵀ of the estimate as it is:
enum class Calibration {
  total,        ///< its trace: g becomes g · d / tr R.   At a fixed point of WGD T = 1.   O(nd)
  coordinates,  ///< its diagonal: row k of g over R_kk.   T_k = 1 in every coordinate.   O(nd)
  blocks,       ///< the trace of each block of coordinates, such as the layers of a network.   O(nd)
  full,         ///< all of it, R⁻¹ g, for n > d.   The exact covariance of a normal posterior.   O(nd² + d³)
  shrunk,       ///< the same with R shrunk towards its diagonal, and then the trace, for any n and d.   O(n²d + n³)
};

/// An estimate of ∇ log ρ made to satisfy the identity that the score of any density satisfies, E[g cᵀ] = −I. Kernel
/// estimates do not: they are too weak, the more so the higher the dimension, and particles under them collapse.
///
///   Wgd{Calibrated{Kde{}}},  Wgd{Calibrated{Sge{}, Calibration::full}}
///   Wgd{Calibrated{Kde{}, Calibration::blocks, 1.0, network_blocks}}
///
/// With a temperature τ the fixed point has T = τ (linalg/virial.hpp): 1 is Bayes' posterior, 0 the plain ensemble.
///
/// Which one: `total` and `coordinates` are right where coordinates are independent, and cost next to nothing; of
/// correlated ones they exaggerate what the kernel sees. `full` is right for normal posteriors whatever the kernel, as
/// long as n > d. `shrunk` is for correlated posteriors with n ≤ d: what n particles can tell about a d×d matrix is mixed
/// with its diagonal, by the weight of Schäfer & Strimmer (2005). Moments of first order are all that is calibrated: in
/// many dimensions the particles of each of several modes still collapse. See docs/calibration.md.
///
/// Safe by construction: where an estimate hardly follows the particles' spread (R near 0, or negative), scaling by 1/R
/// would throw particles out. So the scaled estimate is held to ten times the size of the score of a normal density with
/// the particles' own spread. The force away from the mean then falls as the spread grows, and the squared spread grows
/// at most linearly in time, wherever the particles start.
///
/// Degenerate cases: a single particle, coordinates without spread and an estimate of 0 are left as they are.
template <class Estimator = Kde<>>
struct Calibrated {
  static_assert(detail::assert_estimator<Estimator>());
  Estimator estimator{};
  Calibration calibration = Calibration::total;  ///< of the total, of coordinates, of blocks …
  double temperature = 1;                        ///< τ ≥ 0
  std::vector<Index> blocks{};                   ///< for Calibration::blocks: how many coordinates each has, in order

  static constexpr double kMostOfNormal = 10;  ///< times the score of a normal density, at most

  template <class Scalar>
  struct Workspace {
    WorkspaceOf<Estimator, Scalar> estimator;
    std::vector<detail::VirialSums> sums;
    Vector<Scalar> factors;  // of each coordinate
    detail::CalibrationSolve<Scalar> solve;
    Matrix<Scalar> at_particles;  // out of sample
  };

  void validate() const {
    detail::validate_estimator(estimator);
    detail::require_non_negative("Calibrated", "temperature", temperature);
    if (calibration == Calibration::blocks && blocks.empty())
      detail::fail("Calibrated", "blocks is empty, but Calibration::blocks needs the size of each block");
    for (const Index size : blocks)
      if (size < 1) detail::fail("Calibrated", "a block has ", size, " coordinates, but must have at least 1");
  }

  template <class Pairs, class Points, class Workspace, class Out>
  SolveInfo score(Pairs& pairs, const Points& points, Workspace& w, Out& out) const {
    require_fit(points.rows(), points.cols());
    if (temperature == 0) {
      out.setZero();
      return {};
    }
    const SolveInfo info = detail::score_of(estimator, pairs, points, w.estimator, out);
    calibrate(points, out, w, out);
    return info;
  }

  template <class Pairs, class Points, class Workspace, class Queries, class Out>
  void score_at(Pairs& pairs, const Points& points, Workspace& w, const Queries& queries,
                Out& out) const requires OutOfSampleEstimator<Estimator> {
    require_fit(points.rows(), points.cols());
    if (calibration == Calibration::shrunk)
      detail::fail("Calibrated", "Calibration::shrunk is defined at the particles only");
    w.at_particles.resize(points.rows(), points.cols());
    detail::score_of(estimator, pairs, points, w.estimator, w.at_particles);
    detail::score_of_at(estimator, pairs, points, w.estimator, queries, out);
    calibrate(points, w.at_particles, w, out);
  }

 private:
  void require_fit(Index d, Index n) const {
    if (calibration == Calibration::full && n <= d)
      detail::fail("Calibrated", "Calibration::full has ", n, " particles in ", d,
                   " dimensions, but needs more particles than dimensions; Calibration::shrunk does not");
    if (calibration != Calibration::blocks) return;
    Index sum = 0;
    for (const Index size : blocks) sum += size;
    if (sum != d)
      detail::fail("Calibrated", "blocks add up to ", sum, " coordinates, but must add up to ", d,
                   " like the particles");
  }

  /// Scales `out`, by what the estimate g at the particles lacks; out may be g.
  template <class Points, class G, class Workspace, class Out>
  void calibrate(const Points& x, const G& g, Workspace& w, Out& out) const {
    const Index d = x.rows(), n = x.cols();
    using Scalar = typename Out::Scalar;
    if (n < 2) return scale(static_cast<Scalar>(temperature), out);
    detail::virial_sums<true>(x, g, w.sums);
    switch (calibration) {
      case Calibration::total:
        return scale(static_cast<Scalar>(factor(w.sums, 0, d, n)), out);
      case Calibration::coordinates:
        w.factors.resize(d);
        detail::parallel_tiles(d, detail::kVirialTile, 32, [&](Index first, Index width) {
          for (Index k = first; k < first + width; ++k) w.factors(k) = static_cast<Scalar>(factor(w.sums, k, 1, n));
        });
        return scale(w.factors.array(), out);
      case Calibration::blocks:
        w.factors.resize(d);
        for (Index first = 0; const Index size : blocks) {
          w.factors.segment(first, size).setConstant(static_cast<Scalar>(factor(w.sums, first, size, n)));
          first += size;
        }
        return scale(w.factors.array(), out);
      case Calibration::full:
        return w.solve.full(x, g, w.sums, temperature, kMostOfNormal, out);
      case Calibration::shrunk:
        return w.solve.shrunk(x, w.sums, temperature, kMostOfNormal, out);
    }
  }

  /// τ over the mean of R_kk in some coordinates, held to the bound above: in units of the spread, the mean of
  /// σ_k² E[g_k²] is 1 for a normal density.
  double factor(const std::vector<detail::VirialSums>& sums, Index first, Index size, Index n) const {
    double r = 0, squares = 0;
    for (Index k = first; k < first + size; ++k) {
      const detail::VirialSums& each = sums[static_cast<std::size_t>(k)];
      r -= each.cg;
      squares += each.cc * each.gg;
    }
    const double rest = static_cast<double>(n - 1);
    r /= rest * static_cast<double>(size);
    const double least = std::sqrt(squares / static_cast<double>(size)) / rest / kMostOfNormal;
    const double divisor = std::max(r, least);
    return divisor > 0 ? temperature / divisor : temperature;
  }

  /// out becomes f · out, row by row if f is a column; by whole columns, which memory likes best.
  template <class Factor, class Out>
  static void scale(const Factor& f, Out& out) {
    detail::parallel_tiles(out.cols(), 2, static_cast<double>(out.rows()), [&](Index begin, Index width) {
      for (Index j = begin; j < begin + width; ++j) detail::array_at(&out.coeffRef(0, j), out.rows()) *= f;
    });
  }
};
Calibrated()->Calibrated<>;
template <class Estimator>
Calibrated(Estimator) -> Calibrated<Estimator>;
template <class Estimator>
Calibrated(Estimator, Calibration) -> Calibrated<Estimator>;
template <class Estimator>
Calibrated(Estimator, Calibration, double) -> Calibrated<Estimator>;
template <class Estimator>
Calibrated(Estimator, Calibration, double, std::vector<Index>) -> Calibrated<Estimator>;

}  // namespace repel
