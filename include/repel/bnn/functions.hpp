// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/batch.hpp>
#include <repel/bnn/ensemble.hpp>
#include <repel/bnn/likelihood.hpp>
#include <repel/bnn/points.hpp>
#include <repel/bnn/prior.hpp>
#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/core/seen_aligned.hpp>
#include <repel/core/share.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/softmax.hpp>
#include <repel/score/estimator.hpp>
#include <repel/space/view.hpp>

#include <concepts>
#include <cstdint>
#include <utility>

namespace repel {

/// What counts as a classifier's function in function space.
enum class FunctionsAre {
  outputs,        ///< the network's outputs; for a classifier, the logits
  probabilities,  ///< the class probabilities: likelihood, prior and kernel act on them
};

/// The posterior over functions at the batch (and at further points), as a model of function_space().
template <class Posterior, class FunctionPrior, class Points>
class BnnFunctions {
  using Scalar = typename Posterior::Scalar;
  using M = Matrix<Scalar>;

 public:
  /// Made by Bnn::functions() and Bnn::probability_functions().
  BnnFunctions(Posterior posterior, FunctionPrior prior, Points points, FunctionsAre functions)
      : posterior_(std::move(posterior)),
        prior_(std::move(prior)),
        points_(std::move(points)),
        of_probabilities_(functions == FunctionsAre::probabilities),
        batch_(posterior_),
        ensemble_(posterior_.network(), posterior_.likelihood_parameters()),
        draws_(posterior_.network()) {
    detail::validate(prior_);
    detail::validate(points_);
    if constexpr (requires { points_.check(Index{1}); }) points_.check(posterior_.network().inputs());
    if (posterior_.minibatch().per_particle)
      detail::fail("Bnn::functions",
                   "the minibatch is one per particle, but must be one for all: functions are compared at the same "
                   "points; set Minibatch::per_particle to false");
    if (of_probabilities_ && features() > 0)
      detail::fail("Bnn::probability_functions",
                   "the network shows features of a hidden layer, but that goes with "
                   "Bnn::functions() only");
    begin_step(0);
  }

  FunctionLayout layout() const { return {outputs(), batch_.size() + extra(), batch_.size(), features()}; }
  Index output_dim() const { return layout().rows(); }

  void begin_step(Index step) {
    step_ = step;
    batch_.load(posterior_, step);
    if (extra() == 0) return;
    inputs_.resize(posterior_.network().inputs(), batch_.size() + extra());
    inputs_.leftCols(batch_.size()) = batch_.inputs(posterior_);
    points_.fill(stream_seed(posterior_.minibatch().seed, as_stream(step), 1), batch_.inputs(posterior_),
                 inputs_.rightCols(extra()));
  }

  void take_share(const Share& share) {
    share_ = share;
    ensemble_.see_aligned();
  }
  /// Which particles it sees, as last told.
  const Share& share() const { return share_; }

  template <class W>
  void predict(const W& w, M& f) {
    static_assert(
        !W::IsRowMajor || W::IsVectorAtCompileTime,
        "repel::Bnn: particles must be stored column by column (Eigen's default), so that a network is contiguous");
    static_assert(std::same_as<typename W::Scalar, Scalar>,
                  "repel::Bnn: the particles must have the scalar type of the data, float or double");
    ensemble_.forward(w, inputs(), f);
    theta_ = w.bottomRows(posterior_.likelihood_parameters());
    if (!of_probabilities_) return;
    detail::softmax_columns(f, outputs(), is_spread());
    probabilities_ = f;  // for the backward pass
  }

  /// g = N/B ∇_f log p(batch | f) + ∇_f log p(f): the likelihood at the points of the batch, the prior at all. Features
  /// of a hidden layer have neither. Parameters of the likelihood are those of the last predict(); they are no part of the
  /// function, and each particle's follow the gradient of its own log density.
  void score(const M& f, M& g) {
    g.resize(f.rows(), f.cols());
    const auto scale = static_cast<Scalar>(batch_.scale()), largest = detail::largest_coordinate<Scalar>() / 4;
    const Index at_batch_rows = outputs() * batch_.size();
    if (theta_.rows() > 0 && theta_.cols() != f.cols())
      detail::fail("Bnn::functions", "score was called for ", f.cols(), " particles, but must follow predict(), for ",
                   theta_.cols());
    theta_slopes_.setZero(theta_.rows(), theta_.cols());
    detail::parallel_for(f.cols(), 10 * static_cast<double>(f.rows()), [&](Index j) {
      g.col(j) = f.col(j);
      const detail::SeenAligned<Scalar> column(is_spread(), 0, g.col(j).data(), at_batch_rows);
      Eigen::Map<M> at_batch(column.data(), outputs(), batch_.size());
      likelihood_score(at_batch, j);
      at_batch *= scale;
      if (theta_.rows() > 0) {
        theta_slopes_.col(j) *= scale;
        detail::add_likelihood_prior_score(posterior_.likelihood(), theta_.col(j), theta_slopes_.col(j));
      }
      if (of_probabilities_) at_batch = at_batch.cwiseMin(largest);  // bounds 1/p for p near 0
      column.write_back();
      g.col(j).tail(g.rows() - at_batch_rows).setZero();
    });
    if (features() == 0) {
      prior_.add_score(*this, f, g, workspace_);
    } else {
      f_only_ = f.topRows(layout().output_rows());
      g_only_ = g.topRows(layout().output_rows());
      prior_.add_score(*this, f_only_, g_only_, workspace_);
      g.topRows(layout().output_rows()) = g_only_;
    }
  }

  template <class W, class G>
  void pullback(const W& w, const M& v, G& g) {
    if (of_probabilities_) {
      slopes_ = probabilities_;
      detail::softmax_vjp_columns(slopes_, outputs(), v, is_spread());
      ensemble_.backward(w, inputs(), slopes_, g);
    } else {
      ensemble_.backward(w, inputs(), v, g);
    }
    if (theta_.rows() > 0) g.bottomRows(theta_.rows()) = theta_slopes_;
  }

  // What a prior over functions may ask (space/function_prior.hpp).

  /// The points at which functions are seen: those of the batch, then the others.
  const M& inputs() const { return extra() == 0 ? batch_.inputs(posterior_) : inputs_; }
  /// The network's outputs per point.
  Index outputs() const { return posterior_.network().outputs(); }

  /// Functions drawn from the weight prior, at these points; fresh draws at every step.
  void draw(Index count, M& f) {
    weights_.resize(posterior_.network().parameters(), count);
    detail::draw_prior(posterior_.blocks(), posterior_.prior(),
                       stream_seed(posterior_.minibatch().seed, as_stream(step_), 2), weights_);
    if (features() == 0) {
      draws_.evaluate(weights_, inputs(), f);
    } else {
      draws_.evaluate(weights_, inputs(), drawn_);
      f = drawn_.topRows(layout().output_rows());
    }
    if (of_probabilities_) detail::softmax_columns(f, outputs());
  }

 private:
  static std::uint64_t as_stream(Index step) { return static_cast<std::uint64_t>(step); }

  /// Whether there are other particles in other processes.
  bool is_spread() const { return share_.total > 0; }
  Index extra() const { return points_.count(batch_.size()); }
  Index features() const { return features_of(posterior_.network()); }

  void likelihood_score(Eigen::Map<M>& f, Index j) {
    if constexpr (Posterior::has_probabilities)
      if (of_probabilities_) return posterior_.likelihood().score_of_probabilities(f, batch_.targets(posterior_));
    if constexpr (LikelihoodWithParameters<typename Posterior::Likelihood>) {
      auto slopes = theta_slopes_.col(j);
      posterior_.likelihood().score(f, batch_.targets(posterior_), theta_.col(j), slopes);
    } else {
      posterior_.likelihood().score(f, batch_.targets(posterior_));
    }
  }

  Posterior posterior_;
  FunctionPrior prior_;
  Points points_;
  bool of_probabilities_;
  detail::BnnBatch<Posterior> batch_;
  Index step_ = 0;
  Share share_;
  Ensemble<typename Posterior::Network, Scalar> ensemble_, draws_;
  M inputs_, probabilities_, slopes_, weights_, drawn_, f_only_, g_only_;
  M theta_, theta_slopes_;  // the likelihood's parameters, a column per particle, and the gradient there
  WorkspaceOf<FunctionPrior, Scalar> workspace_;
};

}  // namespace repel
