#pragma once

#include <repel/rule/rule.hpp>
#include <repel/score/sge.hpp>

namespace repel {

/// Wasserstein gradient descent on KL(ρ, p): Φ = ∇ log p − ∇ log ρ, with an estimate of ∇ log ρ  (paper, Eq.
/// "disc_WGD").
template <class Estimator = Sge<>>
struct Wgd {
  static_assert(detail::assert_estimator<Estimator>());
  Estimator estimator{};

  template <class Scalar>
  struct Workspace {
    Gram<KernelOf<Estimator>, Scalar> gram;
    WorkspaceOf<Estimator, Scalar> estimator;
    Matrix<Scalar> score;
  };

  void validate() const { detail::validate_estimator(estimator); }

  template <class Z, class S, class Workspace, class Phi, class Pull = SamePlace>
  Forces direction(const Z& z, const S& s, Workspace& w, Phi& phi, const Pull& pull = {}) const {
    w.gram.update(estimator.kernel, z);
    if constexpr (std::same_as<Pull, SamePlace> && !Phi::IsRowMajor) {
      const SolveInfo solve = score(w, phi);  // in place
      const auto [driving, repulsion] = detail::subtract_and_norms(s, phi, phi);
      return {w.gram.bandwidth(), driving, repulsion, solve};
    } else {
      w.score.resize(z.rows(), z.cols());
      const SolveInfo solve = score(w, w.score);
      const auto& pulled = pull(w.score);
      const auto [driving, repulsion] = detail::subtract_and_norms(s, pulled, phi);
      return {w.gram.bandwidth(), driving, repulsion, solve};
    }
  }

 private:
  template <class Workspace, class Out>
  SolveInfo score(Workspace& w, Out& out) const {
    if constexpr (std::convertible_to<decltype(estimator.score(w.gram, w.estimator, out)), SolveInfo>) {
      return estimator.score(w.gram, w.estimator, out);
    } else {
      estimator.score(w.gram, w.estimator, out);
      return {};
    }
  }
};
Wgd()->Wgd<>;
template <class Estimator>
Wgd(Estimator) -> Wgd<Estimator>;

}  // namespace repel
