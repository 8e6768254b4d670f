#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/score/conjugate_gradient.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/ridge_solver.hpp>
#include <repel/score/solver.hpp>
#include <repel/score/spectrum.hpp>
#include <repel/score/subspace_iteration.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>

namespace repel {

/// The spectral Stein gradient estimator of Shi et al. (2018)  (paper, Eq. "ssge_wgd"), over the eigenpairs (λ, u) of
/// K + ηI that `eigenpairs` keeps:
///   ∇ log ρ(x) = −G U Λ⁻² Uᵀ K(X, x)
/// Unlike SGE it is defined at any x. With all eigenpairs U Λ⁻² Uᵀ = (K + ηI)⁻², so that solving stands in for the
/// eigenvectors: several times faster, and the same to rounding.
template <class Kernel = Rbf<>, class Eigenpairs = AllEigenpairs, class Solver = AutoSolver>
struct Ssge {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};
  double ridge = 0.01;  ///< η ≥ 0
  Eigenpairs eigenpairs{};
  Solver solver{};

  static constexpr bool all = std::same_as<Eigenpairs, AllEigenpairs>;

  template <class Scalar>
  struct Workspace {
    detail::RidgeSolver<Scalar> dense;  // for all eigenpairs
    detail::ConjugateGradient<Scalar> iterative;
    Matrix<Scalar> weights, twice, cross;
    std::optional<Eigen::SelfAdjointEigenSolver<Matrix<Scalar>>> eigen;  // for some
    detail::SubspaceIteration<Scalar> subspace;
    Matrix<Scalar> shifted, projected, vectors;
    Vector<Scalar> values;  // those kept, ascending
  };

  void validate() const {
    detail::require_non_negative("Ssge", "ridge", ridge);
    detail::validate(eigenpairs);
    detail::validate(solver);
  }

  template <class Gram, class Workspace, class Out>
  SolveInfo score(Gram& gram, Workspace& w, Out& out) const {
    using Scalar = typename Out::Scalar;
    const auto eta = static_cast<Scalar>(ridge);
    if constexpr (all) {
      // With A = K + ηI and B = G A⁻¹: G A⁻² K = G A⁻¹ (I − ηA⁻¹) = B − ηBA⁻¹.
      const bool dense = detail::is_dense(solver, gram.count());
      if (dense) w.dense.factorise("Ssge", gram.values(), ridge);
      if (dense && gram.gradient_weights(w.weights)) {  // the same with M in place of G = X M
        w.dense.solve_from_the_right(w.weights);
        w.twice = w.weights;
        w.dense.solve_from_the_right(w.twice);
        w.weights = eta * w.twice - w.weights;
        gram.combine(w.weights, 1, out);
        return {};
      }
      gram.gradient_sum(out);
      if (!dense) w.iterative.prepare(gram, ridge, detail::iterative_settings(solver));
      const SolveInfo info = solve(gram, w, dense, out);
      w.twice = out;
      const SolveInfo more = solve(gram, w, dense, w.twice);
      out = eta * w.twice - out;
      return {info.iterations + more.iterations, std::max(info.residual, more.residual)};
    } else {
      const SolveInfo info = decompose(gram, w);
      gram.gradient_sum(out);
      // In sample Uᵀ K = (Λ − ηI) Uᵀ.
      project(out, w);
      for (Index k = 0; k < w.values.size(); ++k)
        w.projected.col(k) *= -(w.values(k) - eta) / (w.values(k) * w.values(k));
      detail::product_transposed<Scalar>(w.projected, w.vectors, out);
      return info;
    }
  }

  template <class Gram, class Workspace, class Queries, class Out>
  void score_at(Gram& gram, Workspace& w, const Queries& queries, Out& out) const {
    using Scalar = typename Out::Scalar;
    gram.values_at(queries, w.cross);
    auto& coefficients = w.twice;
    if constexpr (all) {
      const bool dense = detail::is_dense(solver, gram.count());
      if (dense) w.dense.factorise("Ssge", gram.values(), ridge);
      if (dense && gram.gradient_weights(w.weights)) {
        w.dense.solve_from_the_right(w.weights);
        w.dense.solve_from_the_right(w.weights);
        coefficients.resize(w.cross.rows(), w.cross.cols());
        detail::product<Scalar>(w.weights, w.cross, coefficients);
        gram.combine(coefficients, -1, out);
        return;
      }
      coefficients.resize(queries.rows(), gram.count());
      gram.gradient_sum(coefficients);
      if (!dense) w.iterative.prepare(gram, ridge, detail::iterative_settings(solver));
      solve(gram, w, dense, coefficients);
      solve(gram, w, dense, coefficients);
    } else {
      decompose(gram, w);
      coefficients.resize(queries.rows(), gram.count());
      gram.gradient_sum(coefficients);
      project(coefficients, w);
      for (Index k = 0; k < w.values.size(); ++k) w.projected.col(k) /= w.values(k) * w.values(k);
      detail::product_transposed<Scalar>(w.projected, w.vectors, coefficients);
    }
    detail::product<Scalar>(coefficients, w.cross, out);
    out = -out;
  }

 private:
  /// b ← b (K + ηI)⁻¹
  template <class Gram, class Workspace, class B>
  SolveInfo solve(Gram& gram, Workspace& w, bool dense, B& b) const {
    if (!dense) return w.iterative.solve(gram, b);
    w.dense.solve_from_the_right(b);
    return {};
  }

  /// The eigenpairs that are kept, into w.values and w.vectors.
  template <class Gram, class Workspace>
  SolveInfo decompose(Gram& gram, Workspace& w) const {
    using Scalar = typename std::remove_cvref_t<decltype(gram.values())>::Scalar;
    const Scalar eta = detail::require_in_range<Scalar>("Ssge", "ridge", ridge);
    const Index n = gram.count();
    Scalar largest = 0;
    SolveInfo info;
    if (detail::is_dense(solver, n, 600) || !decompose_some(gram, w, eta, info, largest)) {
      w.shifted = gram.values();
      w.shifted.diagonal().array() += eta;
      if (!w.eigen) w.eigen.emplace(n);
      // In a region of its own, so that Eigen's products in there keep to one thread (see parallel.hpp).
      detail::parallel_for(1, static_cast<double>(n * n * n), [&](Index) { w.eigen->compute(w.shifted); });
      if (w.eigen->info() != Eigen::Success) detail::fail("Ssge", "the eigenvalues of K + ridge I did not converge");
      const Index kept = eigenpairs.keep(w.eigen->eigenvalues());
      w.values = w.eigen->eigenvalues().tail(kept);
      w.vectors = w.eigen->eigenvectors().rightCols(kept);
      largest = w.values(kept - 1);
    }
    if (!(w.values(0) > std::numeric_limits<Scalar>::epsilon() * largest))
      detail::fail("Ssge", "eigenvalue ", w.values.size(), " of K + ridge I is ", w.values(0),
                   ", but must be positive: raise ridge, which is ", ridge, ", or keep fewer eigenpairs");
    return info;
  }

  /// By iteration; false where so many are wanted that it does not pay.
  template <class Gram, class Workspace, class Scalar>
  bool decompose_some(Gram& gram, Workspace& w, Scalar eta, SolveInfo& info, Scalar& largest) const {
    const Index n = gram.count();
    for (Index guess = 32;; guess *= 2) {
      const Index wanted = eigenpairs.known_count().value_or(guess);
      if (wanted > n / 4) {
        info = {};
        return false;
      }
      const Index before = info.iterations;
      info = w.subspace.compute(gram, wanted, std::max<Index>(10, wanted / 2), detail::iterative_settings(solver));
      info.iterations += before;
      const auto found = w.subspace.values().tail(wanted).array() + eta;
      const double total = static_cast<double>(gram.trace()) + static_cast<double>(n) * static_cast<double>(eta);
      const std::optional<Index> kept = eigenpairs.keep_of_largest(found, total, n);
      if (!kept) continue;
      w.values = found.tail(*kept).matrix();
      w.vectors = w.subspace.rows().bottomRows(*kept).transpose();
      largest = w.values(*kept - 1);
      return true;
    }
  }

  /// w.projected = g U
  template <class G, class Workspace>
  static void project(const G& g, Workspace& w) {
    w.projected.resize(g.rows(), w.vectors.cols());
    detail::product<typename G::Scalar>(g, w.vectors, w.projected);
  }
};
Ssge()->Ssge<>;
template <class Kernel>
Ssge(Kernel) -> Ssge<Kernel>;
template <class Kernel>
Ssge(Kernel, double) -> Ssge<Kernel>;
template <class Kernel, class Eigenpairs>
Ssge(Kernel, double, Eigenpairs) -> Ssge<Kernel, Eigenpairs>;
template <class Kernel, class Eigenpairs, class Solver>
Ssge(Kernel, double, Eigenpairs, Solver) -> Ssge<Kernel, Eigenpairs, Solver>;

}  // namespace repel
