// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/rbf.hpp>
#include <repel/rule/rule.hpp>

namespace repel {

/// Stein variational gradient descent (Liu & Wang 2016): Φ = (S K + G) / n (the paper's equation 6).
template <class Kernel = Rbf<>>
struct Svgd {
  static_assert(detail::assert_kernel<Kernel>());
  Kernel kernel{};

  template <class Scalar>
  struct Workspace {
    Pairs<Kernel, Scalar> pairs;
  };

  void validate() const { detail::validate_kernel(kernel); }

  template <class Z, class S, class Workspace, class Phi>
  RuleInfo direction(const Z& z, const S& s, Workspace& w, Phi& phi) const {
    RuleInfo info;
    w.pairs.measure(kernel, z);
    w.pairs.accumulate(pair::stein(s, 1 / static_cast<typename Phi::Scalar>(z.cols()), phi, &info.repulsion));
    info.bandwidth = w.pairs.bandwidth();
    return info;
  }

  template <class Z, class S, class Workspace, class Driving, class Repulsion>
  RuleInfo parts(const Z& z, const S& s, Workspace& w, Driving& driving, Repulsion& repulsion) const {
    w.pairs.measure(kernel, z);
    w.pairs.accumulate(pair::product(s, driving), pair::source_gradient(repulsion));
    const auto scale = 1 / static_cast<typename Driving::Scalar>(z.cols());
    driving *= scale;
    repulsion *= scale;
    return {w.pairs.bandwidth(), detail::mean_norm(repulsion)};
  }
};
Svgd()->Svgd<>;
template <class Kernel>
Svgd(Kernel) -> Svgd<Kernel>;

}  // namespace repel
