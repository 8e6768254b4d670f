// SPDX-License-Identifier: MIT
#pragma once

#if defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__GNUC__)
#include <cstdint>
#endif

// How a thread rounds, and what it does with numbers below the smallest normal one (1.2e-38 in float). This mode is
// set per thread, so a loop that runs in several threads must give them the mode of the thread that started it
// (core/parallel.hpp); otherwise the bits would depend on the number of threads. Implemented for x86 and 64-bit ARM;
// elsewhere nothing here has any effect, and kHasFloatMode says so.

namespace repel {

namespace detail {

#if defined(__SSE2__) || defined(_M_X64)
inline constexpr bool kHasFloatMode = true;
inline constexpr unsigned kFloatFlags = 0x3f;          // status flags raised so far: not part of the mode
inline constexpr unsigned kFlushBits = 0x8000 | 0x40;  // denormal results, and operands, count as 0
inline unsigned float_mode() { return _mm_getcsr() & ~kFloatFlags; }
inline void set_float_mode(unsigned mode) { _mm_setcsr((_mm_getcsr() & kFloatFlags) | mode); }
#elif defined(__aarch64__) && defined(__GNUC__)
inline constexpr bool kHasFloatMode = true;
inline constexpr unsigned kFlushBits = 1u << 24;  // FZ: denormal results, and operands, count as 0
inline unsigned float_mode() {                    // FPCR; the status flags are in another register
  std::uint64_t mode;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  return static_cast<unsigned>(mode);
}
inline void set_float_mode(unsigned mode) { asm volatile("msr fpcr, %0" : : "r"(std::uint64_t{mode}) : "memory"); }
#else
inline constexpr bool kHasFloatMode = false;
inline constexpr unsigned kFlushBits = 0;
inline unsigned float_mode() { return 0; }
inline void set_float_mode(unsigned) {}
#endif

/// While it lives, this thread computes in a given mode.
class WithFloatMode {
 public:
  explicit WithFloatMode(unsigned mode) : before_(float_mode()), changes_(mode != before_) {
    if (changes_) set_float_mode(mode);
  }
  ~WithFloatMode() {
    if (changes_) set_float_mode(before_);
  }
  WithFloatMode(const WithFloatMode&) = delete;
  WithFloatMode& operator=(const WithFloatMode&) = delete;

 private:
  unsigned before_;
  bool changes_;
};

}  // namespace detail

/// While it lives, numbers below the smallest normal one count as 0 in this thread and in the loops that it starts.
/// Samplers do this in every step: for weights that get no gradient (of dead units, or of pixels that are always 0)
/// Adam's averages decay into such numbers, which slow many processors down a hundredfold. For a loop of
/// your own:
///
///   const repel::FlushDenormals flush;
///   for (…) x += 0.1 * repel::direction(rule, x, gradient(x));
class FlushDenormals {
 public:
  FlushDenormals() : mode_(detail::float_mode() | detail::kFlushBits) {}

 private:
  detail::WithFloatMode mode_;
};

}  // namespace repel
