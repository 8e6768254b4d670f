#pragma once

#include <repel/bnn/batch.hpp>
#include <repel/bnn/likelihood.hpp>
#include <repel/bnn/mlp.hpp>
#include <repel/bnn/points.hpp>
#include <repel/bnn/prior.hpp>
#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/score/estimator.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace repel {

/// The posterior over functions at the batch (and at further points), as a model of function_space().
template <class Posterior, class FunctionPrior, class Points>
class BnnFunctions {
  using Scalar = typename Posterior::Scalar;

 public:
  BnnFunctions(Posterior posterior, FunctionPrior prior, Points points, Look look)
      : posterior_(std::move(posterior)),
        prior_(std::move(prior)),
        points_(std::move(points)),
        look_(look),
        batch_(posterior_) {
    detail::validate(prior_);
    detail::validate(points_);
    if constexpr (requires { points_.check(Index{1}); }) points_.check(posterior_.network().inputs());
    if (look_ != Look::outputs && !has_probabilities())
      detail::fail("Bnn::functions",
                   "look is Look::", look_ == Look::probabilities ? "probabilities" : "probability_space",
                   ", but the likelihood has none: it needs a classifier");
    if (!points_.beside_batch && extra() == 0)
      detail::fail("Bnn::functions", "beside_batch is false, but there are no other points for the kernel to look at");
    begin_step(0);
  }

  Index output_dim() const { return outputs() * (batch_.size() + extra()); }
  Index look_dim() const { return outputs() * (extra() + (points_.beside_batch ? batch_.size() : 0)); }

  void begin_step(Index step) {
    step_ = step;
    batch_.load(posterior_, step);
    if (extra() == 0) return;
    inputs_.resize(posterior_.network().inputs(), batch_.size() + extra());
    inputs_.leftCols(batch_.size()) = batch_.inputs(posterior_);
    points_.fill(stream_seed(posterior_.seed(), as_stream(step), 1), batch_.inputs(posterior_),
                 inputs_.rightCols(extra()));
  }

  template <class W>
  void predict(const W& w, Matrix<Scalar>& f) {
    static_assert(std::same_as<typename W::Scalar, Scalar>,
                  "repel::Bnn: the particles must have the scalar type of the data, float or double");
    posterior_.network().forward(w, inputs(), tape_, f);
    if (look_ != Look::probability_space) return;
    all_to_probabilities(f);
    probabilities_ = f;  // for the way back
  }

  /// g = N/B ∇_f log p(batch | f) + ∇_f log p(f): the likelihood at the points of the batch, the prior at all.
  void score(const Matrix<Scalar>& f, Matrix<Scalar>& g) {
    g.resize(f.rows(), f.cols());
    const auto scale = static_cast<Scalar>(batch_.scale()), largest = detail::largest_coordinate<Scalar>() / 4;
    detail::parallel_for(f.cols(), 10 * static_cast<double>(f.rows()), [&](Index j) {
      g.col(j) = f.col(j);
      Eigen::Map<Matrix<Scalar>> at_batch(g.col(j).data(), outputs(), batch_.size());
      likelihood_score(at_batch);
      at_batch *= scale;
      if (look_ == Look::probability_space) at_batch = at_batch.cwiseMin(largest);  // 1/p where p is next to 0
      g.col(j).tail(outputs() * extra()).setZero();
    });
    prior_.add_score(*this, f, g, workspace_);
  }

  template <class W, class G>
  void pullback(const W& w, const Matrix<Scalar>& v, G& g) {
    if (look_ == Look::probability_space) {
      slopes_ = probabilities_;
      detail::parallel_for(v.cols(), 10 * static_cast<double>(v.rows()), [&](Index j) {
        Eigen::Map<Matrix<Scalar>> p(slopes_.col(j).data(), outputs(), v.rows() / outputs());
        through_softmax(p, v.col(j).data());
      });
      posterior_.network().backward(w, inputs(), slopes_, tape_, g);
    } else {
      posterior_.network().backward(w, inputs(), v, tape_, g);
    }
  }

  /// True where look() changes nothing.
  bool look_is_trivial() const { return look_ != Look::probabilities && look_dim() == output_dim(); }

  void look(const Matrix<Scalar>& f, Matrix<Scalar>& z) const {
    z = f.bottomRows(look_dim());
    if (look_ == Look::probabilities) all_to_probabilities(z);
  }

  /// Back through look(); nothing where the kernel does not look.
  void look_back(const Matrix<Scalar>& f, const Matrix<Scalar>& v, Matrix<Scalar>& out) const {
    out.resize(f.rows(), f.cols());
    const Index unseen = f.rows() - look_dim();
    out.topRows(unseen).setZero();
    if (look_ != Look::probabilities) {
      out.bottomRows(look_dim()) = v;
      return;
    }
    detail::parallel_for(f.cols(), 10 * static_cast<double>(f.rows()), [&](Index j) {
      out.col(j).tail(look_dim()) = f.col(j).tail(look_dim());
      auto p = to_probabilities(out.col(j).tail(look_dim()));
      through_softmax(p, v.col(j).data());
    });
  }

  // What a prior over functions may ask (space/function_prior.hpp).

  /// The points at which functions are seen: those of the batch, then the others.
  const Matrix<Scalar>& inputs() const { return extra() == 0 ? batch_.inputs(posterior_) : inputs_; }
  Index outputs() const { return posterior_.network().outputs(); }

  /// Functions of the weight prior at these points, fresh at every step.
  void draw(Index count, Matrix<Scalar>& f) {
    weights_.resize(posterior_.network().parameters(), count);
    detail::draw_prior(posterior_.network(), posterior_.prior(), stream_seed(posterior_.seed(), as_stream(step_), 2),
                       weights_);
    posterior_.network().evaluate(weights_, inputs(), draw_tape_, f);
    if (look_ == Look::probability_space) all_to_probabilities(f);
  }

 private:
  static std::uint64_t as_stream(Index step) { return static_cast<std::uint64_t>(step); }

  Index extra() const { return points_.count(batch_.size()); }

  static constexpr bool has_probabilities() {
    return std::remove_cvref_t<decltype(std::declval<Posterior>().likelihood())>::has_probabilities;
  }

  void likelihood_score(Eigen::Map<Matrix<Scalar>>& f) const {
    if constexpr (has_probabilities())
      if (look_ == Look::probability_space)
        return posterior_.likelihood().score_of_probabilities(f, batch_.targets(posterior_));
    posterior_.likelihood().score(f, batch_.targets(posterior_));
  }

  /// p ← (∂p/∂f)ᵀ v = p ∘ (v − p·v) at every point.
  static void through_softmax(Eigen::Map<Matrix<Scalar>>& p, const Scalar* v) {
    const Eigen::Map<const Matrix<Scalar>> direction(v, p.rows(), p.cols());
    for (Index i = 0; i < p.cols(); ++i) p.col(i).array() *= direction.col(i).array() - p.col(i).dot(direction.col(i));
  }

  void all_to_probabilities(Matrix<Scalar>& values) const {
    detail::parallel_for(values.cols(), 10 * static_cast<double>(values.rows()),
                         [&](Index j) { to_probabilities(values.col(j)); });
  }

  template <class Column>
  Eigen::Map<Matrix<Scalar>> to_probabilities(Column&& values) const {
    Eigen::Map<Matrix<Scalar>> p(values.data(), outputs(), values.size() / outputs());
    CategoricalLikelihood::softmax(p);
    return p;
  }

  Posterior posterior_;
  FunctionPrior prior_;
  Points points_;
  Look look_;
  detail::BnnBatch<Posterior> batch_;
  Index step_ = 0;
  Matrix<Scalar> inputs_;
  Matrix<Scalar> probabilities_, slopes_;  ///< of the functions, where these are probabilities
  typename Mlp::template Tape<Scalar> tape_, draw_tape_;
  Matrix<Scalar> weights_;
  WorkspaceOf<FunctionPrior, Scalar> workspace_;
};

}  // namespace repel
