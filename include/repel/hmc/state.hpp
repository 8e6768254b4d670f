// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>
#include <repel/hmc/adaptation.hpp>

#include <tuple>

namespace repel {

/// All that changes while chains run, by HMC or NUTS, as a value; a column per chain. It can be saved and loaded like the
/// State of a Sampler (checkpoint.hpp).
template <class P>
struct HmcState {
  P particles;                    ///< where the chains are; not to be edited, since their densities are kept below
  Index step = 0;                 ///< iterations taken so far
  Vector<double> step_size;       ///< of every chain
  Vector<double> variances;       ///< per coordinate: the inverse of the mass matrix
  Vector<double> log_density;     ///< of every chain
  P gradient;                     ///< at the particles
  Vector<double> acceptance;      ///< of the last iteration, per chain; for NUTS the mean over the leaves of its tree
  Vector<double> acceptance_sum;  ///< over all after warm-up
  Index divergences = 0;          ///< divergent transitions after warm-up; non-zero means distrust the result
  Index warmup_divergences = 0;   ///< during warm-up
  Index gradients = 0;            ///< evaluated so far, of one chain each
  Index depth_sum = 0;            ///< NUTS: over all trees of all chains after warm-up
  Index at_max_depth = 0;         ///< NUTS: how many of those trees were cut off at max_depth
  detail::DualAveraging dual;     ///< adapts the step size
  detail::RunningMoments<P> moments;  ///< adapts the mass matrix

  /// What a checkpoint holds besides the particles and the step.
  auto fields() { return tie(*this); }
  auto fields() const { return tie(*this); }

 private:
  static auto tie(auto& s) {
    return std::tuple_cat(std::tie(s.step_size, s.variances, s.log_density, s.gradient, s.acceptance, s.acceptance_sum,
                                   s.divergences, s.warmup_divergences, s.gradients, s.depth_sum, s.at_max_depth),
                          s.dual.fields(), s.moments.fields());
  }
};

namespace detail {

/// Where an iteration takes the chains.
template <class P>
struct Moved {
  P particles, gradient;
  Vector<double> log_density, acceptance;
  Index divergences = 0, gradients = 0, depth = 0, at_max_depth = 0;  ///< sums over the chains

  /// Room for as many chains as there are, and nothing counted yet.
  void begin(const HmcState<P>& s) {
    particles.resize(s.particles.rows(), s.particles.cols());
    gradient.resize(s.particles.rows(), s.particles.cols());
    log_density.resize(s.particles.cols());
    acceptance.resize(s.particles.cols());
    divergences = gradients = depth = at_max_depth = 0;
  }
};

}  // namespace detail

}  // namespace repel
