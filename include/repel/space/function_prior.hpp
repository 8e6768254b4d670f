// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/seen_aligned.hpp>
#include <repel/core/share.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/linalg/ridge_solver.hpp>
#include <repel/pairwise/pairs.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/ssge.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <utility>

// Priors over functions, seen through their values at a set of points: log p(f) enters the driving force of function
// space as ∇_f log p(f | D) = ∇_f log p(D | f) + ∇_f log p(f).
//
// Values at p points of a function with c outputs form one column of length c p, the c outputs of the first point
// first. A prior is a value with
//
//   template <class At>
//   void add_score(At& at, const auto& f, auto& g, auto& workspace) const     // g += ∇ log p(f), both (c p)×n
//
// and, if it needs buffers, a nested `template <class Scalar> struct Workspace`. `at` describes the points:
//   at.inputs()           the points, one per column
//   at.outputs()          c, the outputs per point
//   at.share()            optional: which of all particles the columns of f are (core/share.hpp)
//   at.draw(count, F)     fills F, (c p)×count, with functions drawn from the prior over weights, afresh at each step
// Your own, as an example: independent N(0, 10²) values.
//
//   struct WidePrior {
//     void add_score(auto&, const auto& f, auto& g, auto&) const { g -= f / 100; }
//   };

namespace repel {

/// No preference among functions: the likelihood alone drives the particles.
struct FlatPrior {
  template <class At, class F, class G>
  void add_score(At&, const F&, G&, Empty&) const {}
};

/// The prior over weights as a prior over functions, as in the paper: draws of weights are pushed through the network
/// at the same points, and the score of their distribution is estimated at the particles' outputs (by SSGE, with a
/// single bandwidth, that of the draws).
template <class Estimator = Ssge<>>
struct ImplicitPrior {
  static_assert(OutOfSampleEstimator<Estimator>,
                "repel::ImplicitPrior: the estimator must be defined away from the draws: Ssge or Kde");
  Estimator estimator{};
  Index draws = 0;  ///< functions drawn at each step; 0: as many as particles, but at least 2

  template <class Scalar>
  struct Workspace {
    Matrix<Scalar> functions, score, one;
    Pairs<KernelOf<Estimator>, Scalar> pairs;
    WorkspaceOf<Estimator, Scalar> estimator;
  };

  void validate() const {
    if (draws < 0 || draws == 1)
      detail::fail("ImplicitPrior", "draws is ", draws, ", but must be at least 2, or 0 for as many as particles");
    detail::validate_estimator(estimator);
  }

  template <class At, class F, class G, class Workspace>
  void add_score(At& at, const F& f, G& g, Workspace& w) const {
    Share share;
    if constexpr (requires { at.share(); }) share = at.share();
    const Index particles = share.total > 0 ? share.total : f.cols();
    w.functions.resize(f.rows(), draws > 0 ? draws : std::max<Index>(2, particles));
    at.draw(w.functions.cols(), w.functions);
    require_distances(w.functions);
    w.pairs.measure(detail::kernel_of(estimator), w.functions);
    if (share.total > 0) {  // one at a time: products of matrices would round as their number of columns has it
      w.one.resize(f.rows(), 1);
      w.score.resize(f.rows(), 1);
      for (Index j = 0; j < f.cols(); ++j) {
        w.one.col(0) = f.col(j);
        detail::score_of_at(estimator, w.pairs, w.functions, w.estimator, w.one, w.score);
        g.col(j) += w.score.col(0);
      }
      return;
    }
    w.score.resize(f.rows(), f.cols());
    detail::score_of_at(estimator, w.pairs, w.functions, w.estimator, f, w.score);
    g += w.score;
  }

 private:
  /// A deep network's outputs under a wide prior grow with every layer, until their squares are out of range.
  template <class Scalar>
  static void require_distances(const Matrix<Scalar>& functions) {
    const auto rows = static_cast<Scalar>(std::max<Index>(1, functions.rows()));
    const Scalar most = std::sqrt(std::numeric_limits<Scalar>::max() / rows) / 2;
    if (!(functions.array().abs() < most).all())
      detail::fail("ImplicitPrior", "a network drawn from the weight prior has an output of ",
                   functions.array().abs().template maxCoeff<Eigen::PropagateNaN>(), ", but must have outputs below ",
                   most, ": take a prior of smaller scale, or FlatPrior{}");
  }
};
ImplicitPrior()->ImplicitPrior<>;
template <class Estimator>
ImplicitPrior(Estimator) -> ImplicitPrior<Estimator>;
template <class Estimator>
ImplicitPrior(Estimator, Index) -> ImplicitPrior<Estimator>;

/// A Gaussian process on the inputs, the same and independent for every output: f ~ N(m, v (K + jitter I)), so that
/// ∇ log p(f) = −(K + jitter I)⁻¹ (f − m) / v. The kernel is any of the library's, with a fixed bandwidth:
/// Rbf{FixedBandwidth{2 ℓ²}} has the length scale ℓ, and so does Matern52{FixedBandwidth{ℓ²}}.
template <class Kernel = Rbf<FixedBandwidth>>
struct GpPrior {
  static_assert(detail::assert_kernel<Kernel>());
  static_assert(
      std::same_as<std::remove_cvref_t<decltype(std::declval<Kernel>().bandwidth)>, FixedBandwidth>,
      "repel::GpPrior: the kernel needs a FixedBandwidth, since one that follows the batch would make another "
      "prior of every batch");
  Kernel kernel;
  double variance = 1;   ///< v, of f at a point
  double jitter = 1e-4;  ///< keeps K + jitter I invertible when points are close together; float needs about 1e-6
  double mean = 0;       ///< m, a constant function

  template <class Scalar>
  struct Workspace {
    Pairs<Kernel, Scalar> pairs;
    Matrix<Scalar> score;
    detail::RidgeSolver<Scalar> solver;
  };

  void validate() const {
    detail::validate_kernel(kernel);
    detail::require_positive("GpPrior", "variance", variance);
    detail::require_non_negative("GpPrior", "jitter", jitter);
    if (!std::isfinite(mean)) detail::fail("GpPrior", "mean is ", mean, ", but must be finite");
  }

  template <class At, class F, class G, class Workspace>
  void add_score(At& at, const F& f, G& g, Workspace& w) const {
    using Scalar = typename G::Scalar;
    const Index outputs = at.outputs(), points = f.rows() / outputs;
    w.pairs.measure(kernel, at.inputs());
    w.solver.factorise("GpPrior", w.pairs.values(), jitter, "jitter", "points");
    bool spread = false;
    if constexpr (requires { at.share(); }) spread = at.share().total > 0;
    w.score.resize(f.rows(), f.cols());
    detail::parallel_for(f.cols(), static_cast<double>(f.rows() * points), [&](Index j) {
      w.score.col(j) = (static_cast<Scalar>(mean) - f.col(j).array()) * static_cast<Scalar>(1 / variance);
      const detail::SeenAligned<Scalar> column(spread, 0, w.score.col(j).data(), f.rows());
      Eigen::Map<Matrix<Scalar>> values(column.data(), outputs, points);
      w.solver.solve_from_the_right(values);
      column.write_back();
    });
    g += w.score;
  }
};
template <class Kernel>
GpPrior(Kernel) -> GpPrior<Kernel>;
template <class Kernel>
GpPrior(Kernel, double) -> GpPrior<Kernel>;
template <class Kernel>
GpPrior(Kernel, double, double) -> GpPrior<Kernel>;
template <class Kernel>
GpPrior(Kernel, double, double, double) -> GpPrior<Kernel>;

}  // namespace repel
