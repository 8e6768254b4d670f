#pragma once

#include <repel/bnn/likelihood.hpp>
#include <repel/bnn/minibatch.hpp>
#include <repel/bnn/mlp.hpp>
#include <repel/bnn/points.hpp>
#include <repel/bnn/prior.hpp>
#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/space/function_prior.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace repel {

template <class Posterior>
class BnnTarget;
template <class Posterior, class FunctionPrior, class Points>
class BnnFunctions;

/// A Bayesian neural network: network, likelihood, prior and data. An immutable value, cheap to copy (the data are
/// shared), that gives what the samplers need.
template <Real S, class Likelihood, WeightPrior Prior>
class Bnn {
 public:
  using Scalar = S;
  using Targets = typename Likelihood::template Targets<Scalar>;

  /// inputs: a point per column. targets: a column per point as well; labels, and targets of a single output, may also
  /// be a plain vector. minibatch: how many points each step sees.
  template <class X, class Y>
  Bnn(Mlp network, Likelihood likelihood, Prior prior, const Eigen::MatrixBase<X>& inputs,
      const Eigen::MatrixBase<Y>& targets, Minibatch minibatch = {})
      : network_(std::move(network)),
        likelihood_(std::move(likelihood)),
        prior_(std::move(prior)),
        schedule_(minibatch, inputs.cols()),
        seed_(minibatch.seed) {
    auto data = std::make_shared<Data>();
    data->inputs = inputs;
    if constexpr (Y::ColsAtCompileTime == 1) {
      data->targets = targets.transpose();
    } else {
      if (Targets::RowsAtCompileTime == 1 && targets.rows() != 1)
        detail::fail("Bnn", "targets has ", targets.rows(), " rows, but must have 1: a label per point");
      data->targets = targets;
    }
    detail::require_points("Bnn", "inputs", data->inputs);
    if (data->inputs.rows() != network_.inputs())
      detail::fail("Bnn", "inputs has ", data->inputs.rows(), " rows, but must have ", network_.inputs(),
                   ", the inputs of the network");
    if (data->targets.cols() != data->inputs.cols())
      detail::fail("Bnn", "targets has ", data->targets.cols(), " columns, but must have ", data->inputs.cols(),
                   " like inputs, one per point");
    detail::validate(likelihood_);
    likelihood_.check(data->targets, network_.outputs());
    detail::validate(prior_);
    if constexpr (requires { prior_.check(network_); }) prior_.check(network_);
    data_ = std::move(data);
  }

  const Mlp& network() const { return network_; }
  const Likelihood& likelihood() const { return likelihood_; }
  const Prior& prior() const { return prior_; }
  const Matrix<Scalar>& inputs() const { return data_->inputs; }
  const Targets& targets() const { return data_->targets; }
  const detail::BatchSchedule& schedule() const { return schedule_; }
  std::uint64_t seed() const { return seed_; }

  /// For weight_space(): ∇_w log p(w | D).
  BnnTarget<Bnn> target() const { return BnnTarget<Bnn>(*this); }

  /// For function_space(): the outputs at the batch and their posterior. `prior` is one over functions
  /// (space/function_prior.hpp), `points` says where else functions are compared and `look` what the kernel compares
  /// there (bnn/points.hpp). The defaults are the paper's.
  template <class FunctionPrior = ImplicitPrior<>, class Points = BatchPoints>
  BnnFunctions<Bnn, FunctionPrior, Points> functions(FunctionPrior prior = {}, Points points = {},
                                                     Look look = Look::outputs) const {
    static_assert(
        !requires { prior.beside_batch; } && requires { points.beside_batch; },
        "repel::Bnn::functions: the arguments are a prior over functions, then the points where functions are "
        "compared, then what the kernel looks at: functions(ImplicitPrior{}, UniformPoints{...}, Look::outputs)");
    return BnnFunctions<Bnn, FunctionPrior, Points>(*this, std::move(prior), std::move(points), look);
  }

  /// Initial particles, drawn from the prior.
  Matrix<Scalar> prior_draws(Index count, std::uint64_t seed) const {
    return repel::prior_draws<Scalar>(network_, prior_, count, seed);
  }

  /// The outputs of every particle at other points: (outputs p)×n, a column per particle.
  Matrix<Scalar> outputs(const Matrix<Scalar>& particles, const Matrix<Scalar>& points) const {
    detail::require_points("Bnn", "particles", particles);
    detail::require_points("Bnn", "points", points);
    typename Mlp::template Tape<Scalar> tape;
    Matrix<Scalar> f;
    network_.evaluate(particles, points, tape, f);
    return f;
  }

  /// The Bayesian model average at other points: GaussianPrediction or CategoricalPrediction.
  auto predict(const Matrix<Scalar>& particles, const Matrix<Scalar>& points) const {
    return likelihood_.summarise(outputs(particles, points), network_.outputs());
  }

 private:
  struct Data {
    Matrix<Scalar> inputs;
    Targets targets;
  };

  Mlp network_;
  Likelihood likelihood_;
  Prior prior_;
  detail::BatchSchedule schedule_;
  std::uint64_t seed_;
  std::shared_ptr<const Data> data_;
};
template <class Likelihood, class Prior, class X, class Y>
Bnn(Mlp, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&)
    -> Bnn<typename X::Scalar, Likelihood, Prior>;
template <class Likelihood, class Prior, class X, class Y>
Bnn(Mlp, Likelihood, Prior, const Eigen::MatrixBase<X>&, const Eigen::MatrixBase<Y>&, Minibatch)
    -> Bnn<typename X::Scalar, Likelihood, Prior>;

namespace detail {

/// The points of the current step, copied together.
template <class Posterior>
class BnnBatch {
 public:
  explicit BnnBatch(const Posterior& posterior) : schedule_(posterior.schedule()) { load(posterior, 0); }

  void load(const Posterior& posterior, Index step) {
    if (schedule_.all()) return;
    const Index* index = schedule_.at(step);
    inputs_.resize(posterior.inputs().rows(), schedule_.size());
    targets_.resize(posterior.targets().rows(), schedule_.size());
    for (Index i = 0; i < schedule_.size(); ++i) {
      inputs_.col(i) = posterior.inputs().col(index[i]);
      targets_.col(i) = posterior.targets().col(index[i]);
    }
  }

  const auto& inputs(const Posterior& posterior) const { return schedule_.all() ? posterior.inputs() : inputs_; }
  const auto& targets(const Posterior& posterior) const { return schedule_.all() ? posterior.targets() : targets_; }
  Index size() const { return schedule_.size(); }
  bool all() const { return schedule_.all(); }

  /// N / B, which makes the batch speak for all points.
  double scale() const { return static_cast<double>(schedule_.points()) / static_cast<double>(schedule_.size()); }

 private:
  BatchSchedule schedule_;
  Matrix<typename Posterior::Scalar> inputs_;
  typename Posterior::Targets targets_;
};

}  // namespace detail

/// The posterior over weights, as a target of weight_space() and hmc().
template <class Posterior>
class BnnTarget {
  using Scalar = typename Posterior::Scalar;

 public:
  explicit BnnTarget(Posterior posterior) : posterior_(std::move(posterior)), batch_(posterior_) {}

  void begin_step(Index step) { batch_.load(posterior_, step); }

  /// g = N/B ∇ log p(batch | w) + ∇ log p(w), per particle.
  template <class W, class G>
  void operator()(const W& w, G& g) {
    static_assert(std::same_as<typename W::Scalar, Scalar>,
                  "repel::Bnn: the particles must have the scalar type of the data, float or double");
    const auto scale = static_cast<Scalar>(batch_.scale());
    const auto& targets = batch_.targets(posterior_);
    const auto slope = [&](Index, auto& f) {
      posterior_.likelihood().score(f, targets);
      f *= scale;
    };
    const auto prior = [&](Index j) {
      detail::add_prior_score(posterior_.network(), posterior_.prior(), j, w.col(j), g.col(j));
    };
    posterior_.network().gradient(w, batch_.inputs(posterior_), tape_, slope, prior, g);
  }

  /// log p(D | w) + log p(w) per particle, with all constants.
  template <class W>
  void log_density(const W& w, Vector<double>& values) {
    if (!batch_.all())
      detail::fail("BnnTarget", "the minibatch has ", batch_.size(),
                   " points, but a log density needs all of them: build the Bnn with Minibatch{0}");
    posterior_.network().evaluate(w, posterior_.inputs(), tape_, outputs_);
    values.resize(w.cols());
    for (Index j = 0; j < w.cols(); ++j) {
      const Eigen::Map<const Matrix<Scalar>> f(outputs_.col(j).data(), posterior_.network().outputs(), batch_.size());
      values(j) = posterior_.likelihood().log_density(f, posterior_.targets()) +
                  detail::prior_log_density(posterior_.network(), posterior_.prior(), j, w.col(j));
    }
  }

 private:
  Posterior posterior_;
  detail::BnnBatch<Posterior> batch_;
  typename Mlp::template Tape<Scalar> tape_;
  Matrix<Scalar> outputs_;
};

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
    if (look_ == Look::probabilities && !std::remove_cvref_t<decltype(posterior_.likelihood())>::has_probabilities)
      detail::fail("Bnn::functions", "look is Look::probabilities, but the likelihood has none: it needs a classifier");
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
  }

  /// g = N/B ∇_f log p(batch | f) + ∇_f log p(f): the likelihood at the points of the batch, the prior at all.
  void score(const Matrix<Scalar>& f, Matrix<Scalar>& g) {
    g.resize(f.rows(), f.cols());
    const auto scale = static_cast<Scalar>(batch_.scale());
    detail::parallel_for(f.cols(), 10 * static_cast<double>(f.rows()), [&](Index j) {
      g.col(j) = f.col(j);
      Eigen::Map<Matrix<Scalar>> at_batch(g.col(j).data(), outputs(), batch_.size());
      posterior_.likelihood().score(at_batch, batch_.targets(posterior_));
      at_batch *= scale;
      g.col(j).tail(outputs() * extra()).setZero();
    });
    prior_.add_score(*this, f, g, workspace_);
  }

  template <class W, class G>
  void pullback(const W& w, const Matrix<Scalar>& v, G& g) {
    posterior_.network().backward(w, inputs(), v, tape_, g);
  }

  /// True where look() changes nothing.
  bool look_is_trivial() const { return look_ == Look::outputs && look_dim() == output_dim(); }

  void look(const Matrix<Scalar>& f, Matrix<Scalar>& z) const {
    z = f.bottomRows(look_dim());
    if (look_ == Look::outputs) return;
    detail::parallel_for(z.cols(), 10 * static_cast<double>(z.rows()), [&](Index j) { to_probabilities(z.col(j)); });
  }

  /// Through the softmax: (∂p/∂f)ᵀ v = p ∘ (v − p·v) at every point; nothing where the kernel does not look.
  void look_back(const Matrix<Scalar>& f, const Matrix<Scalar>& v, Matrix<Scalar>& out) const {
    out.resize(f.rows(), f.cols());
    const Index unseen = f.rows() - look_dim();
    out.topRows(unseen).setZero();
    if (look_ == Look::outputs) {
      out.bottomRows(look_dim()) = v;
      return;
    }
    detail::parallel_for(f.cols(), 10 * static_cast<double>(f.rows()), [&](Index j) {
      out.col(j).tail(look_dim()) = f.col(j).tail(look_dim());
      auto p = to_probabilities(out.col(j).tail(look_dim()));
      const Eigen::Map<const Matrix<Scalar>> direction(v.col(j).data(), p.rows(), p.cols());
      for (Index i = 0; i < p.cols(); ++i)
        p.col(i).array() *= direction.col(i).array() - p.col(i).dot(direction.col(i));
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
  }

 private:
  static std::uint64_t as_stream(Index step) { return static_cast<std::uint64_t>(step); }

  Index extra() const { return points_.count(batch_.size()); }

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
  typename Mlp::template Tape<Scalar> tape_, draw_tape_;
  Matrix<Scalar> weights_;
  WorkspaceOf<FunctionPrior, Scalar> workspace_;
};

}  // namespace repel
