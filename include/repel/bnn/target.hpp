#pragma once

#include <repel/bnn/batch.hpp>
#include <repel/bnn/ensemble.hpp>
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
  explicit BnnTarget(Posterior posterior)
      : posterior_(std::move(posterior)), batch_(posterior_), ensemble_(posterior_.network()) {}

  void begin_step(Index step) { batch_.load(posterior_, step); }

  /// g = N/B ∇ log p(batch | w) + ∇ log p(w), per particle.
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
    const auto& targets = batch_.targets(posterior_);
    const auto slope = [&](Index j, auto& f) {
      see(j, f);
      posterior_.likelihood().score(f, targets);
      f *= scale;
    };
    const auto prior = [&](Index j) {
      detail::add_prior_score(posterior_.blocks(), posterior_.prior(), j, w.col(j), g.col(j));
    };
    ensemble_.gradient(w, batch_.inputs(posterior_), slope, prior, g);
  }

  template <class W, class F>
  double log_density_of(const W& w, Index j, const F& f) const {
    return posterior_.likelihood().log_density(f, posterior_.targets()) +
           detail::prior_log_density(posterior_.blocks(), posterior_.prior(), j, w.col(j));
  }

  void require_all() const {
    if (!batch_.all())
      detail::fail("BnnTarget", "the minibatch has ", batch_.size(),
                   " points, but a log density needs all of them: build the Bnn with Minibatch{0}");
  }

  Posterior posterior_;
  detail::BnnBatch<Posterior> batch_;
  Ensemble<typename Posterior::Network, Scalar> ensemble_;
  Matrix<Scalar> outputs_;
};

}  // namespace repel
