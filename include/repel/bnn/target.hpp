// SPDX-License-Identifier: MIT
#pragma once

#include <repel/bnn/batch.hpp>
#include <repel/bnn/ensemble.hpp>
#include <repel/bnn/likelihood.hpp>
#include <repel/bnn/prior.hpp>
#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <concepts>
#include <utility>

namespace repel {

/// The posterior over weights, as a target of weight_space() and hmc().
template <class Posterior>
class BnnTarget {
  using Scalar = typename Posterior::Scalar;

 public:
  /// Made by Bnn::target().
  explicit BnnTarget(Posterior posterior)
      : posterior_(std::move(posterior)),
        batch_(posterior_),
        ensemble_(posterior_.network(), posterior_.likelihood_parameters()) {}

  void begin_step(Index step) { batch_.load(posterior_, step); }
  void take_share(const Share& share) {
    batch_.take_share(share);
    ensemble_.see_aligned();
  }

  /// g = N/B ∇ log p(batch | w) + ∇ log p(w), per particle; the rows of the likelihood's parameters included.
  template <class W, class G>
  void operator()(const W& w, G& g) {
    gradient(w, g, [](Index, const auto&) {});
  }

  /// log p(D | w) + log p(w) per particle, with all constants.
  template <class W>
  void log_density(const W& w, Vector<double>& values) {
    require_all();
    ensemble_.evaluate(w, posterior_.inputs(), outputs_);
    values.resize(w.cols());
    for (Index j = 0; j < w.cols(); ++j) {
      const Eigen::Map<const Matrix<Scalar>> f(outputs_.col(j).data(), posterior_.network().outputs(), batch_.size());
      values(j) = log_density_of(w, j, f);
    }
  }

  /// Both, for one forward pass.
  template <class W, class G>
  void value_and_gradient(const W& w, G& g, Vector<double>& values) {
    require_all();
    values.resize(w.cols());
    gradient(w, g, [&](Index j, const auto& f) { values(j) = log_density_of(w, j, f); });
  }

 private:
  /// `see` is called with every particle and its outputs.
  template <class W, class G, class See>
  void gradient(const W& w, G& g, const See& see) {
    static_assert(
        !W::IsRowMajor || W::IsVectorAtCompileTime,
        "repel::Bnn: particles must be stored column by column (Eigen's default), so that a network is contiguous");
    static_assert(std::same_as<typename W::Scalar, Scalar>,
                  "repel::Bnn: the particles must have the scalar type of the data, float or double");
    const auto scale = static_cast<Scalar>(batch_.scale());
    const Index own = posterior_.likelihood_parameters();
    const auto& likelihood = posterior_.likelihood();
    const auto slope_at = [&](Index j, auto& f, const auto& targets) {
      see(j, f);
      auto slopes = g.col(j).tail(own);
      detail::likelihood_score(likelihood, f, targets, w.col(j).tail(own), slopes);
      f *= scale;
      slopes *= scale;
    };
    const auto prior = [&](Index j) {
      detail::add_prior_score(posterior_.blocks(), posterior_.prior(), batch_.first_particle() + j, w.col(j), g.col(j));
      detail::add_likelihood_prior_score(likelihood, w.col(j).tail(own), g.col(j).tail(own));
    };
    if (batch_.per_particle()) {
      batch_.prepare(w.cols());
      ensemble_.gradient(
          w, batch_.size(), [&](Index j, auto& x) -> const auto& { return batch_.load_own(posterior_, j, x); },
          [&](Index j, auto& f) { slope_at(j, f, batch_.own_targets(j)); }, prior, g);
    } else {
      const auto& targets = batch_.targets(posterior_);
      ensemble_.gradient(
          w, batch_.inputs(posterior_), [&](Index j, auto& f) { slope_at(j, f, targets); }, prior, g);
    }
  }

  template <class W, class F>
  double log_density_of(const W& w, Index j, const F& f) const {
    const auto theta = w.col(j).tail(posterior_.likelihood_parameters());
    return detail::likelihood_log_density(posterior_.likelihood(), f, posterior_.targets(), theta) +
           detail::prior_log_density(posterior_.blocks(), posterior_.prior(), batch_.first_particle() + j, w.col(j)) +
           detail::likelihood_prior(posterior_.likelihood(), theta);
  }

  void require_all() const {
    if (!batch_.all())
      detail::fail("BnnTarget", "the minibatch has ", batch_.size(),
                   " points, but a log density needs all of them: build the Bnn with Minibatch{0}");
    if (posterior_.augmentation())
      detail::fail("BnnTarget",
                   "the points are augmented, differently at every step, but a log density needs them as they are: use "
                   "the Bnn without augmented()");
  }

  Posterior posterior_;
  detail::BnnBatch<Posterior> batch_;
  Ensemble<typename Posterior::Network, Scalar> ensemble_;
  Matrix<Scalar> outputs_;
};

}  // namespace repel
