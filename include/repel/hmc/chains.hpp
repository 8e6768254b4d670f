// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/float_mode.hpp>
#include <repel/core/scratch.hpp>
#include <repel/core/types.hpp>
#include <repel/hmc/adaptation.hpp>
#include <repel/hmc/leapfrog.hpp>
#include <repel/hmc/state.hpp>
#include <repel/hmc/target.hpp>
#include <repel/linalg/norm.hpp>
#include <repel/linalg/virial.hpp>
#include <repel/sampler.hpp>

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace repel::detail {

/// The settings that Hmc and Nuts share.
template <class Settings>
void require_chain_settings(const char* where, const Settings& s) {
  constexpr Index most = Index{1} << 40;  // sums and small multiples of them stay in range
  if (s.warmup < 0 || s.warmup > most)
    fail(where, "warmup is ", s.warmup, ", but must be at least 0 and at most ", most);
  if (s.samples < 1 || s.samples > most)
    fail(where, "samples is ", s.samples, ", but must be at least 1 and at most ", most);
  if (s.thin < 1 || s.thin > s.samples)
    fail(where, "thin is ", s.thin, ", but must be at least 1 and at most samples, ", s.samples);
  if (!(s.target_acceptance > 0 && s.target_acceptance < 1))
    fail(where, "target_acceptance is ", s.target_acceptance, ", but must be larger than 0 and below 1");
}

/// What HmcSampler and NutsSampler have in common, all but the transition: chains that are the columns of one matrix, so
/// that the target is called for all of them together, as by the other samplers. Every chain adapts its own step size;
/// the mass matrix is shared, and adapted to all chains.
///
/// Move<P> is the transition, with the buffers that it needs: move(target, settings, state, moved) writes where the
/// chains go and changes nothing else.
template <class Target, class Settings, template <class> class Move>
class ChainSampler {
  template <class P>
  struct Buffers {
    Move<P> move;
    Moved<P> next;
    std::vector<VirialSums> virials;
  };

 public:
  ChainSampler(Target target, Settings settings)
      : target_(std::forward<Target>(target)),
        settings_(settings),
        windows_(settings.adapt_mass ? settings.warmup : 0) {
    settings_.validate();
  }

  /// The state at step 0, with a step size found for every chain.
  template <class Derived>
  HmcState<typename Derived::PlainObject> init(const Eigen::MatrixBase<Derived>& particles) {
    using P = typename Derived::PlainObject;
    static_assert(Real<typename P::Scalar>,
                  "repel::hmc and repel::nuts: the initial positions must be a matrix of float or double");
    static_assert(HmcTarget<std::remove_reference_t<Target>, P>,
                  "repel::hmc and repel::nuts: the target must be callable as target(w, g) and have log_density(w, "
                  "values), where "
                  "w and g are d x n and values is a Vector<double> of length n; see repel::with_log_density");
    HmcState<P> s;
    s.particles = particles;
    require_points(name, "initial", s.particles);
    const Index d = s.particles.rows(), n = s.particles.cols();
    s.variances.setOnes(d);
    s.acceptance.setZero(n);
    s.acceptance_sum.setZero(n);
    s.gradient = P::Constant(d, n, unwritten<typename P::Scalar>());
    s.log_density.setConstant(n, unwritten<double>());
    evaluate(target_, std::as_const(s.particles), s.gradient, s.log_density);
    require_values(name, s.log_density, n);
    for (Index c = 0; c < n; ++c)
      if (!std::isfinite(s.log_density(c)))
        fail(name, "the log density of initial.col(", c, ") is ", s.log_density(c), ", but must be finite");
    require_same_shape(name, "the gradient written by the target", s.gradient, "the chains", s.particles);
    require_usable(name, "the gradient at initial", s.gradient);
    s.gradients = n;
    s.moments.reset(s.particles);
    s.step_size.setOnes(n);
    find_step_size(s);
    return s;
  }

  /// One iteration of every chain. If the target throws, nothing has changed.
  template <class P>
  StepInfo step(HmcState<P>& s) {
    const FlushDenormals flush;
    if (s.step >= settings_.warmup || !windows_.ends_at(s.step + 1)) return advance(s);
    HmcState<P> next = s;  // the target is called again after the move, to find step sizes for a new mass matrix
    const StepInfo info = advance(next);
    s = std::move(next);
    return info;
  }

  const Settings& settings() const { return settings_; }

 private:
  static constexpr const char* name = Settings::name;

  template <class P>
  StepInfo advance(HmcState<P>& s) {
    auto& [move, next, virials] = scratch_.template get<Buffers<P>>();
    next.begin(s);
    move(target_, settings_, std::as_const(s), next);
    s.particles.swap(next.particles);
    s.gradient.swap(next.gradient);
    s.log_density.swap(next.log_density);
    s.acceptance.swap(next.acceptance);
    s.gradients += next.gradients;
    if (++s.step <= settings_.warmup) {
      s.warmup_divergences += next.divergences;
      adapt(s);
    } else {
      s.divergences += next.divergences;
      s.depth_sum += next.depth;
      s.at_max_depth += next.at_max_depth;
      s.acceptance_sum += s.acceptance;
    }
    return {.step = s.step,
            .driving = mean_norm(s.gradient),
            .temperature = temperature_of(s.particles, s.gradient, virials)};
  }

  /// Doubles or halves each step size until one leapfrog step is neither too good nor too bad.
  template <class P>
  void find_step_size(HmcState<P>& s) {
    const Index n = s.particles.cols();
    Trajectories<P> one;
    one.slope = P::Constant(s.particles.rows(), n, unwritten<typename P::Scalar>());
    std::vector<int> direction(static_cast<std::size_t>(n), 0);
    bool searching = true;
    for (std::uint64_t tries = 0; searching; ++tries) {
      one.run(name, target_, s, settings_.seed, ~tries, 1);
      s.gradients += n;
      searching = false;
      for (Index c = 0; c < n; ++c) {
        int& d = direction[static_cast<std::size_t>(c)];
        const int wanted = one.acceptance(c) > settings_.target_acceptance ? 1 : -1;  // NaN is not
        if (d == 2 || (d != 0 && wanted != d)) {
          d = 2;  // found
          continue;
        }
        d = wanted;
        s.step_size(c) *= d > 0 ? 2 : 0.5;
        searching = true;
        // Scales of any size are fine, as long as squares of them can be computed with.
        const auto largest = static_cast<double>(largest_coordinate<typename P::Scalar>());
        if (!(s.step_size(c) < largest && s.step_size(c) > 1 / largest))
          fail(name, "the step size of chain ", c, " came to ", s.step_size(c), ", but must be between ", 1 / largest,
               " and ", largest, ": the log density there is flat, not finite, or does not fit the gradient");
      }
    }
    s.dual.restart(s.step_size);
  }

  template <class P>
  void adapt(HmcState<P>& s) {
    s.dual.update(s.acceptance, settings_.target_acceptance, s.step_size);
    if (windows_.contains(s.step)) s.moments.add(s.particles);
    if (windows_.ends_at(s.step)) {
      s.variances = s.moments.variances();
      s.moments.reset(s.particles);
      find_step_size(s);
    }
    if (s.step == settings_.warmup) s.dual.result(s.step_size);
  }

  Target target_;
  Settings settings_;
  WarmupWindows windows_;
  Scratch scratch_;
};

}  // namespace repel::detail
