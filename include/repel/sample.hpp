// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/density/check_gradient.hpp>
#include <repel/diagnostics/ksd.hpp>
#include <repel/optim/clipped.hpp>
#include <repel/optim/schedule.hpp>
#include <repel/optim/sgd.hpp>
#include <repel/rule/langevin.hpp>
#include <repel/rule/svgd.hpp>
#include <repel/run.hpp>
#include <repel/sample/arrival.hpp>
#include <repel/sample/ledger.hpp>
#include <repel/sample/moments.hpp>
#include <repel/sample/strays.hpp>
#include <repel/space/coordinates.hpp>
#include <repel/space/weight_space.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>

// A sample of a posterior in one call, with the choices made:
//
//   auto result = repel::sample(grad_log_posterior, 10, repel::SampleOptions{.particles = 100, .seed = 1});
//   std::cout << result.report.message << '\n';
//   Eigen::MatrixXd draws = result.particles;                    // 10×100
//
// What it does:
//   1. start     N(0, 1) in every coordinate, or the user's matrix
//   2. arrive    every particle climbs by itself (sample/arrival.hpp); those that end where the posterior has no mass
//                start again among the others (sample/strays.hpp), also at a quarter and at half of the run
//   3. sample    SVGD with Langevin noise (SPOS, β = ½) and a wide kernel, h = the median, in whitened coordinates,
//                Euler steps of 0.2 falling to 0.01, each held to √d
//   4. correct   means and covariances by Stein's identities, where these can be trusted (sample/moments.hpp)
//   5. judge     see SampleReport
//
// The target is that of weight_space: target(w, g) writes ∇ log p of each column, for any number of columns.

namespace repel {

/// What sample() can be told; the defaults are for a posterior that nothing is known of.
struct SampleOptions {
  Index particles = 100;  ///< more of them for more dimensions: see docs/choosing.md
  std::uint64_t seed = 1;
  Index gradients = 0;  ///< evaluations of ∇ log p of one particle, at most; 0: the larger of 450000 and 1000 n
  std::optional<Eigen::MatrixXd> start = {};  ///< d×n, in place of particles and of draws from N(0, 1)
  bool check_gradient =
      false;  ///< first, at three particles, not counted (density/check_gradient.hpp): throws if wrong
};

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

/// What sample() returns.
struct Sample {
  Eigen::MatrixXd particles;  ///< d×n
  SampleReport report;        ///< whether to trust them, and why
};

namespace detail {

inline constexpr Index kStrayGradients = 75;  ///< for each particle, when strays are looked for in the middle of a run

/// A sampler that gathers strays at two of its steps, and keeps a ledger.
template <class Sampler, class Target>
struct StagedSampler {
  Sampler& sampler;
  CountedTarget<Target>& target;
  Ledger<double>& ledger;
  SampleReport& report;
  Index steps;
  std::uint64_t seed;
  Matrix<double> before{}, work{}, z{}, s{}, pulled{};

  template <class State>
  StepInfo step(State& state) {
    if (state.step > 0 && (state.step == steps / 4 || state.step == steps / 2)) {
      const Index found =
          gather_strays(target, state.particles, stream_seed(seed, 3, static_cast<std::uint64_t>(state.step)),
                        kStrayGradients * state.particles.cols());
      report.strays += found;
      report.late_strays += found;
    }
    const Index at = state.step;
    if (ledger.wants(at)) before = state.particles;
    const StepInfo info = sampler.step(state);
    if (info.finite && ledger.wants(at)) {
      s.resize(before.rows(), before.cols());
      for (Index j = 0; j < s.cols(); ++j)
        for (Index k = 0; k < s.rows(); ++k) s(k, j) = info.gradients(k, j);
      state.memory.frame.enter(before, work, z);
      state.memory.frame.pull(s, work, pulled);
      ledger.add(at, before, z, pulled);
    }
    return info;
  }
};

/// Draws from N(0, 1); those whose gradient is not finite are halved until it is. Returns how many these are.
template <class Target>
Index start_at_random(CountedTarget<Target>& target, std::uint64_t seed, Matrix<double>& x, Matrix<double>& s) {
  for (Index j = 0; j < x.cols(); ++j) {
    Random random(stream_seed(seed, 1, static_cast<std::uint64_t>(j)));
    for (Index k = 0; k < x.rows(); ++k) x(k, j) = random.normal();
  }
  Index halved = 0;
  for (int round = 0; round < 40; ++round) {
    target(x, s);
    if (all_usable(s)) break;
    for (Index j = 0; j < x.cols(); ++j)
      if (!all_usable(s.col(j))) {
        x.col(j) /= 2;
        if (round == 0) ++halved;
      }
  }
  return halved;
}

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

/// Particles that are a sample of the posterior, and a report that says whether they are.
template <class Target, class... Observers>
Sample sample(Target&& user_target, Index dim, const SampleOptions& options = {}, Observers&&... observers) {
  using Mat = Matrix<double>;
  static_assert(
      repel::Target<std::remove_reference_t<Target>, Mat>,
      "repel::sample: the target must be callable as target(w, g), where w is a d x n matrix of particles "
      "(const, double) and g the d x n matrix that receives the gradient of the log posterior; for a function "
      "of a single particle use repel::per_particle(f), for a log density alone repel::differentiated(f)");
  if (dim < 1) detail::fail("sample", "dim is ", dim, ", but must be at least 1");
  if (options.start) {
    detail::require_points("sample", "options.start", *options.start);
    if (options.start->rows() != dim)
      detail::fail("sample", "options.start has ", options.start->rows(), " rows, but must have ", dim, " like dim");
  }
  const Index n = options.start ? options.start->cols() : options.particles;
  if (n < 4 || n > (Index{1} << 40))
    detail::fail("sample", "particles is ", n, ", but must be at least 4 and at most 2^40");
  const Index gradients = options.gradients == 0 ? std::max<Index>(450000, 1000 * n) : options.gradients;
  if (gradients < 1000 * n)
    detail::fail("sample", "gradients is ", gradients, ", but must be at least 1000 for each of ", n,
                 " particles, or 0 for the default");

  const auto begun = std::chrono::steady_clock::now();
  Sample out;
  SampleReport& report = out.report;
  std::remove_reference_t<Target>& reference = user_target;
  detail::CountedTarget<std::remove_reference_t<Target>> target(reference);
  const FlushDenormals flush;
  Mat x(dim, n), s(dim, n);
  target.begin_step(0);
  if (options.start) {
    x = *options.start;
    target(x, s);
  } else {
    report.without_gradient = detail::start_at_random(target, options.seed, x, s);
  }
  if (!detail::all_usable(s))
    detail::fail("sample", "the gradient of the log posterior is not finite at particle ",
                 detail::first_unusable_column(s),
                 " of the start, but must be: is there a NaN in the data, or a parameter with a bound, which "
                 "repel::constrained would keep? options.start can give another start");
  const Vector<double> derivatives = s.col(0);
  Index constant = detail::constant_derivative(derivatives, s);
  if (options.check_gradient) {
    const GradientCheck check = check_gradient(reference, x.leftCols(std::min<Index>(3, n)));
    if (!check.passed) detail::fail("sample", check.message);
  }

  report.arrived = detail::arrive(target, x, s, std::min<Index>(300, gradients / (8 * n)));
  report.strays = detail::gather_strays(target, x, stream_seed(options.seed, 2), 150 * n);

  // What is left, less what the later stages take: two more looks for strays, and the correction.
  constexpr Index corrections = 40;
  const Index steps = (gradients - target.count()) / n - corrections - 2 * detail::kStrayGradients - 2;
  const double wide = std::log(static_cast<double>(n) + 1);
  auto sampler = weight_space(std::ref(target),
                              Langevin{Svgd{Rbf{Scaled{MedianBandwidth{}, wide}}}, 0.5, stream_seed(options.seed, 4)},
                              Scheduled{Clipped{Sgd{.learning_rate = 0.2}, std::sqrt(static_cast<double>(dim))},
                                        schedule::Cosine{.steps = steps, .last = 0.05}},
                              coordinates::Whitened{.until = steps * 4 / 5});
  auto state = sampler.init(x);
  detail::Ledger<double> ledger(dim, steps / 2, steps);
  detail::StagedSampler<decltype(sampler), std::remove_reference_t<Target>> staged{sampler, target, ledger,
                                                                                   report,  steps,  options.seed};
  report.run = run(staged, state, steps, std::forward<Observers>(observers)...);

  // The correction, in the last coordinates of the run.
  const auto& frame = state.memory.frame;
  Mat work, z, pulled, moved = state.particles;
  const auto look = [&] {
    target(moved, s);
    frame.enter(moved, work, z);
    frame.pull(s, work, pulled);
    return detail::all_usable(s) && detail::all_usable(z);
  };
  if (report.run.finished() && look()) {
    const detail::MomentCorrection<double> correction(z, pulled);
    bool sound = correction.useful();
    for (Index i = 0; i < corrections && sound; ++i) {
      z += 0.3 * correction.direction(z, pulled);
      frame.leave(z, work, moved);
      sound = look();
    }
    if (sound) {
      state.particles = moved;
      report.corrected = correction.corrected();
    }
  }
  moved = state.particles;
  report.ksd_p_value = look() ? diagnostics::ksd_test(z, pulled, diagnostics::KsdTest{.seed = options.seed}).p_value
                              : std::numeric_limits<double>::quiet_NaN();
  if (constant >= 0) constant = detail::constant_derivative(derivatives, s);
  detail::judge(ledger, n, constant, report);
  report.gradients = target.count();
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  out.particles = std::move(state.particles);
  return out;
}

}  // namespace repel
