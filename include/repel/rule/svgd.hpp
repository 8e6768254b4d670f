#pragma once

#include <repel/core/product.hpp>
#include <repel/kernel/rbf.hpp>
#include <repel/rule/rule.hpp>

namespace repel {

/// Stein variational gradient descent (Liu & Wang 2016): Φ = (S K + G) / n  (paper, Eq. "svgd_update").
template <class Kernel = Rbf<>>
struct Svgd {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};

  template <class Scalar>
  struct Workspace {
    Gram<Kernel, Scalar> gram;
    Matrix<Scalar> driving, repulsion;  // S K and G
  };

  void validate() const { detail::validate_kernel(kernel); }

  template <class Z, class S, class Workspace, class Phi, class Pull = SamePlace>
  Forces direction(const Z& z, const S& s, Workspace& w, Phi& phi, const Pull& pull = {}) const {
    using Scalar = typename Z::Scalar;
    w.gram.update(kernel, z);
    if constexpr (std::same_as<Pull, SamePlace> && !Phi::IsRowMajor) {
      const double repulsion = w.gram.stein_direction(s, phi);
      return {w.gram.bandwidth(), detail::mean_norm(s), repulsion};
    } else {
      w.driving.resize(s.rows(), s.cols());
      w.repulsion.resize(z.rows(), z.cols());
      w.gram.product_and_gradient_sum(s, w.driving, w.repulsion);
      const auto& repulsion = pull(w.repulsion);
      phi = (w.driving + repulsion) / static_cast<Scalar>(z.cols());
      return {w.gram.bandwidth(), detail::mean_norm(s), detail::mean_norm(repulsion) / static_cast<double>(z.cols())};
    }
  }
};
Svgd()->Svgd<>;
template <class Kernel>
Svgd(Kernel) -> Svgd<Kernel>;

}  // namespace repel
