#pragma once

#include <repel/core/check.hpp>
#include <repel/core/float_mode.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/hmc/adaptation.hpp>
#include <repel/hmc/target.hpp>
#include <repel/linalg/virial.hpp>
#include <repel/sampler.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace repel {

/// Settings of Hamiltonian Monte Carlo. Step size and mass matrix are found in warm-up.
struct Hmc {
  Index warmup = 500;              ///< iterations used to adapt, then discarded
  Index samples = 500;             ///< iterations after it, per chain
  Index leapfrog_steps = 20;       ///< on average: each trajectory takes 1 to 2·20 − 1, to avoid resonances
  double target_acceptance = 0.8;  ///< what the step size is adapted to
  Index thin = 1;                  ///< keep every thin-th draw
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

/// All that changes while HMC runs, as a value; a column per chain.
template <class P>
struct HmcState {
  P particles;                    ///< where the chains are; not to be edited, since their densities are kept below
  Index step = 0;                 ///< iterations taken so far
  Vector<double> step_size;       ///< of every chain
  Vector<double> variances;       ///< per coordinate: the inverse of the mass matrix
  Vector<double> log_density;     ///< of every chain
  P gradient;                     ///< at the particles
  Vector<double> acceptance;      ///< of the last iteration, per chain
  Vector<double> acceptance_sum;  ///< over all after warm-up
  Index divergences = 0;          ///< divergent transitions after warm-up; non-zero means distrust the result
  Index warmup_divergences = 0;
  std::vector<detail::DualAveraging> dual;
  detail::RunningMoments<P> moments;
  P position, momentum, slope;  ///< buffers
  Vector<double> proposed, draw;
  std::vector<detail::VirialSums> virials;
};

/// Hamiltonian Monte Carlo on several chains at once: they are the columns of one matrix, so that the target is called
/// for all of them together, as by the other samplers. Every chain adapts its own step size; the mass matrix is shared,
/// and adapted to all chains. Has init and step like a Sampler, so run() and its observers work; hmc() does
/// everything in one call.
template <class Target>
class HmcSampler {
 public:
  HmcSampler(Target target, Hmc settings)
      : target_(std::forward<Target>(target)), settings_(settings), windows_(settings.warmup) {
    settings_.validate();
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
    s.gradient = s.slope = s.momentum = P::Constant(d, n, detail::unwritten<typename P::Scalar>());
    s.log_density.setConstant(n, detail::unwritten<double>());
    s.proposed.setConstant(n, detail::unwritten<double>());
    target_.log_density(s.particles, s.log_density);
    require_values(s.log_density, n);
    for (Index c = 0; c < n; ++c)
      if (!std::isfinite(s.log_density(c)))
        detail::fail("hmc", "the log density of initial.col(", c, ") is ", s.log_density(c), ", but must be finite");
    target_(s.particles, s.gradient);
    detail::require_same_shape("hmc", "the gradient written by the target", s.gradient, "the chains", s.particles);
    detail::require_usable("hmc", "the gradient at initial", s.gradient);
    s.draw.resize(d);
    s.moments.reset(s.particles);
    s.step_size.setOnes(n);
    find_step_size(s);
    return s;
  }

  /// One trajectory of every chain, accepted or not.
  template <class P>
  StepInfo step(HmcState<P>& s) {
    const FlushDenormals flush;
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
    return {.step = s.step,
            .driving = detail::mean_norm(s.gradient),
            .temperature = detail::temperature_of(s.particles, s.gradient, s.virials)};
  }

  const Hmc& settings() const { return settings_; }

 private:
  static void require_values(const Vector<double>& values, Index chains) {
    if (values.size() != chains)
      detail::fail("hmc", "log_density wrote ", values.size(), " values, but must write one per chain: ", chains);
  }

  /// The leapfrog integrator for all chains; s.acceptance becomes min(1, exp(−ΔH)), or NaN for a divergence: if the
  /// energy H rises by more than 1000 or is not finite.
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
      fill_normal<double>(stream_seed(settings_.seed, stream, static_cast<std::uint64_t>(c) + 2), s.draw);
      s.momentum.col(c) = (s.draw.array() / s.variances.array().sqrt()).template cast<Scalar>();
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
      s.acceptance(c) = kept ? std::min(1.0, std::exp(gain)) : std::numeric_limits<double>::quiet_NaN();
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
  void adapt(HmcState<P>& s) {
    for (std::size_t c = 0; c < s.dual.size(); ++c) {
      const auto chain = static_cast<Index>(c);
      s.step_size(chain) = s.dual[c].update(s.acceptance(chain), settings_.target_acceptance);
    }
    if (windows_.contains(s.step)) s.moments.add(s.particles);
    if (windows_.ends_at(s.step)) {
      s.variances = s.moments.variances();
      s.moments.reset(s.particles);
      find_step_size(s);
    }
    if (s.step == settings_.warmup)
      for (std::size_t c = 0; c < s.dual.size(); ++c) s.step_size(static_cast<Index>(c)) = s.dual[c].result();
  }

  Target target_;
  Hmc settings_;
  detail::WarmupWindows windows_;
};

}  // namespace repel
