// SPDX-License-Identifier: MIT
#pragma once

#include <repel/repel.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

// What the machine can do, measured at the same moment as the step it is held against: the rates of large matrix
// products, of exp_minus on numbers in the nearest cache, and of a copy through main memory, each on all threads.

namespace repel::bench {

/// The clock of all measurements.
using Clock = std::chrono::steady_clock;

/// Seconds since then.
inline double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// The upper median of some values.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What a step cannot do without.
struct Work {
  double exps = 0;   ///< kernel values
  double flops = 0;  ///< multiplications and additions outside of exp
  double bytes = 0;  ///< through memory, if it does not fit the caches
};

/// The best of three, in units per second.
template <class Body>
double best_rate(double units, const Body& body) {
  double best = 0;
  for (int r = 0; r < 3; ++r) {
    const auto start = Clock::now();
    body();
    best = std::max(best, units / since(start));
  }
  return best;
}

/// The rates of the machine now.
template <class Scalar>
struct Roofline {
  double exps, flops, bytes;  ///< per second

  /// Takes some tenths of a second.
  static Roofline measure() {
    const Index threads = repel::detail::thread_slots();
    const auto count = static_cast<std::size_t>(threads);
    constexpr Index size = 512, length = 1024, rounds = 2000, large = 1 << 22;

    static const repel::Matrix<Scalar> a = repel::normal<Scalar>(size, size, 1);
    std::vector<repel::Matrix<Scalar>> out(count, repel::Matrix<Scalar>::Zero(size, size));
    const double flops = best_rate(2.0 * size * size * size * static_cast<double>(threads), [&] {
      repel::detail::parallel_for(threads, 1e9, [&](Index t) { out[static_cast<std::size_t>(t)].noalias() = a * a; });
    });

    using Array = Eigen::Array<Scalar, Eigen::Dynamic, 1>;
    std::vector<Array> u(count, Array::LinSpaced(length, 0, 20)), k(count, Array::Zero(length));
    const double exps = best_rate(static_cast<double>(length * rounds * threads), [&] {
      repel::detail::parallel_for(threads, 1e9, [&](Index t) {
        const auto at = static_cast<std::size_t>(t);
        for (Index r = 0; r < rounds; ++r) {
          k[at] = repel::exp_minus(u[at]);
          u[at](r % length) = k[at](0);  // so that no round can be left out
        }
      });
    });

    static std::vector<Array> from, to;
    if (from.size() != count) from.assign(count, Array::Ones(large)), to = from;
    const double bytes = best_rate(2.0 * sizeof(Scalar) * large * static_cast<double>(threads), [&] {
      repel::detail::parallel_for(
          threads, 1e9, [&](Index t) { to[static_cast<std::size_t>(t)] = from[static_cast<std::size_t>(t)]; });
    });
    return {exps, flops, bytes};
  }

  /// The time that this work takes at these rates, one after the other.
  double seconds(const Work& work) const { return work.exps / exps + work.flops / flops + work.bytes / bytes; }
};

}  // namespace repel::bench
