#pragma once

#include <repel/core/random.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace cifar10 {

inline constexpr repel::Index kSide = 32, kChannels = 3, kPlane = kSide * kSide, kPixels = kChannels * kPlane;

/// The usual augmentation of CIFAR-10: a picture is mirrored in half of all cases, and moved by up to four pixels each way,
/// with 0, which is the mean colour, where nothing was. A function of the seed and the picture alone.
struct FlipAndCrop {
  bool flip = false, crop = false;

  static FlipAndCrop from(const std::vector<std::string>& names) {
    const auto has = [&](const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); };
    return {has("flip"), has("crop")};
  }
  bool any() const { return flip || crop; }

  void operator()(std::uint64_t seed, Eigen::Ref<repel::Vector<float>> picture) const {
    constexpr repel::Index margin = 4;
    repel::Random random(seed);
    const bool mirrored = random.uniform() < 0.5 && flip;
    const auto shift = [&] {
      const double u = random.uniform();
      return crop ? static_cast<repel::Index>(u * (2 * margin + 1)) - margin : 0;
    };
    const repel::Index down = shift(), right = shift();
    std::array<float, kPixels> before;
    std::copy_n(picture.data(), kPixels, before.begin());
    for (repel::Index channel = 0, k = 0; channel < kChannels; ++channel)
      for (repel::Index r = 0; r < kSide; ++r)
        for (repel::Index c = 0; c < kSide; ++c, ++k) {
          const repel::Index row = r - down, column = (mirrored ? kSide - 1 - c : c) - right;
          const bool inside = row >= 0 && row < kSide && column >= 0 && column < kSide;
          picture(k) = inside ? before[static_cast<std::size_t>(channel * kPlane + row * kSide + column)] : 0.0F;
        }
  }
};

}  // namespace cifar10
