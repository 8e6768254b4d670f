#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <concepts>
#include <functional>
#include <limits>
#include <utility>

namespace repel {

/// What a user brings: a functor that writes ∇ log p of every particle (the columns of w) into g.
template <class T, class P>
concept Target = requires(T& target, const P& w, P& g) {
  target(w, g);
};

/// What the sampler reads and writes at the positions where the particles interact.
template <class Z>
struct PositionBuffers {
  Z force;  ///< S = ∇ log p at the positions
  Z phi;    ///< the rule's direction at the positions
};

/// A space is where the particles interact, seen from the sampler: evaluate() forms the positions the kernel looks at
/// and the driving force there, pull_back() turns a direction at those positions into one for the particles.
/// In weight space the positions are the particles themselves, so there is nothing to pull back.
template <class UserTarget>
class WeightSpace {
 public:
  static constexpr const char* name = "weight_space";

  template <class P>
  using Workspace = PositionBuffers<P>;

  explicit WeightSpace(UserTarget target) : target_(std::forward<UserTarget>(target)) {}  // a value, or a reference

  template <class P>
  Workspace<P> init(const P& particles) const {
    static_assert(Target<UserTarget, P>,
                  "repel::weight_space: the target must be callable as target(w, g), where w is the d x n matrix of "
                  "particles (const) and g the d x n matrix that receives the gradient of the log posterior; for a "
                  "function of a single particle use repel::per_particle(f)");
    return {unwritten(particles), P::Zero(particles.rows(), particles.cols())};
  }

  void begin_step(Index step) {
    if constexpr (requires { target_.begin_step(step); }) target_.begin_step(step);
  }

  template <class P>
  void evaluate(const P& particles, Workspace<P>& w) {
    if (particles.size() == 0) detail::fail(name, "state.particles is empty, but must be as init() made it");
    detail::require_same_shape(name, "state.particles", particles, "at init()", w.phi);
    if (w.force.rows() != particles.rows() || w.force.cols() != particles.cols())
      w.force = unwritten(particles);                                  // the target has resized it
    if constexpr (Target<UserTarget, P>) target_(particles, w.force);  // init() has said what is wrong otherwise
    detail::require_same_shape(name, "the gradient written by the target", w.force, "the particles", particles);
  }

  template <class P>
  const P& positions(const P& particles, const Workspace<P>&) const {
    return particles;
  }

  template <class P>
  const P& pull_back(const P&, const Workspace<P>& w) const {
    return w.phi;
  }

 private:
  /// NaN, so that a target which forgets to write its gradient is noticed at the first step.
  template <class P>
  static P unwritten(const P& particles) {
    return P::Constant(particles.rows(), particles.cols(), std::numeric_limits<typename P::Scalar>::quiet_NaN());
  }

  UserTarget target_;
};

/// A target from a function of one particle, f(w, g) with w and g columns of length d; particles run in parallel where
/// OpenMP is enabled, so f must not write shared data. std::ref(f) is kept by reference.
template <class F>
struct PerParticle {
  F f;

  void begin_step(Index step) requires requires(F& function) { function.begin_step(step); }
  { f.begin_step(step); }

  template <class W, class G>
  void operator()(const W& w, G& g) {
    static_assert(
        std::invocable<F&, decltype(w.col(0)), decltype(g.col(0))&>,
        "repel::per_particle: f must be callable as f(w, g), where w is one particle, a column (const), and g "
        "the column that receives the gradient of its log posterior; both may be auto& or Eigen::Ref");
    // A user's function is taken to be worth a thread from a hundred coordinates on.
    detail::parallel_for(w.cols(), 1000 * static_cast<double>(w.rows()), [&](Index j) {
      const auto particle = w.col(j);
      auto gradient = g.col(j);
      f(particle, gradient);
    });
  }
};

template <class F>
PerParticle<std::unwrap_ref_decay_t<F>> per_particle(F&& f) {
  return {std::forward<F>(f)};
}

}  // namespace repel
