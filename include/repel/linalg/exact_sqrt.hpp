// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <cmath>

#if defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace repel::detail {

/// √x, correctly rounded. Eigen's own is an approximation in float where it is vectorised, so that the last bit of a
/// number depends on whether it is in a whole register, that is on how many numbers come before and after it.
template <class Scalar>
struct ExactSqrt {
  Scalar operator()(Scalar x) const { return std::sqrt(x); }
#if defined(__SSE2__) || defined(_M_X64)
  static __m128 packetOp(__m128 x) { return _mm_sqrt_ps(x); }
  static __m128d packetOp(__m128d x) { return _mm_sqrt_pd(x); }
#endif
#if defined(__AVX__)
  static __m256 packetOp(__m256 x) { return _mm256_sqrt_ps(x); }
  static __m256d packetOp(__m256d x) { return _mm256_sqrt_pd(x); }
#endif
#if defined(__AVX512F__)
  static __m512 packetOp(__m512 x) { return _mm512_sqrt_ps(x); }
  static __m512d packetOp(__m512d x) { return _mm512_sqrt_pd(x); }
#endif
#if defined(__aarch64__)
  static float32x4_t packetOp(float32x4_t x) { return vsqrtq_f32(x); }
  static float32x2_t packetOp(float32x2_t x) { return vsqrt_f32(x); }
  static float64x2_t packetOp(float64x2_t x) { return vsqrtq_f64(x); }
#endif
};

/// √ of an array.
template <class Expression>
auto exact_sqrt(const Expression& x) {
  return x.unaryExpr(ExactSqrt<typename Expression::Scalar>{});
}

}  // namespace repel::detail

template <class Scalar>
struct Eigen::internal::functor_traits<repel::detail::ExactSqrt<Scalar>> {
#if defined(__SSE2__) || defined(_M_X64) || defined(__aarch64__)
  enum {Cost = 10 * Eigen::NumTraits<Scalar>::MulCost, PacketAccess = 1};
#else
  enum { Cost = 10 * Eigen::NumTraits<Scalar>::MulCost, PacketAccess = 0 };
#endif
};
