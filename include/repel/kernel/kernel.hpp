// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/bandwidth.hpp>
#include <repel/kernel/metric.hpp>

// What a kernel is. Two ways to write your own, both outside the library, both usable wherever Rbf is:
//
// 1. A kernel of a distance, k(x, y) = φ(u) with u = ‖x − y‖² / h: give φ and φ′ = dφ/du on Eigen arrays. They are
//    evaluated on several pairs at once; φ′ gets k = φ(u) as well, since the two often share their costly part. A
//    radial kernel is this much (repel::exp_minus(u) is a fast exp(−u); if φ′ = −φ, as for Rbf, say `static constexpr
//    bool slope_shares_value = true;` to save half of the memory; for another distance than ‖x − y‖² add `using Metric
//    = repel::Manhattan;`, or a metric of your own, see kernel/metric.hpp):
//
//      struct Cauchy {                                                            // k = 1 / (1 + r²/h)
//        repel::MedianBandwidth bandwidth{};
//        auto phi(const auto& u) const { return (1 + u).inverse(); }
//        auto phi_prime(const auto&, const auto& k) const { return -k.square(); }
//      };
//      auto sampler = repel::weight_space(target, repel::Svgd{Cauchy{}}, repel::Adam{});
//
// 2. Any other kernel, pair by pair: give value(x, y, h) and gradient(x, y, h) = ∇_x k(x, y). It need not be
//    translation invariant. Convenient, but it cannot be vectorised over particles, so it is the slower way:
//
//      struct Linear {                                                            // k = 1 + x·y / h
//        repel::FixedBandwidth bandwidth{1.0};
//        auto value(const auto& x, const auto& y, auto h) const { return 1 + x.dot(y) / h; }
//        auto gradient(const auto&, const auto& y, auto h) const { return y / h; }
//      };
//
// A radial kernel that also gives φ″, phi_second(u, k), serves the Stein discrepancy (diagnostics/stein_kernel.hpp).
//
// SGE and SSGE rest on Stein's identity and so ask for a kernel in the Stein class of ρ: differentiable in x, with
// k(x, y) ρ(x) → 0 as ‖x‖ → ∞. Each kernel's comment says whether it is.

namespace repel {

namespace detail {

template <class K>
struct FindMetric {
  using type = SquaredEuclidean;
};
template <class K>
requires requires { typename K::Metric; }
struct FindMetric<K> {
  using type = typename K::Metric;
};

/// Kernels with φ′ = −φ say so, and one array serves for both.
template <class K>
inline constexpr bool kSlopeSharesValue = requires {
  requires K::slope_shares_value;
};

}  // namespace detail

/// The distance that kernel K and its bandwidth rule use.
template <class K>
using MetricOf = typename detail::FindMetric<K>::type;

/// A kernel of a distance: φ(distance / h).
template <class K>
concept DistanceKernel = requires(const K& kernel, const detail::Chunk<double>& u) {
  requires BandwidthRule<std::remove_cvref_t<decltype(kernel.bandwidth)>>;
  { kernel.phi(u) } -> std::convertible_to<detail::Chunk<double>>;
  { kernel.phi_prime(u, u) } -> std::convertible_to<detail::Chunk<double>>;
  requires Metric<MetricOf<K>>;
};

/// A kernel written pair by pair: value(x, y, h) and gradient(x, y, h).
template <class K>
concept PairKernel = requires(const K& kernel, const Eigen::VectorXd& x, double h) {
  requires BandwidthRule<std::remove_cvref_t<decltype(kernel.bandwidth)>>;
  { kernel.value(x, x, h) } -> std::convertible_to<double>;
  { kernel.gradient(x, x, h) } -> std::convertible_to<Eigen::VectorXd>;
};

/// A wrapper of another kernel, `inner`, with Pairs of its own (kernel/ard.hpp).
template <class K>
concept WrappedKernel = requires(const K& kernel) {
  kernel.inner;
  kernel.scale;
};

/// Any kernel.
template <class K>
concept Kernel = DistanceKernel<K> || PairKernel<K> || WrappedKernel<K>;

namespace detail {

template <class K>
void validate_kernel(const K& kernel) {
  validate(kernel);
  if constexpr (requires { kernel.bandwidth; }) validate(kernel.bandwidth);  // otherwise the kernel inside has one
}

template <class K>
consteval bool assert_kernel() {
  static_assert(Kernel<K>,
                "repel: this policy takes a kernel, such as Rbf{}, or your own type with a bandwidth rule and either "
                "phi(u) and phi_prime(u, k), or value(x, y, h) and gradient(x, y, h)");
  return true;
}

}  // namespace detail

}  // namespace repel
