#pragma once

#include <repel/core/parallel.hpp>
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
    Matrix<Scalar> values;  // k(x_i, q_j), out of sample
  };

  template <class Gram, class Workspace, class Out>
  void score(Gram& gram, Workspace& workspace, Out& out) const {
    gram.attraction_over_sums(out, workspace.sums);  // the sums are at least 1 for kernels of a distance
  }

  template <class Gram, class Workspace, class Queries, class Out>
  void score_at(Gram& gram, Workspace& workspace, const Queries& queries, Out& out) const {
    using Scalar = typename Out::Scalar;
    gram.attraction_at(queries, workspace.values, out);
    workspace.sums = workspace.values.colwise().sum();
    // So far from every particle that the kernel vanishes there is no density to speak of.
    for (Index j = 0; j < out.cols(); ++j)
      if (!(workspace.sums(j) > 1000 * std::numeric_limits<Scalar>::min()))
        workspace.sums(j) = std::numeric_limits<Scalar>::quiet_NaN();
    divide_columns(out, workspace.sums);
  }

 private:
  /// Column by column: Eigen does not vectorise rowwise().
  template <class Out, class Sums>
  static void divide_columns(Out& out, const Sums& sums) {
    detail::parallel_tiles(out.cols(), 4, static_cast<double>(out.rows()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) out.col(j) *= 1 / sums(j);
    });
  }
};
Kde()->Kde<>;
template <class Kernel>
Kde(Kernel) -> Kde<Kernel>;

}  // namespace repel
