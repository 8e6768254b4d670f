#pragma once

#include <repel/kernel/rbf.hpp>
#include <repel/score/estimator.hpp>

#include <limits>

namespace repel {

/// Kernel density estimate: ∇ log ρ(x) = Σ_j ∇_x k(x, x_j) / Σ_j k(x, x_j)  (paper, Eq. "kde_WGD").
///
/// Its fixed point is a smoothed one: the particles settle where their density *blurred by the kernel* is the target,
/// so they are too narrow by the kernel's variance, h/2 per axis for Rbf on a Gaussian.
template <class Kernel = Rbf<>>
struct Kde {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};

  template <class Scalar>
  struct Workspace {
    Eigen::Matrix<Scalar, 1, Eigen::Dynamic> sums;
  };

  template <class Gram, class Workspace, class Out>
  void score(Gram& gram, Workspace& workspace, Out& out) const {
    workspace.sums = gram.values().colwise().sum();  // at least 1 for kernels of a distance
    gram.attraction(out);
    out.array().rowwise() /= workspace.sums.array();
  }

  template <class Gram, class Workspace, class Queries, class Out>
  void score_at(Gram& gram, Workspace& workspace, const Queries& queries, Out& out) const {
    using Scalar = typename Out::Scalar;
    Matrix<Scalar> values;
    gram.attraction_at(queries, values, out);
    workspace.sums = values.colwise().sum();
    for (Index j = 0; j < out.cols(); ++j)
      if (!(workspace.sums(j) > 1000 * std::numeric_limits<Scalar>::min()))
        detail::fail("estimate_score", "queries.col(", j,
                     ") is so far from every particle that the kernel (h = ", gram.bandwidth(),
                     ") vanishes there, but a KDE needs a positive density");
    out.array().rowwise() /= workspace.sums.array();
  }
};
Kde()->Kde<>;
template <class Kernel>
Kde(Kernel) -> Kde<Kernel>;

}  // namespace repel
