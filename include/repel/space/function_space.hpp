#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/space/weight_space.hpp>

#include <concepts>
#include <limits>
#include <utility>

// Function space: the particles interact as functions, through their outputs at a set of points  (paper, Eq.
// "rep_update_fw"). What a user brings is a model, any network or other map from parameters to outputs:
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
// In a step they are called in this order, with the same W: begin_step(step) (optional: there a model draws its batch),
// predict, score, pullback. So pullback may use what predict left behind.
//
// The kernel looks at F. A model that wants it to look at something else, such as class probabilities or some of the
// rows, also has
//   look_dim()               the number of rows the kernel sees
//   look(F, Z)               what it sees, look_dim()×n
//   look_back(F, V, out)     V, a direction at Z, brought back to F: (∂Z/∂F)ᵀ V per particle
//   look_is_trivial()        optional: true where Z is F after all

namespace repel {

template <class M, class P>
concept FunctionModel = requires(M& model, const M& constant, const P& w, P& out, const Matrix<typename P::Scalar>& v,
                                 Matrix<typename P::Scalar>& f) {
  { constant.output_dim() } -> std::convertible_to<Index>;
  model.predict(w, f);
  model.score(v, f);
  model.pullback(w, v, out);
};

template <class M, class Scalar>
concept LookingModel = requires(M& model, const Matrix<Scalar>& f, Matrix<Scalar>& z) {
  { model.look_dim() } -> std::convertible_to<Index>;
  model.look(f, z);
  model.look_back(f, f, z);
};

/// The outputs of the particles as the place where they interact. See WeightSpace for what a space is.
template <class UserModel>
class FunctionSpace {
 public:
  static constexpr const char* name = "function_space";

  template <class P>
  struct Workspace : PositionBuffers<Matrix<typename P::Scalar>> {
    Matrix<typename P::Scalar> outputs;     ///< F
    Matrix<typename P::Scalar> view, back;  ///< where the kernel looks, and the way back
    P direction;                            ///< Jᵀ Φ
  };

  explicit FunctionSpace(UserModel model) : model_(std::forward<UserModel>(model)) {}

  template <class P>
  Workspace<P> init(const P& particles) const {
    static_assert(FunctionModel<UserModel, P>,
                  "repel::function_space: a model must have output_dim(), predict(W, F), score(F, G) and "
                  "pullback(W, V, out), where W and out are the d x n particles and F, G, V are output_dim() x n");
    using Scalar = typename P::Scalar;
    const Index m = rows("output_dim()", model_.output_dim()), n = particles.cols();
    Workspace<P> w;
    w.force = w.phi = w.outputs = Matrix<Scalar>::Constant(m, n, std::numeric_limits<Scalar>::quiet_NaN());
    w.direction = P::Constant(particles.rows(), n, std::numeric_limits<Scalar>::quiet_NaN());
    return w;
  }

  void begin_step(Index step) {
    if constexpr (requires { model_.begin_step(step); }) model_.begin_step(step);
  }

  template <class P>
  void evaluate(const P& particles, Workspace<P>& w) {
    using Scalar = typename P::Scalar;
    if (particles.size() == 0) detail::fail(name, "state.particles is empty, but must be as init() made it");
    detail::require_same_shape(name, "state.particles", particles, "at init()", w.direction);
    if constexpr (FunctionModel<UserModel, P>) {  // init() has said what is wrong otherwise
      const Index m = rows("output_dim()", model_.output_dim()), n = particles.cols();
      resize(w.outputs, m, n);
      resize(w.force, m, n);
      resize(w.phi, m, n);
      model_.predict(particles, w.outputs);
      require_shape("the outputs written by predict()", w.outputs, m, n);
      if (!detail::all_usable(w.outputs)) {  // the sampler sees it here and stops; a prior need not cope with it
        w.force = w.outputs;
        return;
      }
      model_.score(std::as_const(w.outputs), w.force);
      require_shape("the gradient written by score()", w.force, m, n);
      if constexpr (LookingModel<UserModel, Scalar>) {
        if (looks_at_outputs()) return;
        const Index seen = rows("look_dim()", model_.look_dim());
        resize(w.view, seen, n);
        resize(w.back, m, n);
        model_.look(std::as_const(w.outputs), w.view);
        require_shape("what look() wrote", w.view, seen, n);
      }
    }
  }

  template <class P>
  const Matrix<typename P::Scalar>& positions(const P&, const Workspace<P>& w) const {
    if constexpr (LookingModel<UserModel, typename P::Scalar>)
      if (!looks_at_outputs()) return w.view;
    return w.outputs;
  }

  /// From where the kernel looks to the outputs; only for a model that chooses where it looks.
  template <class W, class V>
  const V& pull_from_view(W& w, const V& v) requires LookingModel<UserModel, typename V::Scalar> {
    if (looks_at_outputs()) return v;
    model_.look_back(std::as_const(w.outputs), v, w.back);
    require_shape("what look_back() wrote", w.back, w.outputs.rows(), w.outputs.cols());
    return w.back;
  }

  /// Whether the kernel looks at the outputs as they are.
  bool looks_at_outputs() const {
    if constexpr (requires { model_.look_is_trivial(); }) return model_.look_is_trivial();
    return false;
  }

  template <class P>
  const P& pull_back(const P& particles, Workspace<P>& w) {
    if constexpr (FunctionModel<UserModel, P>) model_.pullback(particles, std::as_const(w.phi), w.direction);
    const Index rows = w.direction.rows(), columns = w.direction.cols();
    if (rows != particles.rows() || columns != particles.cols()) {
      resize(w.direction, particles.rows(), particles.cols());
      detail::fail(name, "the direction written by pullback() is ", rows, "x", columns, ", but must be ",
                   particles.rows(), "x", particles.cols(), " like the particles");
    }
    return w.direction;
  }

 private:
  static Index rows(const char* what, Index value) {
    if (value < 1) detail::fail(name, what, " is ", value, ", but must be at least 1");
    return value;
  }

  /// Buffers of a new size hold NaN, so that a model which forgets to write them is noticed.
  template <class M>
  static void resize(M& buffer, Index m, Index n) {
    if (buffer.rows() != m || buffer.cols() != n)
      buffer.setConstant(m, n, std::numeric_limits<typename M::Scalar>::quiet_NaN());
  }

  template <class M>
  static void require_shape(const char* what, const M& value, Index m, Index n) {
    if (value.rows() != m || value.cols() != n)
      detail::fail(name, what, " is ", value.rows(), "x", value.cols(), ", but must be ", m, "x", n);
  }

  UserModel model_;
};

}  // namespace repel
