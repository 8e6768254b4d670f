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
#include <repel/sample/verdict.hpp>
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
//   5. judge     see sample/verdict.hpp
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
