// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <concepts>

// Metrics: the distance inside a kernel φ(distance / h), a sum over coordinates of term(x_k − y_k). A metric of your
// own is a type with two static functions of Eigen arrays:
//
//   struct PseudoHuber {                                       // Σ_k √(1 + (x_k − y_k)²) − 1
//     static auto term(const auto& difference) { return (1 + difference.square()).sqrt() - 1; }
//     static auto slope(const auto& difference) { return difference * (1 + difference.square()).rsqrt(); }
//   };
//
// slope is the derivative of term; term(0) and slope(0) must be 0, and term must be even. A factor that all derivatives
// share may be left out of slope and stated as `static constexpr int slope_factor`, which takes it out of the inner
// loops. A kernel chooses its metric by `using Metric = PseudoHuber;`.

namespace repel {

namespace detail {

/// sign(x), 0 for 0, which Eigen does not vectorise.
template <class Scalar>
struct Sign {
  Scalar operator()(const Scalar& x) const { return static_cast<Scalar>((x > 0) - (x < 0)); }
  template <class Packet>
  Packet packetOp(const Packet& x) const {
    namespace simd = Eigen::internal;
    const Packet one = simd::pset1<Packet>(Scalar(1)), zero = simd::pzero(x);
    return simd::psub(simd::pand(simd::pcmp_lt(zero, x), one), simd::pand(simd::pcmp_lt(x, zero), one));
  }
};

}  // namespace detail

}  // namespace repel

template <class Scalar>
struct Eigen::internal::functor_traits<repel::detail::Sign<Scalar>> {
  enum { Cost = 4 * NumTraits<Scalar>::AddCost, PacketAccess = packet_traits<Scalar>::HasCmp };
};

namespace repel {

/// ‖x − y‖²
struct SquaredEuclidean {
  static constexpr int slope_factor = 2;  ///< slope() is to be multiplied by it
  template <class Array>
  static auto term(const Array& difference) {
    return difference.square();
  }
  template <class Array>
  static const Array& slope(const Array& difference) {
    return difference;
  }
};

/// ‖x − y‖₁
struct Manhattan {
  template <class Array>
  static auto term(const Array& difference) {
    return difference.abs();
  }
  template <class Array>
  static auto slope(const Array& difference) {
    return difference.unaryExpr(detail::Sign<typename Array::Scalar>{});
  }
};

/// A distance that is a sum of one term per coordinate.
template <class M>
concept Metric = requires(const detail::Chunk<double>& difference) {
  { M::term(difference) } -> std::convertible_to<detail::Chunk<double>>;
  { M::slope(difference) } -> std::convertible_to<detail::Chunk<double>>;
};

namespace detail {

template <class M>
inline constexpr int kSlopeFactor = 1;
template <class M>
requires requires { M::slope_factor; }
inline constexpr int kSlopeFactor<M> = M::slope_factor;

}  // namespace detail

}  // namespace repel
