#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/hmc/diagnostics.hpp>
#include <repel/run.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace repel {

/// Settings of Hamiltonian Monte Carlo. Step size and mass matrix are found in warm-up.
struct Hmc {
  Index warmup = 500;              ///< iterations that adapt, and are thrown away
  Index samples = 500;             ///< iterations after it, per chain
  Index leapfrog_steps = 20;       ///< the mean number: each trajectory takes 1 to 2·20 − 1, against resonances
  double target_acceptance = 0.8;  ///< what the step size is adapted to
  Index thin = 1;                  ///< keep every so-many-th draw
  std::uint64_t seed = 0;

  void validate() const {
    if (warmup < 0) detail::fail("Hmc", "warmup is ", warmup, ", but must be at least 0");
    if (samples < 1) detail::fail("Hmc", "samples is ", samples, ", but must be at least 1");
    if (leapfrog_steps < 1) detail::fail("Hmc", "leapfrog_steps is ", leapfrog_steps, ", but must be at least 1");
    if (thin < 1 || thin > samples)
      detail::fail("Hmc", "thin is ", thin, ", but must be at least 1 and at most samples, ", samples);
    if (!(target_acceptance > 0 && target_acceptance < 1))
      detail::fail("Hmc", "target_acceptance is ", target_acceptance, ", but must be larger than 0 and below 1");
  }
};

/// A target for HMC from two functions of a d×n batch: gradient(w, g) as for weight_space(), and log_density(w, values)
/// which writes log p of every column, up to a common constant.
template <class Gradient, class LogDensity>
struct TargetWithDensity {
  Gradient gradient;
  LogDensity density;

  template <class W, class G>
  void operator()(const W& w, G& g) {
    gradient(w, g);
  }
  template <class W>
  void log_density(const W& w, Vector<double>& values) {
    density(w, values);
  }
};
template <class Gradient, class LogDensity>
TargetWithDensity<std::decay_t<Gradient>, std::decay_t<LogDensity>> with_log_density(Gradient&& gradient,
                                                                                     LogDensity&& log_density) {
  return {std::forward<Gradient>(gradient), std::forward<LogDensity>(log_density)};
}

template <class T, class P>
concept HmcTarget = requires(T& target, const P& w, P& g, Vector<double>& values) {
  target(w, g);
  target.log_density(w, values);
};

namespace detail {

/// Nesterov's dual averaging of the log step size (Hoffman & Gelman 2014, their constants).
struct DualAveraging {
  double centre = 0, error = 0, average = 0, count = 0;

  void restart(double step_size) { *this = {std::log(10 * step_size), 0, 0, 0}; }
  /// Takes the acceptance of an iteration and returns the step size of the next.
  double update(double acceptance, double wanted) {
    constexpr double gamma = 0.05, delay = 10, kappa = 0.75;
    ++count;
    error += (wanted - acceptance - error) / (count + delay);
    const double log_size = centre - std::sqrt(count) / gamma * error;
    average += std::pow(count, -kappa) * (log_size - average);
    return std::exp(log_size);
  }
  double result() const { return std::exp(average); }
};

}  // namespace detail

/// All that changes while HMC runs, as a value; a column per chain.
template <class P>
struct HmcState {
  P particles;                    ///< where the chains are; not to be edited, since their densities are kept below
  Index step = 0;                 ///< iterations taken so far
  Vector<double> step_size;       ///< of every chain
  Vector<double> variances;       ///< per coordinate: the inverse of the mass matrix
  Vector<double> log_density;     ///< of every chain
  P gradient;                     ///< there
  Vector<double> acceptance;      ///< of the last iteration, per chain
  Vector<double> acceptance_sum;  ///< over all after warm-up
  Index divergences = 0;          ///< trajectories after warm-up that lost their energy
  Index warmup_divergences = 0;
  std::vector<detail::DualAveraging> dual;
  Index seen = 0;  ///< draws that the running moments below have seen, per chain
  P mean, squares;
  P position, momentum, slope;  ///< buffers
  Vector<double> proposed;
};

/// Hamiltonian Monte Carlo on several chains at once: they are the columns of one matrix, so that the target is called
/// for all of them together, as by the other samplers. Every chain adapts its own step size; the mass matrix is shared,
/// and adapted to all chains. Has init and step like a Sampler, so run() and its observers work; hmc() below does all
/// in one call.
template <class Target>
class HmcSampler {
 public:
  HmcSampler(Target target, Hmc settings) : target_(std::forward<Target>(target)), settings_(settings) {
    settings_.validate();
    // Stan's schedule: first only the step size, then windows that double, each ending with a new mass matrix, then the
    // step size again.
    const Index first = settings_.warmup * 15 / 100, last = settings_.warmup - settings_.warmup / 10;
    if (settings_.warmup >= 20) {
      Index at = first;
      for (Index width = 25; at < last; width *= 2) {
        at += width;
        if (at + 2 * width > last) at = last;  // the next would not fit: this one takes its room
        window_ends_.push_back(at);
      }
      window_start_ = first;
    }
  }

  template <class Derived>
  HmcState<typename Derived::PlainObject> init(const Eigen::MatrixBase<Derived>& particles) {
    using P = typename Derived::PlainObject;
    static_assert(Real<typename P::Scalar>, "repel::hmc: the initial positions must be a matrix of float or double");
    static_assert(
        HmcTarget<std::remove_reference_t<Target>, P>,
        "repel::hmc: the target must be callable as target(w, g) and have log_density(w, values), where w and g "
        "are d x n and values is a Vector<double> of length n; see repel::with_log_density");
    HmcState<P> s;
    s.particles = particles;
    detail::require_points("hmc", "initial", s.particles);
    const Index d = s.particles.rows(), n = s.particles.cols();
    s.variances.setOnes(d);
    s.acceptance.setZero(n);
    s.acceptance_sum.setZero(n);
    s.gradient = s.slope = s.momentum = P::Constant(d, n, static_cast<typename P::Scalar>(kUnwritten));
    s.log_density.setConstant(n, kUnwritten);
    s.proposed.setConstant(n, kUnwritten);
    target_.log_density(s.particles, s.log_density);
    require_values(s.log_density, n);
    for (Index c = 0; c < n; ++c)
      if (!std::isfinite(s.log_density(c)))
        detail::fail("hmc", "the log density of initial.col(", c, ") is ", s.log_density(c), ", but must be finite");
    target_(s.particles, s.gradient);
    detail::require_same_shape("hmc", "the gradient written by the target", s.gradient, "the chains", s.particles);
    detail::require_usable("hmc", "the gradient at initial", s.gradient);
    reset_moments(s);
    s.step_size.setOnes(n);
    find_step_size(s);
    return s;
  }

  /// One trajectory of every chain, accepted or not.
  template <class P>
  StepInfo step(HmcState<P>& s) {
    const bool warming = s.step < settings_.warmup;
    const auto steps = static_cast<std::uint64_t>(s.step);
    Random random(stream_seed(settings_.seed, steps, 1));
    const auto trajectory =
        1 + static_cast<Index>(random.uniform() * static_cast<double>(2 * settings_.leapfrog_steps - 1));
    propose(s, trajectory, steps);
    for (Index c = 0; c < s.particles.cols(); ++c) {
      const double chance = s.acceptance(c);
      if (std::isnan(chance)) ++(warming ? s.warmup_divergences : s.divergences);
      if (!(random.uniform() < chance)) continue;
      s.particles.col(c) = s.position.col(c);
      s.gradient.col(c) = s.slope.col(c);
      s.log_density(c) = s.proposed(c);
    }
    s.acceptance = s.acceptance.array().isNaN().select(0, s.acceptance);
    ++s.step;
    if (warming)
      adapt(s);
    else
      s.acceptance_sum += s.acceptance;
    return {.step = s.step, .driving = static_cast<double>(s.gradient.colwise().norm().mean())};
  }

  const Hmc& settings() const { return settings_; }

 private:
  /// What buffers hold until the target writes them: one that forgets to is noticed.
  static constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

  static void require_values(const Vector<double>& values, Index chains) {
    if (values.size() != chains)
      detail::fail("hmc", "log_density wrote ", values.size(), " values, but must write one per chain: ", chains);
  }

  /// The leapfrog integrator for all chains; s.acceptance becomes min(1, exp(−ΔH)), or NaN where the energy is not
  /// finite.
  template <class P>
  void propose(HmcState<P>& s, Index trajectory, std::uint64_t stream) {
    using Scalar = typename P::Scalar;
    const auto kinetic = [&](Index c) {
      return 0.5 * (s.variances.array() * s.momentum.col(c).template cast<double>().array().square()).sum();
    };
    const Index n = s.particles.cols();
    s.acceptance.resize(n);
    const auto kick = [&](double part) {
      for (Index c = 0; c < n; ++c) s.momentum.col(c) += static_cast<Scalar>(part * s.step_size(c)) * s.slope.col(c);
    };
    for (Index c = 0; c < n; ++c) {
      draw_.resize(s.particles.rows());
      fill_normal<double>(stream_seed(settings_.seed, stream, static_cast<std::uint64_t>(c) + 2), draw_);
      s.momentum.col(c) = (draw_.array() / s.variances.array().sqrt()).template cast<Scalar>();
      s.acceptance(c) = s.log_density(c) - kinetic(c);  // −H at the start
    }
    s.position = s.particles;
    s.slope = s.gradient;
    kick(0.5);
    for (Index l = 1; l <= trajectory; ++l) {
      for (Index c = 0; c < n; ++c)
        s.position.col(c).array() += static_cast<Scalar>(s.step_size(c)) * s.variances.array().template cast<Scalar>() *
                                     s.momentum.col(c).array();
      target_(std::as_const(s.position), s.slope);
      kick(l < trajectory ? 1 : 0.5);
    }
    detail::require_same_shape("hmc", "the gradient written by the target", s.slope, "the chains", s.particles);
    target_.log_density(std::as_const(s.position), s.proposed);
    require_values(s.proposed, n);
    for (Index c = 0; c < n; ++c) {
      const double gain = s.proposed(c) - kinetic(c) - s.acceptance(c);
      const bool kept = gain > -1000 && std::isfinite(gain) && detail::all_usable(s.slope.col(c));
      s.acceptance(c) = kept ? std::min(1.0, std::exp(gain)) : kUnwritten;
    }
  }

  /// Doubles or halves each step size until one leapfrog step is neither too good nor too bad.
  template <class P>
  void find_step_size(HmcState<P>& s) {
    const Index n = s.particles.cols();
    std::vector<int> direction(static_cast<std::size_t>(n), 0);
    bool searching = true;
    for (std::uint64_t tries = 0; searching; ++tries) {
      propose(s, 1, ~tries);
      searching = false;
      for (Index c = 0; c < n; ++c) {
        int& d = direction[static_cast<std::size_t>(c)];
        const int wanted = s.acceptance(c) > settings_.target_acceptance ? 1 : -1;  // NaN is not
        if (d == 2 || (d != 0 && wanted != d)) {
          d = 2;  // found
          continue;
        }
        d = wanted;
        s.step_size(c) *= d > 0 ? 2 : 0.5;
        searching = true;
        if (!(s.step_size(c) < 1e10 && s.step_size(c) > 1e-20))
          detail::fail("hmc", "the step size of chain ", c, " came to ", s.step_size(c),
                       ", but must be between 1e-20 and ",
                       "1e10: the log density there is flat, not finite, or does not fit the gradient");
      }
    }
    s.dual.resize(static_cast<std::size_t>(n));
    restart_dual(s);
  }

  template <class P>
  static void restart_dual(HmcState<P>& s) {
    for (std::size_t c = 0; c < s.dual.size(); ++c) s.dual[c].restart(s.step_size(static_cast<Index>(c)));
  }

  template <class P>
  static void reset_moments(HmcState<P>& s) {
    s.seen = 0;
    s.mean = s.squares = P::Zero(s.particles.rows(), s.particles.cols());
  }

  template <class P>
  void adapt(HmcState<P>& s) {
    using Scalar = typename P::Scalar;
    for (std::size_t c = 0; c < s.dual.size(); ++c) {
      const auto chain = static_cast<Index>(c);
      s.step_size(chain) = s.dual[c].update(s.acceptance(chain), settings_.target_acceptance);
    }
    if (s.step > window_start_ && !window_ends_.empty() && s.step <= window_ends_.back()) {
      ++s.seen;  // Welford's running mean and sum of squares
      s.slope = s.particles - s.mean;
      s.mean += s.slope / static_cast<Scalar>(s.seen);
      s.squares.array() += s.slope.array() * (s.particles - s.mean).array();
    }
    for (const Index end : window_ends_)
      if (s.step == end && s.seen > 1) {
        // The variance within chains, drawn a little towards a small one as Stan does.
        const auto count = static_cast<double>(s.seen * s.particles.cols());
        const Vector<double> within = s.squares.template cast<double>().rowwise().sum() /
                                      (static_cast<double>(s.seen - 1) * static_cast<double>(s.particles.cols()));
        s.variances = (count / (count + 5) * within.array() + 1e-3 * 5 / (count + 5)).matrix();
        reset_moments(s);
        find_step_size(s);
      }
    if (s.step == settings_.warmup)
      for (std::size_t c = 0; c < s.dual.size(); ++c) s.step_size(static_cast<Index>(c)) = s.dual[c].result();
  }

  Target target_;
  Hmc settings_;
  Index window_start_ = 0;
  std::vector<Index> window_ends_;
  Vector<double> draw_;
};

/// What hmc() returns.
template <class Scalar>
struct HmcResult {
  Matrix<Scalar> draws;  ///< d×(chains · draws per chain), chain after chain
  Index chains = 0;
  Index draws_per_chain = 0;
  Eigen::VectorXd step_size;   ///< found in warm-up, per chain
  Eigen::VectorXd acceptance;  ///< mean over the iterations after warm-up, per chain
  Index divergences = 0;       ///< trajectories after warm-up that lost their energy: a reason for doubt
  Index warmup_divergences = 0;
  Diagnostics diagnostics;  ///< split R̂ and effective sample size of every coordinate; NaN below 4 draws
  Report report;            ///< of the run

  /// The draws of one chain.
  auto chain(Index c) const { return draws.middleCols(c * draws_per_chain, draws_per_chain); }
};

/// Runs HMC from the columns of `initial`, one chain each, and keeps the draws after warm-up. Observers trail as in
/// run(); where one stops the run, what was drawn so far is returned.
///
///   target   target(w, g) and target.log_density(w, values): a Bnn's target(), or with_log_density(…)
template <class T, class Derived, class... Observers>
HmcResult<typename Derived::Scalar> hmc(T&& target, const Eigen::MatrixBase<Derived>& initial, const Hmc& settings = {},
                                        Observers&&... observers) {
  using Scalar = typename Derived::Scalar;
  HmcSampler<std::unwrap_ref_decay_t<T>> sampler(std::forward<T>(target), settings);
  auto state = sampler.init(initial);
  const Index chains = state.particles.cols(), room = settings.samples / settings.thin;
  HmcResult<Scalar> out;
  Matrix<Scalar> draws(state.particles.rows(), chains * room);
  Index kept = 0;
  const auto keep = [&](const auto& s, const StepInfo&) {
    const Index after = s.step - settings.warmup;
    if (after < 1 || after % settings.thin != 0 || kept == room) return;
    for (Index c = 0; c < chains; ++c) draws.col(c * room + kept) = s.particles.col(c);
    ++kept;
  };
  out.report = run(sampler, state, settings.warmup + settings.samples, keep, std::forward<Observers>(observers)...);
  if (kept < room) {  // stopped early: close the gaps between the chains
    for (Index c = 1; c < chains; ++c)
      for (Index k = 0; k < kept; ++k) draws.col(c * kept + k) = draws.col(c * room + k);
    draws.conservativeResize(Eigen::NoChange, chains * kept);
  }
  out.draws = std::move(draws);
  out.chains = chains;
  out.draws_per_chain = kept;
  out.step_size = state.step_size;
  const Index after = std::max<Index>(0, state.step - settings.warmup);
  out.acceptance = state.acceptance_sum / static_cast<double>(std::max<Index>(1, after));
  out.divergences = state.divergences;
  out.warmup_divergences = state.warmup_divergences;
  if (kept >= 4)
    out.diagnostics = diagnose(out.draws, chains);
  else  // too few to tell
    out.diagnostics.r_hat = out.diagnostics.effective_samples =
        Eigen::VectorXd::Constant(out.draws.rows(), std::numeric_limits<double>::quiet_NaN());
  return out;
}

}  // namespace repel
