// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/share.hpp>
#include <repel/core/types.hpp>
#include <repel/sampler.hpp>
#include <repel/space/space.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace repel {

/// What a user brings: a functor that writes ∇ log p of every particle (the columns of w) into g.
template <class T, class P>
concept Target = requires(T& target, const P& w, P& g) {
  target(w, g);
};

/// The particles themselves as the place where they interact. See space.hpp for what a space is.
template <class UserTarget>
class WeightSpace {
 public:
  static constexpr const char* name = "weight_space";

  template <class P>
  struct Buffers {
    static constexpr bool by_rows = P::IsRowMajor;  ///< rules need columns, so row-major particles are copied
    using Columns = std::conditional_t<by_rows, Matrix<typename P::Scalar>, P>;
    P force;       ///< s = ∇ log p
    Columns phi;   ///< the rule's direction
    Columns z, s;  ///< particles and force by columns, if the particles are stored by rows
    P direction;   ///< phi by rows, in the same case
  };

  /// Made by weight_space().
  explicit WeightSpace(UserTarget target) : target_(std::forward<UserTarget>(target)) {}  // a value, or a reference

  void check() const {}

  void begin_step(Index step) {
    if constexpr (requires { target_.begin_step(step); }) target_.begin_step(step);
  }
  void take_share(const Share& share) { detail::take_share(target_, share); }

  template <class P>
  static constexpr void assert_fits() {
    static_assert(Target<UserTarget, P>,
                  "repel::weight_space: the target must be callable as target(w, g), where w is the d x n matrix of "
                  "particles (const) and g the d x n matrix that receives the gradient of the log posterior; for a "
                  "function of a single particle use repel::per_particle(f), for a log density alone "
                  "repel::differentiated(f)");
  }

  template <class P>
  void evaluate(const P& particles, Buffers<P>& b) {
    detail::resize_unwritten(b.force, particles.rows(), particles.cols());
    if constexpr (Target<UserTarget, P>) target_(particles, b.force);  // otherwise assert_fits() has reported it
    detail::require_same_shape(name, "the gradient written by the target", b.force, "the particles", particles);
  }

  template <class P>
  const P& places(const P& particles, const Buffers<P>&) const {
    return particles;
  }
  template <class P>
  P& driving_force(Buffers<P>& b) const {
    return b.force;
  }

  template <class R, class Workspace, class P>
  RuleInfo interact(const R& rule, Workspace& workspace, const P& particles, Buffers<P>& b) const {
    b.phi.resize(particles.rows(), particles.cols());
    if constexpr (Buffers<P>::by_rows) {
      b.z = particles;
      b.s = b.force;
      return rule.direction(b.z, b.s, workspace, b.phi);
    } else {
      return rule.direction(particles, b.force, workspace, b.phi);
    }
  }

  template <class P>
  const auto& phi(const Buffers<P>& b) const {
    return b.phi;
  }
  template <class P>
  const P& direction(const P&, Buffers<P>& b) const {
    if constexpr (Buffers<P>::by_rows)
      return b.direction = b.phi;
    else
      return b.phi;
  }

 private:
  UserTarget target_;
};

/// A target from a function of one particle, f(w, g) with w and g columns of length d; with several threads particles
/// run in parallel, so f must not write to shared data. std::ref(f) is kept by reference.
template <class F>
struct PerParticle {
  F f;  ///< of one particle

  void begin_step(Index step) requires requires(F& function) { function.begin_step(step); }
  { f.begin_step(step); }
  void take_share(const Share& share) { detail::take_share(f, share); }

  /// Calls f for every particle.
  template <class W, class G>
  void operator()(const W& w, G& g) {
    static_assert(
        std::invocable<F&, decltype(w.col(0)), decltype(g.col(0))&>,
        "repel::per_particle: f must be callable as f(w, g), where w is one particle, a column (const), and g "
        "the column that receives the gradient of its log posterior; both may be auto& or Eigen::Ref");
    // A user's function is assumed to be worth a thread from a hundred coordinates upwards.
    detail::parallel_for(w.cols(), 1000 * static_cast<double>(w.rows()), [&](Index j) {
      const auto particle = w.col(j);
      auto gradient = g.col(j);
      f(particle, gradient);
    });
  }
};

/// A target for all particles from f(w, g) of one.
template <class F>
PerParticle<std::unwrap_ref_decay_t<F>> per_particle(F&& f) {
  return {std::forward<F>(f)};
}

/// A sampler on the particles themselves.
///
///   target      writes ∇ log p of every particle: target(w, g), both d×n; std::ref(target) is kept by reference
///   rule        Wgd{…}, Svgd{…}, PlainEnsemble{}
///   optimiser   Adam{…}, Sgd{…}, AdaGrad{…}, RmsProp{…}
///   annealing   a factor on the driving force per step (anneal.hpp); none by default
///   coords      the coordinates in which particles interact and move (space/coordinates.hpp); as given by default
template <class T, class UpdateRule, class Optim = Adam, class Anneal = anneal::Constant,
          class Coords = coordinates::AsGiven>
requires(!Coordinates<Anneal>) auto weight_space(T&& target, UpdateRule rule, Optim optimiser = {},
                                                 Anneal annealing = {}, Coords coords = {}) {
  static_assert(Coordinates<Coords>,
                "repel::weight_space: coordinates are expected here: coordinates::AsGiven{}, "
                "Standardised{} or Whitened{}");
  return detail::make_sampler(WeightSpace<std::unwrap_ref_decay_t<T>>(std::forward<T>(target)), std::move(rule),
                              std::move(optimiser), std::move(annealing), std::move(coords));
}
/// The same without annealing.
template <class T, class UpdateRule, class Optim, Coordinates Coords>
auto weight_space(T&& target, UpdateRule rule, Optim optimiser, Coords coords) {
  return weight_space(std::forward<T>(target), std::move(rule), std::move(optimiser), anneal::Constant{},
                      std::move(coords));
}

}  // namespace repel
