// SPDX-License-Identifier: MIT
#pragma once

#include <repel/kernel/kernel.hpp>
#include <repel/pairwise/packed_points.hpp>

#include <limits>

namespace repel::detail {

/// A kernel of a distance behind one function pointer, which is all that the loops over pairs know of it: they are
/// compiled once per metric and scalar type, whatever the kernels. It works on runs of distances, so the call costs
/// nothing.
template <class Scalar>
class RadialFunction {
 public:
  RadialFunction() = default;

  template <class K>
  RadialFunction(const K& kernel, double bandwidth)
      : inverse_bandwidth(static_cast<Scalar>(1 / bandwidth)),
        shares_slope(kSlopeSharesValue<K>),
        kernel_(&kernel),
        evaluate_(evaluate<K>) {
    const Scalar zero = 0;
    (*this)(&zero, 1, &value_at_0, nullptr);
  }

  /// values[i] = φ(distances[i] / h), and slopes[i] = φ′ there unless it is null. Either may be written over the
  /// distances. All entries go through vector registers, so their bits do not depend on addresses.
  void operator()(const Scalar* distances, Index count, Scalar* values, Scalar* slopes) const {
    evaluate_(kernel_, inverse_bandwidth, distances, count, values, slopes);
  }

  Scalar inverse_bandwidth = 1;
  Scalar value_at_0 = 1;      ///< k(x, x)
  bool shares_slope = false;  ///< φ′ = −φ, so that one array serves for both

  /// What turns an entry of the array that stands for φ′ into φ′.
  Scalar slope_sign() const { return shares_slope ? Scalar(-1) : Scalar(1); }

 private:
  template <class K>
  static void evaluate(const void* object, Scalar inverse_h, const Scalar* distances, Index count, Scalar* values,
                       Scalar* slopes) {
    using C = Chunk<Scalar>;
    constexpr Index W = kChunk<Scalar>;
    const K& kernel = *static_cast<const K*>(object);
    // u kept finite, so that tails such as (1 + √u) exp(−√u) end in 0 and not in ∞·0.
    const Scalar largest = std::numeric_limits<Scalar>::max() / (kSlopeSharesValue<K> ? 1 : 8);
    const Index whole_chunks = count / W * W;
    if (slopes == nullptr) {
      for (Index i = 0; i < whole_chunks; i += W) {
        C u = Eigen::Map<const C>(distances + i) * inverse_h;
        if constexpr (!kSlopeSharesValue<K>) u = u.min(largest);
        Eigen::Map<C>(values + i) = kernel.phi(u);
      }
    } else {
      for (Index i = 0; i < whole_chunks; i += W) {
        C u = Eigen::Map<const C>(distances + i) * inverse_h;
        if constexpr (!kSlopeSharesValue<K>) u = u.min(largest);
        const C k = kernel.phi(u);
        Eigen::Map<C>(values + i) = k;
        Eigen::Map<C>(slopes + i) = kernel.phi_prime(u, k);
      }
    }
    if (whole_chunks == count) return;
    alignas(64) Scalar rest[W] = {};
    std::copy(distances + whole_chunks, distances + count, rest);
    const C u = (Eigen::Map<const C>(rest) * inverse_h).min(largest), k = kernel.phi(u);
    for (Index i = whole_chunks; i < count; ++i) values[i] = k(i - whole_chunks);
    if (slopes == nullptr) return;
    const C slope = kernel.phi_prime(u, k);
    for (Index i = whole_chunks; i < count; ++i) slopes[i] = slope(i - whole_chunks);
  }

  const void* kernel_ = nullptr;
  void (*evaluate_)(const void*, Scalar, const Scalar*, Index, Scalar*, Scalar*) = nullptr;
};

}  // namespace repel::detail
