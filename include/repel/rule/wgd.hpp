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
    w.score.resize(z.rows(), z.cols());
    estimator.score(w.gram, w.estimator, w.score);
    const auto& score = pull(w.score);
    phi = s - score;
    return {w.gram.bandwidth(), detail::mean_norm(s), detail::mean_norm(score)};
  }
};
Wgd()->Wgd<>;
template <class Estimator>
Wgd(Estimator) -> Wgd<Estimator>;

}  // namespace repel
