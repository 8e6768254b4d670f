// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/run.hpp>
#include <repel/sample/ledger.hpp>

#include <algorithm>
#include <cmath>
#include <string>

// The report of sample(), and the verdict in it.

namespace repel {

/// What came of it. `trusted` is false if anything below speaks against the sample, and the message says what. What it
/// cannot see: a mode that no particle has found; how much mass each of several separate modes has; a gradient that
/// belongs to another posterior than the one meant.
struct SampleReport {
  bool trusted = false;          ///< nothing speaks against the sample
  std::string message;           ///< the verdict, what it rests on and what to do, in sentences
  double temperature = 0;        ///< T over the last quarter of the run, before corrections: 1 for a sample
  Eigen::VectorXd temperatures;  ///< and of each whitened coordinate (space/coordinates.hpp)
  double ksd_p_value =
      0;  ///< of the particles returned (diagnostics/ksd.hpp), in whitened coordinates; NaN: no gradient
  Index without_gradient = 0;  ///< random starts with no finite gradient, halved until there was one
  Index arrived = 0;           ///< particles that found a flat place from their start
  Index strays = 0;            ///< that were found where the posterior has no mass, and moved
  Index late_strays = 0;       ///< of these, in the middle of the run
  Index corrected = 0;         ///< coordinates whose moments Stein's identities corrected
  Index gradients = 0;         ///< evaluations of ∇ log p of one particle
  double seconds = 0;          ///< wall time
  Report run;                  ///< of the steps
};

namespace detail {

/// The first coordinate that has the same derivative everywhere, as one that the density does not read; −1 if there is
/// none. `first` are the derivatives of one particle.
template <class Scalar>
Index constant_derivative(const Vector<Scalar>& first, const Matrix<Scalar>& s) {
  for (Index k = 0; k < s.rows(); ++k)
    if ((s.row(k).array() == first(k)).all()) return k;
  return -1;
}

/// How often something happened to one of n particles; one may be counted several times.
inline std::string particles_were(Index count, Index n, const char* what) {
  if (count > n) return concat("particles were ", what, ", ", count, " times");
  return concat(count, count == 1 ? " particle was " : " particles were ", what);
}

/// The largest of several values and where it is; once there is a NaN, that.
inline void keep_worst(double value, Index at, double& worst, Index& worst_at) {
  if (std::isnan(worst) || value <= worst) return;
  worst = value;
  worst_at = at;
}

/// What speaks against the sample of n particles, and the whole verdict. `constant`: see constant_derivative().
template <class Scalar>
void judge(const Ledger<Scalar>& ledger, Index n, Index constant, SampleReport& report) {
  const Index d = ledger.dim();
  std::string against;
  bool cause = false;  // a mistake in the model is likely, and more of the same would not help
  const auto object = [&](const std::string& what) { against.append(against.empty() ? "" : "; ").append(what); };
  if (2 * report.arrived < n) {
    cause = report.arrived == 0;
    object(concat("only ", report.arrived, " of ", n,
                  " particles found a place where the density is flat on its own scale",
                  cause ? " (is the sign of the log density right?)" : ""));
  }
  if (5 * report.without_gradient > n) {
    cause = true;
    object(
        concat(report.without_gradient, " of ", n,
               " random starts had no finite gradient (has a parameter a bound, which repel::constrained would keep, "
               "or is there a NaN in the data?)"));
  }
  if (constant >= 0) {
    cause = true;
    object(concat("the derivative of coordinate ", constant,
                  " was the same wherever it was evaluated (does the log density read it?)"));
  }
  if (report.run.stop == Report::Stop::by_observer) object("it was stopped early");
  if (!report.run.last.finite) object(report.run.message);
  report.temperatures = Eigen::VectorXd::Zero(d);
  if (ledger.full()) {
    double worst_t = 0, worst_move = 0, worst_spread = 0;
    Index t_at = 0, move_at = 0, spread_at = 0;
    for (Index k = 0; k < d; ++k) {
      const auto t = ledger.temperature(k), mean = ledger.mean(k), variance = ledger.variance(k);
      report.temperatures(k) = t.late;  // with the smaller steps
      // A T that scatters too much to be told from 1 is no reason for trust: its error excuses 0.3 at most.
      const double off = std::abs(t.late - 1) - std::min(4 * t.error, 0.3),
                   sd = std::sqrt(std::max(variance.mean, 1e-300)), move = std::abs(mean.change) / sd,
                   spread = std::abs(variance.change) / (2 * variance.mean);
      keep_worst(off, k, worst_t, t_at);
      keep_worst(move, k, worst_move, move_at);
      keep_worst(spread, k, worst_spread, spread_at);
    }
    report.temperature = report.temperatures.mean();
    // Over eighths of a long run at equilibrium, means of 100 particles move by hundredths of a standard deviation.
    const double draws = 1 / std::sqrt(static_cast<double>(n));
    if (!(worst_t <= 0.15))
      object(concat("coordinate ", t_at, " (whitened) has the temperature ", rounded(report.temperatures(t_at)),
                    " where a sample of the posterior has 1",
                    report.temperatures(t_at) < 0 ? " (is the sign of its gradient right?)" : "",
                    std::abs(report.temperatures(t_at)) > 100
                        ? " (has a parameter a bound, which repel::constrained would keep?)"
                        : ""));
    if (2 * report.arrived >= n && !(ledger.turning() <= 0.05))
      object(
          "the force turns: it is not the gradient of any log density (is a cross term or a factor of one coordinate "
          "missing?), or the particles are far from settled");
    if (!(worst_move <= 0.15 + 2 * draws))
      object(concat("the mean of coordinate ", move_at, " still moved by ", rounded(worst_move),
                    " standard deviations in the second half"));
    if (!(worst_spread <= 0.15 + 2 * draws))
      object(concat("the spread of coordinate ", spread_at, " still changed by ", rounded(100 * worst_spread),
                    " % in the second half"));
  } else if (report.run.last.finite) {
    object("there were too few steps to judge it");
  }
  if (20 * report.late_strays > n)
    object(particles_were(report.late_strays, n, "found without mass in the middle of the run"));
  if (std::isnan(report.ksd_p_value))
    object("the gradient at the particles returned is not finite");
  else if (!(report.ksd_p_value >= 0.001))
    object(concat("the kernelised Stein discrepancy rejects it (p = ", rounded(report.ksd_p_value), ")"));
  report.trusted = against.empty();
  report.message =
      report.trusted
          ? concat("a sample of the posterior, as far as can be seen: temperature ", rounded(report.temperature),
                   " (1 for exact draws), nothing moves, the Stein discrepancy finds nothing (p = ",
                   rounded(report.ksd_p_value), ")")
          : concat("not to be trusted: ", against,
                   cause ? "; docs/calibration.md says what the figures mean"
                         : "; more gradients, more particles, a start closer by or another parametrisation may help, "
                           "and docs/calibration.md says what the figures mean");
  if (report.strays > 0)
    report.message.append("; ").append(particles_were(report.strays, n, "moved from places without mass"));
}

}  // namespace detail

}  // namespace repel
