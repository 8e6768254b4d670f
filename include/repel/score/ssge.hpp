#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/score/estimator.hpp>
#include <repel/score/ridge_solver.hpp>
#include <repel/score/spectrum.hpp>

#include <Eigen/Eigenvalues>

#include <concepts>
#include <limits>
#include <optional>

namespace repel {

/// The spectral Stein gradient estimator of Shi et al. (2018)  (paper, Eq. "ssge_wgd"), over the eigenpairs (λ, u) of
/// K + ηI that `eigenpairs` keeps:
///   ∇ log ρ(x) = −G U Λ⁻² Uᵀ K(X, x)
/// Unlike SGE it is defined at any x. With all eigenpairs U Λ⁻² Uᵀ = (K + ηI)⁻², so a Cholesky factorisation stands in
/// for the eigenvectors: several times faster, and the same to rounding.
template <class Kernel = Rbf<>, class Eigenpairs = AllEigenpairs>
struct Ssge {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};
  double ridge = 0.01;  ///< η ≥ 0
  Eigenpairs eigenpairs{};

  static constexpr bool all = std::same_as<Eigenpairs, AllEigenpairs>;

  template <class Scalar>
  struct Workspace {
    detail::RidgeSolver<Scalar> solver;  // for all eigenpairs
    Matrix<Scalar> twice, weights, cross;
    std::optional<Eigen::SelfAdjointEigenSolver<Matrix<Scalar>>> eigen;  // for some
    Matrix<Scalar> shifted, projected;
    Index kept = 0;
  };

  void validate() const {
    detail::require_non_negative("Ssge", "ridge", ridge);
    detail::validate(eigenpairs);
  }

  template <class Gram, class Workspace, class Out>
  void score(Gram& gram, Workspace& w, Out& out) const {
    using Scalar = typename Out::Scalar;
    if constexpr (all) {
      // With A = K + ηI and B = G A⁻¹: G A⁻² K = G A⁻¹ (I − ηA⁻¹) = B − ηBA⁻¹, with no n×n×n product where d is small.
      w.solver.factorise("Ssge", gram.values(), ridge);
      w.twice.resize(out.rows(), out.cols());
      if (out.rows() > out.cols()) {
        const Matrix<Scalar>& inverse = w.solver.inverse(1);
        w.weights.resize(out.cols(), out.cols());
        detail::product<Scalar>(inverse, inverse, w.weights);
        w.weights = static_cast<Scalar>(ridge) * w.weights - inverse;
        gram.gradient_sum(w.twice);
        detail::product<Scalar>(w.twice, w.weights, out);
      } else {
        gram.gradient_sum(out);
        w.solver.solve_from_the_right(out);
        w.twice = out;
        w.solver.solve_from_the_right(w.twice);
        out = static_cast<Scalar>(ridge) * w.twice - out;
      }
    } else {
      decompose(gram, w);
      gram.gradient_sum(out);
      // In sample Uᵀ K = (Λ − ηI) Uᵀ.
      project(out, w);
      w.projected.array().rowwise() *=
          ((values(w).array() - static_cast<Scalar>(ridge)) / values(w).array().square()).transpose();
      detail::product_transposed<Scalar>(w.projected, vectors(w), out);
      out = -out;
    }
  }

  template <class Gram, class Workspace, class Queries, class Out>
  void score_at(Gram& gram, Workspace& w, const Queries& queries, Out& out) const {
    using Scalar = typename Out::Scalar;
    auto& coefficients = w.twice;
    coefficients.resize(queries.rows(), gram.values().cols());
    gram.values_at(queries, w.cross);
    gram.gradient_sum(coefficients);
    if constexpr (all) {
      w.solver.factorise("Ssge", gram.values(), ridge);
      if (out.rows() > gram.values().cols()) {  // A⁻² K(X, x) first
        const Matrix<Scalar>& inverse = w.solver.inverse(1);
        w.weights.resize(w.cross.rows(), w.cross.cols());
        detail::product<Scalar>(inverse, w.cross, w.weights);
        detail::product<Scalar>(inverse, w.weights, w.cross);
      } else {
        w.solver.solve_from_the_right(coefficients);
        w.solver.solve_from_the_right(coefficients);
      }
    } else {
      decompose(gram, w);
      project(coefficients, w);
      w.projected.array().rowwise() /= values(w).array().square().transpose();
      detail::product_transposed<Scalar>(w.projected, vectors(w), coefficients);
    }
    detail::product<Scalar>(coefficients, w.cross, out);
    out = -out;
  }

 private:
  template <class Gram, class Workspace>
  void decompose(Gram& gram, Workspace& w) const {
    using Scalar = typename std::remove_cvref_t<decltype(gram.values())>::Scalar;
    w.shifted = gram.values();
    w.shifted.diagonal().array() += detail::require_in_range<Scalar>("Ssge", "ridge", ridge);
    if (!w.eigen) w.eigen.emplace(w.shifted.cols());
    // In a region of its own, so that Eigen's products in there keep to one thread (see parallel.hpp).
    detail::parallel_for(1, static_cast<double>(w.shifted.size() * w.shifted.cols()),
                         [&](Index) { w.eigen->compute(w.shifted); });
    if (w.eigen->info() != Eigen::Success) detail::fail("Ssge", "the eigenvalues of K + ridge I did not converge");
    w.kept = eigenpairs.keep(w.eigen->eigenvalues());
    const Scalar smallest = values(w)(0), largest = w.eigen->eigenvalues()(w.shifted.cols() - 1);
    if (!(smallest > std::numeric_limits<Scalar>::epsilon() * largest))
      detail::fail("Ssge", "eigenvalue ", w.kept, " of K + ridge I is ", smallest,
                   ", but must be positive: raise ridge, which is ", ridge, ", or keep fewer eigenpairs");
  }

  /// w.projected = g U
  template <class G, class Workspace>
  static void project(const G& g, Workspace& w) {
    w.projected.resize(g.rows(), w.kept);
    detail::product<typename G::Scalar>(g, vectors(w), w.projected);
  }

  template <class Workspace>
  static auto values(const Workspace& w) {
    return w.eigen->eigenvalues().tail(w.kept);
  }
  template <class Workspace>
  static auto vectors(const Workspace& w) {
    return w.eigen->eigenvectors().rightCols(w.kept);
  }
};
Ssge()->Ssge<>;
template <class Kernel>
Ssge(Kernel) -> Ssge<Kernel>;
template <class Kernel>
Ssge(Kernel, double) -> Ssge<Kernel>;
template <class Kernel, class Eigenpairs>
Ssge(Kernel, double, Eigenpairs) -> Ssge<Kernel, Eigenpairs>;

}  // namespace repel
