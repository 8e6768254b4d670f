// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/share.hpp>
#include <repel/core/types.hpp>
#include <repel/sampler.hpp>
#include <repel/space/space.hpp>
#include <repel/space/view.hpp>

#include <concepts>
#include <functional>
#include <utility>

// Function space: the particles interact as functions, through their outputs at a set of points (the paper's equation
// 5). What a user brings is a model, any network or other map from parameters to outputs:
//
//   struct Linear {                                              // f = X w at m points, all of them data
//     Eigen::MatrixXd X;                                         // m×d
//     Eigen::VectorXd y;
//     Eigen::Index output_dim() const { return X.rows(); }
//     void predict(const auto& W, auto& F) const { F.noalias() = X * W; }                       // d×n -> m×n
//     void score(const auto& F, auto& G) const { G = -(F.colwise() - y); }                      // ∇_f log p(f | D)
//     void pullback(const auto& W, const auto& V, auto& out) const { out.noalias() = X.transpose() * V; }   // Jᵀ V
//   };
//   auto sampler = repel::function_space(Linear{X, y}, repel::Wgd{repel::Kde{}}, repel::Adam{.learning_rate = 0.01});
//
// In a step they are called in this order, with the same W: begin_step(step) (optional: where a model draws its batch),
// predict, score, pullback. So pullback may use what predict left behind. A model with several outputs per point
// declares `FunctionLayout layout() const` (space/view.hpp), for views that need to know.

namespace repel {

/// A map from parameters to outputs, with the outputs' score and the pullback of directions.
template <class M, class P>
concept FunctionModel = requires(M& model, const M& constant, const P& w, P& out, const Matrix<typename P::Scalar>& v,
                                 Matrix<typename P::Scalar>& f) {
  { constant.output_dim() } -> std::convertible_to<Index>;
  model.predict(w, f);
  model.score(v, f);
  model.pullback(w, v, out);
};

/// How a model's outputs are laid out in a column.
template <class M>
FunctionLayout layout_of(const M& model) {
  if constexpr (requires { model.layout(); })
    return model.layout();
  else
    return {1, model.output_dim(), model.output_dim(), 0};
}

/// The outputs of the particles as the place where they interact. See space.hpp for what a space is.
template <class UserModel, class ViewPolicy>
class FunctionSpace {
  static constexpr bool views_outputs = std::same_as<ViewPolicy, view::Outputs>;

 public:
  static constexpr const char* name = "function_space";

  template <class P>
  struct Buffers {
    using M = Matrix<typename P::Scalar>;
    M outputs, force, phi;  ///< F, s = ∇ log p(f | D) and Φ, m×n
    M z, repulsion, back;   ///< what the kernel sees, the repulsion there, and the same pulled back to the outputs
    WorkspaceOf<ViewPolicy, typename P::Scalar> view;
    P direction;  ///< Jᵀ Φ
  };

  /// Made by function_space().
  FunctionSpace(UserModel model, ViewPolicy view) : model_(std::forward<UserModel>(model)), view_(std::move(view)) {
    detail::validate(view_);
  }

  template <class P>
  static constexpr void assert_fits() {
    static_assert(FunctionModel<UserModel, P>,
                  "repel::function_space: a model must have output_dim(), predict(W, F), score(F, G) and "
                  "pullback(W, V, out), where W and out are the d x n particles and F, G, V are output_dim() x n");
  }

  void check() const {
    if (model_.output_dim() < 1)
      detail::fail(name, "output_dim() is ", model_.output_dim(), ", but must be at least 1");
  }

  void begin_step(Index step) {
    if constexpr (requires { model_.begin_step(step); }) model_.begin_step(step);
  }
  void take_share(const Share& share) { detail::take_share(model_, share); }

  template <class P>
  void evaluate(const P& particles, Buffers<P>& b) {
    if constexpr (FunctionModel<UserModel, P>) {  // otherwise assert_fits() has reported it
      check();
      const Index m = model_.output_dim(), n = particles.cols();
      detail::resize_unwritten(b.outputs, m, n);
      detail::resize_unwritten(b.force, m, n);
      model_.predict(particles, b.outputs);
      require_shape("the outputs written by predict()", b.outputs, m, n);
      if (!detail::all_usable(
              b.outputs)) {  // the sampler sees it in the force and stops; a prior need not cope with it
        b.force = b.outputs;
        return;
      }
      model_.score(std::as_const(b.outputs), b.force);
      require_shape("the gradient written by score()", b.force, m, n);
    }
  }

  template <class P>
  const auto& places(const P&, const Buffers<P>& b) const {
    return b.outputs;
  }
  template <class P>
  auto& driving_force(Buffers<P>& b) const {
    return b.force;
  }

  template <class R, class Workspace, class P>
  RuleInfo interact(const R& rule, Workspace& workspace, const P&, Buffers<P>& b) const {
    static_assert(
        SplitRule<R> || views_outputs,
        "repel::function_space: with a view the rule must give driving force and repulsion apart, by a member "
        "parts(z, s, workspace, driving, repulsion); see rule/rule.hpp");
    static_assert(
        !requires { requires R::adds_noise; },
        "repel::function_space: Langevin noise is for weight_space: a step here is taken in the weights, of "
        "which there are more than outputs, so that noise would not be that of the outputs' posterior");
    const FunctionLayout layout = layout_of(model_);
    const Index m = b.outputs.rows(), n = b.outputs.cols();
    b.phi.resize(m, n);
    if (views_outputs && layout.features == 0) return rule.direction(b.outputs, b.force, workspace, b.phi);
    if constexpr (SplitRule<R>) {
      if (layout.rows() != m)
        detail::fail(name, "the model's layout has ", layout.rows(), " rows, but must have ", m, " like output_dim()");
      const Index seen = view_.seen(layout).rows();
      detail::resize_unwritten(b.z, seen, n);
      view_.view(std::as_const(b.outputs), layout, b.view, b.z);
      require_shape("what the view wrote", b.z, seen, n);
      if (!detail::all_usable(b.z)) return pass_on_faults(b.z, b.phi);
      b.repulsion.resize(seen, n);
      RuleInfo info = rule.parts(b.z, b.force, workspace, b.phi, b.repulsion);
      detail::resize_unwritten(b.back, m, n);
      view_.view_vjp(std::as_const(b.outputs), layout, b.view, std::as_const(b.repulsion), b.back);
      require_shape("what view_vjp() wrote", b.back, m, n);
      b.phi += b.back;
      info.repulsion = detail::mean_norm(b.back);
      return info;
    } else {
      detail::fail(name,
                   "the model shows features of a hidden layer, but the rule has no member parts() that gives driving "
                   "force and repulsion apart (see rule/rule.hpp)");
    }
  }

  template <class P>
  const auto& phi(const Buffers<P>& b) const {
    return b.phi;
  }
  template <class P>
  const P& direction(const P& particles, Buffers<P>& b) {
    detail::resize_unwritten(b.direction, particles.rows(), particles.cols());
    if constexpr (FunctionModel<UserModel, P>) model_.pullback(particles, std::as_const(b.phi), b.direction);
    if (b.direction.rows() != particles.rows() || b.direction.cols() != particles.cols())
      detail::fail(name, "the direction written by pullback() is ", b.direction.rows(), "x", b.direction.cols(),
                   ", but must be ", particles.rows(), "x", particles.cols(), " like the particles");
    return b.direction;
  }

 private:
  /// For a view that is not finite: Φ becomes so for the same particles, where the sampler sees it and stops.
  template <class M>
  static RuleInfo pass_on_faults(const M& z, M& phi) {
    phi.setZero();
    for (Index j = 0; j < z.cols(); ++j)
      for (Index i = 0; i < z.rows(); ++i)
        if (!detail::all_usable(&z(i, j), 1)) phi(0, j) = z(i, j);
    return {};
  }

  template <class M>
  static void require_shape(const char* what, const M& value, Index m, Index n) {
    if (value.rows() != m || value.cols() != n)
      detail::fail(name, what, " is ", value.rows(), "x", value.cols(), ", but must be ", m, "x", n);
  }

  UserModel model_;
  ViewPolicy view_;
};

/// A sampler on the outputs of the particles, as functions, at a set of points: the direction is formed there and
/// pulled back to each particle by its own Jacobian (the paper's equation 5).
///
///   model       predict, score and pullback (see above); std::ref(model) is kept by reference
///   rule        Wgd{Kde{…}} is kde-fWGD, Svgd{…} is f-SVGD, and so on: the rules are those of weight space
///   optimiser, annealing   as in weight_space
///   view        what the kernel sees: view::Outputs{} (the default), view::Probabilities{} … (space/view.hpp)
template <class M, class UpdateRule, class Optim = Adam, class Anneal = anneal::Constant, class V = view::Outputs>
requires(!View<Anneal>) auto function_space(M&& model, UpdateRule rule, Optim optimiser = {}, Anneal annealing = {},
                                            V view = {}) {
  static_assert(View<V>,
                "repel::function_space: a view is expected here, such as view::Outputs{} or view::Probabilities{}");
  return detail::make_sampler(FunctionSpace<std::unwrap_ref_decay_t<M>, V>(std::forward<M>(model), std::move(view)),
                              std::move(rule), std::move(optimiser), std::move(annealing));
}
/// The same without annealing.
template <class M, class UpdateRule, class Optim, View V>
auto function_space(M&& model, UpdateRule rule, Optim optimiser, V view) {
  return function_space(std::forward<M>(model), std::move(rule), std::move(optimiser), anneal::Constant{},
                        std::move(view));
}

}  // namespace repel
