// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

// exp(−u) for u ≥ 0, the costly part of most kernels in few dimensions.
//
// Eigen's own exp covers every argument, with a division and a scaling in several steps. A kernel needs u ≥ 0 alone:
// there a polynomial and one addition to the exponent's bits are enough, at two to three times the rate. Errors are
// below 1 unit in the last place (tests/linalg/exp_test.cpp); results below the smallest normal number are 0.
// It takes the vector types of GCC and clang; without them numbers are treated one by one.

#if defined(__GNUC__) || defined(__clang__)
#define REPEL_HAS_VECTOR_TYPES 1  ///< whether the compiler has GCC's vector types
#else
#define REPEL_HAS_VECTOR_TYPES 0  ///< without them
#endif

namespace repel {

namespace detail {

/// exp(−u) = 2^(−n) exp(f) with n whole and |f| ≤ ln(2)/2; exp(f) by Horner's rule on its best polynomial.
template <class Scalar>
struct ExpTable;

template <>
struct ExpTable<double> {
  using Bits = std::uint64_t;  // unsigned: beyond `largest` the exponent wraps around, and is masked out
  static constexpr int mantissa_bits = 52;
  static constexpr double round = 0x1.8p52;  // adding it rounds to a whole number, left in the last bits
  static constexpr double log2_e = 0x1.71547652b82fep0;
  static constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;  // n ln2_high is exact
  static constexpr double largest = 708.396418532264;  // −ln of the smallest normal
  static constexpr std::array coefficients = {2.5000061625531279587e-8,
                                              2.763024838532302056e-7,
                                              2.7557586373785180954e-6,
                                              0.000024801493098887391545,
                                              0.00019841269506578723932,
                                              0.0013888888943630134161,
                                              0.0083333333334944616639,
                                              0.041666666666530158494,
                                              0.16666666666666412523,
                                              0.50000000000000106271,
                                              1.0,
                                              1.0};
};

template <>
struct ExpTable<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr float round = 0x1.8p23f;
  static constexpr float log2_e = 0x1.715476p0f;
  static constexpr float ln2_high = 0x1.62ep-1f, ln2_low = 0x1.0bfbe8p-15f;
  static constexpr float largest = 87.33654f;
  static constexpr std::array coefficients = {0.0013814598646664034453f,
                                              0.0083687168797281399469f,
                                              0.041668388045313996659f,
                                              0.16666520631709496887f,
                                              0.49999993447796486827f,
                                              1.0f,
                                              1.0f};
};

template <class Scalar>
struct ExpMinus {
  Scalar operator()(const Scalar& u) const {  // exactly the bits of packetOp
    using Packet = typename Eigen::internal::packet_traits<Scalar>::type;
    if constexpr (Eigen::internal::packet_traits<Scalar>::size == 1)
      return std::exp(-u);  // vectorisation is off
    else
      return Eigen::internal::pfirst(packetOp(Eigen::internal::pset1<Packet>(u)));
  }

  template <class Packet>
  static Packet tail(const Packet& f) {
    namespace simd = Eigen::internal;
    const auto c = []<std::size_t i>(std::integral_constant<std::size_t, i>) {
      constexpr Scalar value = ExpTable<Scalar>::coefficients[i];
      return simd::pset1<Packet>(value);
    };
    const Packet f2 = simd::pmul(f, f);
    if constexpr (sizeof(Scalar) == 8) {
      Packet even = c(std::integral_constant<std::size_t, 1>{}), odd = c(std::integral_constant<std::size_t, 0>{});
      even = simd::pmadd(even, f2, c(std::integral_constant<std::size_t, 3>{}));
      odd = simd::pmadd(odd, f2, c(std::integral_constant<std::size_t, 2>{}));
      even = simd::pmadd(even, f2, c(std::integral_constant<std::size_t, 5>{}));
      odd = simd::pmadd(odd, f2, c(std::integral_constant<std::size_t, 4>{}));
      even = simd::pmadd(even, f2, c(std::integral_constant<std::size_t, 7>{}));
      odd = simd::pmadd(odd, f2, c(std::integral_constant<std::size_t, 6>{}));
      even = simd::pmadd(even, f2, c(std::integral_constant<std::size_t, 9>{}));
      odd = simd::pmadd(odd, f2, c(std::integral_constant<std::size_t, 8>{}));
      return simd::pmadd(odd, f, even);
    } else {
      Packet even = c(std::integral_constant<std::size_t, 0>{}), odd = c(std::integral_constant<std::size_t, 1>{});
      even = simd::pmadd(even, f2, c(std::integral_constant<std::size_t, 2>{}));
      odd = simd::pmadd(odd, f2, c(std::integral_constant<std::size_t, 3>{}));
      even = simd::pmadd(even, f2, c(std::integral_constant<std::size_t, 4>{}));
      return simd::pmadd(odd, f, even);
    }
  }

#if REPEL_HAS_VECTOR_TYPES
  template <class Packet>
  Packet packetOp(const Packet& u) const {
    namespace simd = Eigen::internal;
    using Table = ExpTable<Scalar>;
    typedef typename Table::Bits Bits __attribute__((vector_size(sizeof(Packet))));
    const Packet shifted = simd::pmadd(u, simd::pset1<Packet>(-Table::log2_e), simd::pset1<Packet>(Table::round));
    const Packet n = simd::psub(shifted, simd::pset1<Packet>(Table::round));
    Packet f = simd::pmadd(n, simd::pset1<Packet>(-Table::ln2_high), simd::pnegate(u));
    f = simd::pmadd(n, simd::pset1<Packet>(-Table::ln2_low), f);
    const Packet p =
        simd::pmadd(f, simd::pmadd(f, tail(f), simd::pset1<Packet>(Scalar(1))), simd::pset1<Packet>(Scalar(1)));
    const Bits scaled = (Bits)p + ((Bits)shifted << Table::mantissa_bits);
    const Bits vanishes = (Bits)simd::pcmp_lt(simd::pset1<Packet>(Table::largest), u);
    return (Packet)(scaled & ~vanishes);
  }
#endif
};

}  // namespace detail

}  // namespace repel

template <class Scalar>
struct Eigen::internal::functor_traits<repel::detail::ExpMinus<Scalar>> {
  enum {
    Cost = 20 * NumTraits<Scalar>::MulCost,
    PacketAccess = REPEL_HAS_VECTOR_TYPES && packet_traits<Scalar>::HasExp
  };
};

namespace repel {

/// exp(−u) of every entry of an Eigen array, u ≥ 0.
template <class Array>
auto exp_minus(const Array& u) {
  return u.unaryExpr(detail::ExpMinus<typename Array::Scalar>{});
}

}  // namespace repel
