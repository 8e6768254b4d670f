// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/linalg/product.hpp>
#include <repel/linalg/subspace_iteration.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/kernel_solve.hpp>
#include <repel/score/spectrum.hpp>

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>

namespace repel {

/// The spectral Stein gradient estimator of Shi et al. (2018) (the paper's equation 17), over the eigenpairs (λ, u) of
/// K + ηI that `eigenpairs` keeps:
///   ∇ log ρ(x) = −G U Λ⁻² Uᵀ K(X, x)
/// Unlike SGE it is defined at any x. With all eigenpairs U Λ⁻² Uᵀ = (K + ηI)⁻², so linear solves replace the
/// eigenvectors: several times faster, and the same up to rounding.
template <class Kernel = Rbf<>, class Eigenpairs = AllEigenpairs, class Solver = AutoSolver>
struct Ssge {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};
  double ridge = 0.01;      ///< η ≥ 0
  Eigenpairs eigenpairs{};  ///< which of them are used
  Solver solver{};          ///< of the eigenvalue problem

  static constexpr bool all = std::same_as<Eigenpairs, AllEigenpairs>;  ///< whether all are

  template <class Scalar>
  struct AllWorkspace {
    detail::KernelSolve<Scalar, Solver> solve;
    Matrix<Scalar> twice, cross;
  };
  template <class Scalar>
  struct SomeWorkspace {
    std::optional<Eigen::SelfAdjointEigenSolver<Matrix<Scalar>>> eigen;
    detail::SubspaceIteration<Scalar> subspace;
    Matrix<Scalar> shifted, gradients, projected, vectors, cross;
    Vector<Scalar> values;  // those kept, ascending
  };
  template <class Scalar>
  using Workspace = std::conditional_t<all, AllWorkspace<Scalar>, SomeWorkspace<Scalar>>;

  void validate() const {
    detail::require_non_negative("Ssge", "ridge", ridge);
    detail::validate(eigenpairs);
    detail::validate(solver);
  }

  template <class Pairs, class Workspace, class Out>
  SolveInfo score(Pairs& pairs, Workspace& w, Out& out) const {
    using Scalar = typename Out::Scalar;
    const auto eta = static_cast<Scalar>(ridge);
    SolveInfo info;
    if constexpr (all) {
      // With A = K + ηI and B = G A⁻¹: G A⁻² K = G A⁻¹ (I − ηA⁻¹) = B − ηBA⁻¹.
      w.solve.prepare("Ssge", pairs, ridge, solver);
      const auto map = [&](Matrix<Scalar>& g) -> const Matrix<Scalar>& {
        info = w.solve.solve(pairs, g);
        w.twice = g;
        info = both(info, w.solve.solve(pairs, w.twice));
        g = eta * w.twice - g;
        return g;
      };
      pairs.source_gradient_through(map, out);
    } else {
      info = decompose(pairs, w);
      pairs.accumulate(pair::source_gradient(out));
      // In sample Uᵀ K = (Λ − ηI) Uᵀ.
      project(out, w);
      for (Index k = 0; k < w.values.size(); ++k)
        w.projected.col(k) *= -(w.values(k) - eta) / (w.values(k) * w.values(k));
      detail::product_transposed<Scalar>(w.projected, w.vectors, out);
    }
    return info;
  }

  template <class Pairs, class Workspace, class Queries, class Out>
  void score_at(Pairs& pairs, Workspace& w, const Queries& queries, Out& out) const {
    using Scalar = typename Out::Scalar;
    pairs.values_at(queries, w.cross);
    if constexpr (all) {
      w.solve.prepare("Ssge", pairs, ridge, solver);
      const auto map = [&](Matrix<Scalar>& g) -> const Matrix<Scalar>& {
        w.solve.solve(pairs, g);
        w.solve.solve(pairs, g);
        w.twice.resize(g.rows(), w.cross.cols());
        detail::product<Scalar>(g, w.cross, w.twice);
        w.twice *= Scalar(-1);
        return w.twice;
      };
      pairs.source_gradient_through(map, out);
    } else {
      decompose(pairs, w);
      w.gradients.resize(queries.rows(), pairs.count());
      pairs.accumulate(pair::source_gradient(w.gradients));
      project(w.gradients, w);
      for (Index k = 0; k < w.values.size(); ++k) w.projected.col(k) *= -1 / (w.values(k) * w.values(k));
      detail::product_transposed<Scalar>(w.projected, w.vectors, w.gradients);
      detail::product<Scalar>(w.gradients, w.cross, out);
    }
  }

 private:
  static SolveInfo both(const SolveInfo& a, const SolveInfo& b) {
    return {a.iterations + b.iterations, std::max(a.residual, b.residual)};
  }

  /// The eigenpairs that are kept, into w.values and w.vectors.
  template <class Pairs, class Workspace>
  SolveInfo decompose(Pairs& pairs, Workspace& w) const {
    using Scalar = typename std::remove_cvref_t<decltype(pairs.values())>::Scalar;
    const Scalar eta = detail::require_in_range<Scalar>("Ssge", "ridge", ridge);
    const Index n = pairs.count();
    Scalar largest = 0;
    SolveInfo info;
    if (detail::is_dense(solver, n, 600) || !decompose_some(pairs, w, eta, info, largest)) {
      w.shifted = pairs.values();
      w.shifted.diagonal().array() += eta;
      if (!w.eigen) w.eigen.emplace(n);
      {
        const detail::KeepEigenSerial serial;
        w.eigen->compute(w.shifted);
      }
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

  /// By iteration; returns false if too many are wanted for that to be worthwhile.
  template <class Pairs, class Workspace, class Scalar>
  bool decompose_some(Pairs& pairs, Workspace& w, Scalar eta, SolveInfo& info, Scalar& largest) const {
    const Index n = pairs.count();
    for (Index guess = 32;; guess *= 2) {
      const Index wanted = eigenpairs.known_count().value_or(guess);
      if (wanted > n / 4) {
        info = {};
        return false;
      }
      const Index before = info.iterations;
      info = detail::with_operator<Scalar>(pairs, [&](const detail::SymmetricOperator<Scalar>& k) {
        return w.subspace.compute(k, wanted, std::max<Index>(10, wanted / 2), detail::iterative_settings(solver));
      });
      info.iterations += before;
      const auto found = w.subspace.values().tail(wanted).array() + eta;
      const double total = static_cast<double>(pairs.trace()) + static_cast<double>(n) * static_cast<double>(eta);
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
