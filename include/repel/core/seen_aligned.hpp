// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace repel::detail {

/// Numbers in memory, or if `wanted` a copy of them where memory is aligned. Eigen's sums and its exp round in another order
/// before the first aligned address, and where the column of a particle lies depends on how many come before it in its
/// process: over several processes the bits must not. A thread holds one of each slot at a time.
template <class Scalar>
class SeenAligned {
 public:
  SeenAligned(bool wanted, int slot, Scalar* values, Index count) : values_(values), count_(count), seen_(values) {
    if (!wanted || reinterpret_cast<std::uintptr_t>(values) % 64 == 0) return;
    static thread_local std::array<Vector<Scalar>, 3> copies;
    Vector<Scalar>& copy = copies[static_cast<std::size_t>(slot)];
    if (copy.size() < count + 64) copy.resize(count + 64);
    seen_ = copy.data();
    while (reinterpret_cast<std::uintptr_t>(seen_) % 64 != 0) ++seen_;
    std::copy_n(values, count, seen_);
  }

  Scalar* data() const { return seen_; }
  void write_back() const {
    if (seen_ != values_) std::copy_n(seen_, count_, values_);
  }

 private:
  Scalar* values_;
  Index count_;
  Scalar* seen_;
};

}  // namespace repel::detail
