// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/rbf.hpp>
#include <repel/score/estimator.hpp>

#include <limits>

namespace repel {

/// Kernel density estimate: ∇ log ρ(x) = Σ_j ∇_x k(x, x_j) / Σ_j k(x, x_j) (the paper's equation 15).
///
/// Its fixed point is a smoothed one: the particles settle where their density *blurred by the kernel* is the target,
/// so they are too narrow by the kernel's variance, h/2 per axis for Rbf on a Gaussian.
template <class Kernel = Rbf<>>
struct Kde {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};

  template <class Scalar>
  struct Workspace {
    Vector<Scalar> sums;  // out of sample
  };

  template <class Pairs, class Workspace, class Out>
  void score(Pairs& pairs, Workspace&, Out& out) const {
    pairs.accumulate(pair::log_gradient(out));  // the sums are at least 1 for kernels of a distance
  }

  template <class Pairs, class Workspace, class Queries, class Out>
  void score_at(Pairs& pairs, Workspace& workspace, const Queries& queries, Out& out) const {
    using Scalar = typename Out::Scalar;
    pairs.accumulate_at(queries, pair::sums(workspace.sums), pair::log_gradient(out));
    // This far from every particle the kernel vanishes, so there is no density to speak of.
    for (Index j = 0; j < out.cols(); ++j)
      if (!(workspace.sums(j) > 1000 * std::numeric_limits<Scalar>::min()))
        out.col(j).setConstant(std::numeric_limits<Scalar>::quiet_NaN());
  }
};
Kde()->Kde<>;
template <class Kernel>
Kde(Kernel) -> Kde<Kernel>;

}  // namespace repel
