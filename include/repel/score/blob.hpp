// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/rbf.hpp>
#include <repel/score/estimator.hpp>

namespace repel {

/// The blob method (Carrillo et al. 2019; Liu et al. 2019): the gradient flow of the KL divergence with the density
/// inside the logarithm blurred by the kernel. With S_i = Σ_l k(x_i, x_l),
///   ∇ log ρ(x_i) = Σ_j ∇_{x_i} k(x_i, x_j) (1/S_i + 1/S_j)
template <class Kernel = Rbf<>>
struct Blob {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};

  template <class Scalar>
  struct Workspace {
    Vector<Scalar> inverse_sums;
  };

  template <class Pairs, class Workspace, class Out>
  void score(Pairs& pairs, Workspace& w, Out& out) const {
    pairs.accumulate(pair::sums(w.inverse_sums));
    for (Index i = 0; i < w.inverse_sums.size(); ++i) w.inverse_sums(i) = 1 / w.inverse_sums(i);
    pairs.accumulate(pair::gradient(out, w.inverse_sums, w.inverse_sums));
  }
};
Blob()->Blob<>;
template <class Kernel>
Blob(Kernel) -> Blob<Kernel>;

}  // namespace repel
