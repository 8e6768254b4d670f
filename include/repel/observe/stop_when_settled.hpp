// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/run.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

// When has an ensemble settled? Not when its steps are small: they are so when the learning rate is. What holds at
// equilibrium, at any learning rate, is that forces balance. For each coordinate, with means over the n particles
// (a bar), v = var(x) and ⟨·⟩ a mean over the steps of a window:
//
//   the mean is not driven       ⟨Φ̄⟩ ℓ = 0         in units of the spread: δ/σ for a Gaussian of deviation σ whose
//                                                  mean is off by δ
//   the variance is not driven   ⟨cov(x, Φ)⟩ = 0   1 − v/σ² for that Gaussian under WGD. If noise and not repulsion
//                                                  keeps particles apart: ⟨cov(x, ∇ log p)⟩ = −1, Stein's identity
//   neither has a trend          the two halves of the window have the same mean of x̄, and of v
//
// ℓ is the coordinate's length: √v, or σ = √(v / |cov(x, ∇ log p)|) if that is larger, so that an ensemble that
// collapses to a point is judged by its target's width. Φ of SVGD is smaller than that of WGD by a factor κ < 1, the
// mean of its kernel matrix; it is estimated from the norms of repulsion and driving force, and Φ is divided by it.
//
// The first two must hold within `tolerance` with confidence (|mean| + 2 standard errors, from the means of blocks of
// steps), so that noise delays the verdict but cannot bring it about: Langevin dynamics of n particles that forget in τ
// steps take about 40 τ / (n tolerance²) of them. The third must hold within `tolerance` or within 3 standard errors.
// The window is the last half of the run, so it grows with it, and `windows` windows in a row must pass.
//
// What it cannot see: modes that no particle has found, or their weights; correlations that are still changing while
// all means and variances stay; what the rule itself hardly restores, such as single variances under SVGD in high
// dimension; in more than `coordinates` coordinates, those not looked at; a slow direction that is
// spread evenly over d coordinates is seen d times weaker than one along a coordinate. In function space, where ∇ log p
// is that of the outputs, ℓ is √v, and Stein's identity is not used. Where there may be no verdict though all is well:
// gradients with noise of their own for each particle, at a large learning rate, keep variances driven; with annealing
// that never ends there is no equilibrium.

namespace repel {

/// What StopWhenSettled asks for.
struct Settling {
  double tolerance = 0.05;    ///< of means in units of the spread, and of standard deviations relative to themselves
  Index steps = 200;          ///< no verdict before this many
  Index windows = 3;          ///< that must pass in a row
  Index coordinates = 10000;  ///< at most this many are followed, evenly chosen; each takes 1.3 kB

  void validate() const {
    detail::require_positive("Settling", "tolerance", tolerance);
    if (steps < 1) detail::fail("Settling", "steps is ", steps, ", but must be at least 1");
    if (windows < 1) detail::fail("Settling", "windows is ", windows, ", but must be at least 1");
    if (coordinates < 1) detail::fail("Settling", "coordinates is ", coordinates, ", but must be at least 1");
  }
};

/// An observer that stops a run when the ensemble has settled at equilibrium, as defined above:
///   repel::StopWhenSettled settled;                     // or settled{{.tolerance = 0.02}}
///   auto report = repel::run(sampler, state, 100000, settled);
///   std::cout << settled.message();
/// If the next run goes on from the same state, so does the observer. It needs at least two particles.
class StopWhenSettled {
 public:
  /// With settings of your own, or the defaults.
  explicit StopWhenSettled(Settling settings = {}) : settings_(settings) { settings_.validate(); }

  template <class State>
  void on_start(const State& state, Index) {
    if (state.step != last_step_ || !fits(state.particles)) start(state);
  }

  template <class State>
  bool operator()(const State& state, const StepInfo& info) {
    if (!fits(state.particles)) start(state);
    last_step_ = info.step;
    shown_ = info.directions.rows() == dim_ && info.directions.cols() == count_;
    if (!shown_) return false;
    add(MatrixView(state.particles), info);
    if (++in_block_ == block_length_) finish_block();
    return settled_;
  }

  /// Whether the forces balanced.
  bool settled() const { return settled_; }
  /// The step at which it was found to be settled; -1 before.
  Index step() const { return settled_ ? last_step_ : -1; }
  /// The verdict in a sentence: what it rests on, or what stands against it.
  std::string message() const {
    if (!shown_) return "not judged: the sampler does not show its directions";
    if (verdict_.step < 0) return "not judged yet";
    if (verdict_.worst > 1)
      return detail::concat("not settled at step ", verdict_.step, ": ", verdict_.what, " coordinate ",
                            verdict_.coordinate, ", at ", verdict_.worst, " times the tolerance over the last ",
                            verdict_.window, " steps");
    return detail::concat(settled_ ? "settled at step " : "nearly settled at step ", verdict_.step,
                          ": forces balance in all coordinates over the last ", verdict_.window, " steps, at ",
                          verdict_.worst, " times the tolerance or less");
  }

 private:
  // What is followed of each coordinate.
  enum Series { kMean, kVariance, kDrive, kSpreadDrive, kStein, kSeries };
  static constexpr Index kMostBlocks = 32;

  /// The last one, and what stands most against it: its size relative to what is allowed.
  struct Verdict {
    Index step = -1, window = 0, coordinate = 0;
    double worst = 0;
    const char* what = "";
  };

  template <class P>
  bool fits(const P& particles) const {
    return particles.rows() == dim_ && particles.cols() == count_;
  }

  template <class State>
  void start(const State& state) {
    dim_ = state.particles.rows();
    count_ = state.particles.cols();
    if (count_ < 2)
      detail::fail("StopWhenSettled", "particles has ", count_,
                   " columns, but must have at least 2: there is no "
                   "spread to judge by");
    const Index m = std::min(dim_, settings_.coordinates);
    rows_.resize(static_cast<std::size_t>(m));
    for (Index k = 0; k < m; ++k) rows_[static_cast<std::size_t>(k)] = k * dim_ / m;
    blocks_.setZero(kSeries * m, kMostBlocks);
    norms_.setZero(2, kMostBlocks);
    now_.setZero(kSeries * m);
    block_length_ = 1;
    filled_ = in_block_ = passed_ = steps_ = 0;
    settled_ = false;
    last_step_ = state.step;
    rounding_ = std::numeric_limits<typename std::remove_cvref_t<decltype(state.particles)>::Scalar>::epsilon();
    verdict_ = {};
  }

  Index tracked() const { return static_cast<Index>(rows_.size()); }
  double& series(Series which, Index k, Index block) { return blocks_(which * tracked() + k, block); }

  /// Adds one step to the current block.
  void add(const MatrixView& x, const StepInfo& info) {
    const MatrixView &phi = info.directions, &s = info.gradients;
    has_score_ = s.rows() == dim_ && s.cols() == count_;
    noisy_ = info.repulsion == 0 || info.noise > 0;
    ++steps_;
    const double n = static_cast<double>(count_);
    detail::parallel_tiles(tracked(), 16, 10 * n, [&](Index first, Index width) {
      for (Index k = first; k < first + width; ++k) {
        const Index row = rows_[static_cast<std::size_t>(k)];
        double mean = 0, drive = 0, variance = 0, spread = 0, stein = 0;
        for (Index j = 0; j < count_; ++j) {
          mean += x(row, j) - x(row, 0);
          drive += phi(row, j);
        }
        mean = mean / n + x(row, 0);
        for (Index j = 0; j < count_; ++j) {
          const double off = x(row, j) - mean;
          variance += off * off;
          spread += off * phi(row, j);
          if (has_score_) stein += off * s(row, j);
        }
        series(kMean, k, filled_) += mean;
        series(kVariance, k, filled_) += variance / (n - 1);
        series(kDrive, k, filled_) += drive / n;
        series(kSpreadDrive, k, filled_) += spread / (n - 1);
        series(kStein, k, filled_) += stein / (n - 1);
      }
    });
    norms_(0, filled_) += info.driving;
    norms_(1, filled_) += info.repulsion;
  }

  void finish_block() {
    in_block_ = 0;
    blocks_.col(filled_) /= static_cast<double>(block_length_);
    norms_.col(filled_) /= static_cast<double>(block_length_);
    ++filled_;
    if (filled_ >= kMostBlocks / 2 && filled_ % 2 == 0 && steps_ >= settings_.steps) judge();
    if (filled_ < kMostBlocks) {
      blocks_.col(filled_).setZero();
      norms_.col(filled_).setZero();
      return;
    }
    for (Index b = 0; b < kMostBlocks / 2; ++b) {  // pairs of blocks become one
      now_ = (blocks_.col(2 * b) + blocks_.col(2 * b + 1)) / 2;
      blocks_.col(b) = now_;
      const double driving = (norms_(0, 2 * b) + norms_(0, 2 * b + 1)) / 2,
                   repulsion = (norms_(1, 2 * b) + norms_(1, 2 * b + 1)) / 2;
      norms_(0, b) = driving;
      norms_(1, b) = repulsion;
    }
    filled_ = kMostBlocks / 2;
    block_length_ *= 2;
    blocks_.col(filled_).setZero();
    norms_.col(filled_).setZero();
  }

  /// One series over the blocks of the window.
  struct Summary {
    double mean = 0, error = 0;         ///< and its standard error
    double trend = 0, trend_error = 0;  ///< the second half's mean minus the first's
  };

  Summary summarise(Series which, Index k) {
    const Index first = filled_ / 2, w = filled_ - first, half = w / 2;
    Summary out;
    double means[2] = {0, 0};
    for (Index b = 0; b < w; ++b) {
      const double y = series(which, k, first + b);
      out.mean += y / static_cast<double>(w);
      if (b < half) means[0] += y / static_cast<double>(half);
      if (b >= w - half) means[1] += y / static_cast<double>(half);
    }
    double square = 0, lagged = 0, within = 0, before = 0;
    for (Index b = 0; b < w; ++b) {
      const double y = series(which, k, first + b), off = y - out.mean;
      square += off * off;
      if (b > 0) lagged += off * before;
      before = off;
      if (b < half) within += (y - means[0]) * (y - means[0]);
      if (b >= w - half) within += (y - means[1]) * (y - means[1]);
    }
    const auto blocks = static_cast<double>(w);
    out.error = std::sqrt((square + 2 * std::max(0.0, lagged)) / (blocks - 1) / blocks);
    out.trend = means[1] - means[0];
    out.trend_error = std::sqrt(4 * within / std::max(1.0, blocks - 2) / blocks);
    return out;
  }

  /// The factor by which Φ is smaller than a direction of WGD.
  double smoothing() {
    double driving = 0, repulsion = 0, natural = 0;
    for (Index b = filled_ / 2; b < filled_; ++b) {
      driving += norms_(0, b);
      repulsion += norms_(1, b);
    }
    const auto blocks = static_cast<double>(filled_ - filled_ / 2);
    if (!(repulsion > 0)) return 1;
    double factor = driving > 0 ? repulsion / driving : 1;
    if (has_score_) {  // otherwise the norms are of another space
      for (Index k = 0; k < tracked(); ++k) natural += 1 / summarise(kVariance, k).mean;
      natural *= static_cast<double>(dim_) / static_cast<double>(tracked());
      factor = std::max(factor, repulsion / blocks / std::sqrt(natural));
    }
    return factor > 0 ? std::min(1.0, factor) : 1;
  }

  void judge() {
    const double kappa = smoothing();
    double worst = 0;
    Index where = 0;
    const char* what = "the mean";
    const auto take = [&](double size, Index k, const char* name) {
      if (size <= worst) return;  // sizes are relative to what is allowed
      worst = size;
      where = k;
      what = name;
    };
    for (Index k = 0; k < tracked(); ++k) {
      const Summary mean = summarise(kMean, k), variance = summarise(kVariance, k), drive = summarise(kDrive, k),
                    spread = summarise(kSpreadDrive, k), stein = summarise(kStein, k);
      const double v = variance.mean;
      double length = v;  // squared
      if (has_score_ && std::abs(stein.mean) < 1)
        length = std::min(1e6 * v, v / std::max(std::abs(stein.mean), 1e-300));
      length = std::sqrt(length);
      const double allowed = settings_.tolerance;
      take((std::abs(drive.mean) + 2 * drive.error) * length / kappa / allowed, k, "the mean is still driven in");
      double unbalanced = (std::abs(spread.mean) + 2 * spread.error) / kappa;
      if (has_score_ && noisy_) unbalanced = std::min(unbalanced, std::abs(1 + stein.mean) + 2 * stein.error);
      take(unbalanced / (2 * allowed), k, "the spread is still driven in");
      take(trend(mean, allowed * length), k, "the mean still moves in");
      const bool collapsed = v < 1e-4 * length * length;
      take(trend(variance, 2 * allowed * (collapsed ? length * length : v)), k, "the spread still changes in");
    }
    passed_ = worst <= 1 ? passed_ + 1 : 0;
    settled_ = passed_ >= settings_.windows;
    verdict_ = {last_step_, block_length_ * (filled_ - filled_ / 2), rows_[static_cast<std::size_t>(where)], worst,
                what};
  }

  /// 0 if a trend is within its noise or rounding, otherwise relative to what is allowed.
  double trend(const Summary& summary, double allowed) const {
    const double size = std::abs(summary.trend);
    if (size <= 3 * summary.trend_error || size <= 8 * rounding_ * std::abs(summary.mean) || size < 1e-290) return 0;
    return allowed > 0 ? size / allowed : 1e300;
  }

  Settling settings_;
  double rounding_ = 0;
  Index dim_ = 0, count_ = 0, last_step_ = -1, steps_ = 0;
  Index block_length_ = 1, in_block_ = 0, filled_ = 0, passed_ = 0;
  bool shown_ = true, has_score_ = false, noisy_ = false, settled_ = false;
  std::vector<Index> rows_;
  Matrix<double> blocks_, norms_;  ///< a column per block
  Vector<double> now_;
  Verdict verdict_;
};

}  // namespace repel
