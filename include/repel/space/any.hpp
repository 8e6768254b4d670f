// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/share.hpp>
#include <repel/core/types.hpp>
#include <repel/space/function_space.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

// Targets, models and samplers behind plain functions, to choose one at run time or to keep compile times down: a
// sampler on an AnyTarget or AnyModel is compiled once, whatever posterior it is given, and an AnySampler may be any
// rule in any space. Copies share what is inside.

namespace repel {

namespace detail {

/// What is inside: a value of its own, or what std::ref refers to.
template <class T>
auto hold(T&& object) {
  if constexpr (std::is_reference_v<std::unwrap_ref_decay_t<T>>) {
    auto& referred = static_cast<std::unwrap_ref_decay_t<T>>(object);
    return std::shared_ptr<std::remove_reference_t<decltype(referred)>>(&referred, [](auto*) {});
  } else {
    return std::make_shared<std::remove_cvref_t<T>>(std::forward<T>(object));
  }
}

}  // namespace detail

/// Any target for particles of type Matrix<Scalar>.
template <class Scalar>
class AnyTarget {
  using M = Matrix<Scalar>;

 public:
  /// Holds a copy of any target, or a reference by std::ref.
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, AnyTarget>) explicit AnyTarget(T&& target) {
    const auto shared = detail::hold(std::forward<T>(target));
    gradient_ = [shared](const M& w, M& g) { (*shared)(w, g); };
    if constexpr (requires { shared->begin_step(Index{0}); })
      begin_ = [shared](Index step) { shared->begin_step(step); };
    share_ = [shared](const Share& share) { detail::take_share(*shared, share); };
    if constexpr (requires(const M& w, Vector<double>& values) { shared->log_density(w, values); })
      density_ = [shared](const M& w, Vector<double>& values) { shared->log_density(w, values); };
    if constexpr (requires(const M& w, M& g, Vector<double>& values) { shared->value_and_gradient(w, g, values); })
      both_ = [shared](const M& w, M& g, Vector<double>& values) { shared->value_and_gradient(w, g, values); };
  }

  void begin_step(Index step) {
    if (begin_) begin_(step);
  }
  void take_share(const Share& share) { share_(share); }
  /// Writes the gradient of every particle into g.
  void operator()(const M& w, M& g) { gradient_(w, g); }
  void log_density(const M& w, Vector<double>& values) {
    if (!density_) detail::fail("AnyTarget", "the target has no log_density(w, values), but HMC needs it");
    density_(w, values);
  }
  /// In one call if the target can, else in two.
  void value_and_gradient(const M& w, M& g, Vector<double>& values) {
    if (both_) return both_(w, g, values);
    gradient_(w, g);
    log_density(w, values);
  }

 private:
  std::function<void(Index)> begin_;
  std::function<void(const Share&)> share_;
  std::function<void(const M&, M&)> gradient_;
  std::function<void(const M&, Vector<double>&)> density_;
  std::function<void(const M&, M&, Vector<double>&)> both_;
};

/// Any model of function space for particles of type Matrix<Scalar>.
template <class Scalar>
class AnyModel {
  using M = Matrix<Scalar>;

 public:
  /// Holds a copy of any model, or a reference by std::ref.
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, AnyModel>) explicit AnyModel(T&& model) {
    const auto shared = detail::hold(std::forward<T>(model));
    layout_ = [shared] { return layout_of(std::as_const(*shared)); };
    predict_ = [shared](const M& w, M& f) { shared->predict(w, f); };
    score_ = [shared](const M& f, M& g) { shared->score(f, g); };
    pullback_ = [shared](const M& w, const M& v, M& out) { shared->pullback(w, v, out); };
    if constexpr (requires { shared->begin_step(Index{0}); })
      begin_ = [shared](Index step) { shared->begin_step(step); };
    share_ = [shared](const Share& share) { detail::take_share(*shared, share); };
  }

  FunctionLayout layout() const { return layout_(); }
  Index output_dim() const { return layout_().rows(); }
  void begin_step(Index step) {
    if (begin_) begin_(step);
  }
  void take_share(const Share& share) { share_(share); }
  void predict(const M& w, M& f) { predict_(w, f); }
  void score(const M& f, M& g) { score_(f, g); }
  void pullback(const M& w, const M& v, M& out) { pullback_(w, v, out); }

 private:
  std::function<FunctionLayout()> layout_;
  std::function<void(Index)> begin_;
  std::function<void(const Share&)> share_;
  std::function<void(const M&, M&)> predict_, score_;
  std::function<void(const M&, const M&, M&)> pullback_;
};

/// Any sampler that steps states of one type, State<Matrix<double>, Adam::Memory<Matrix<double>>> for instance:
///
///   repel::AnySampler<decltype(state)> sampler(by_functions ? repel::AnySampler<…>(function_space(…)) : …);
///   repel::Report report = repel::run(sampler, state, 1000);
template <class State>
class AnySampler {
 public:
  /// Holds a copy of any sampler of this state.
  template <class S>
  requires(!std::same_as<std::remove_cvref_t<S>, AnySampler>) explicit AnySampler(S&& sampler) {
    const auto shared = detail::hold(std::forward<S>(sampler));
    step_ = [shared](State& state) { return shared->step(state); };
  }

  /// One step.
  StepInfo step(State& state) { return step_(state); }

 private:
  std::function<StepInfo(State&)> step_;
};

}  // namespace repel
