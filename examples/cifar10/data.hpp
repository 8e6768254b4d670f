#pragma once

#include "../images/problem.hpp"
#include "augmentation.hpp"

#include <array>
#include <filesystem>

namespace cifar10 {

/// Mean and standard deviation of each colour: pictures in units of these train faster.
struct Channels {
  std::array<double, 3> mean{}, sd{};

  static Channels of(const images::Images& pictures);
  void standardise(images::Images& pictures) const;

  /// The colour, 0 to 1, behind a standardised value.
  double pixel(float value, repel::Index row) const {
    const auto channel = static_cast<std::size_t>(row / kPlane);
    return static_cast<double>(value) * sd[channel] + mean[channel];
  }
};

/// The first pictures of data_batch_1.bin to data_batch_5.bin; reads no more files than it needs.
images::Images read_training(const std::filesystem::path& folder, repel::Index count);
images::Images read_test(const std::filesystem::path& folder, repel::Index count);

/// SVHN from a file given by hand or from DATA/svhn/svhn_test.bin. Where there is none it says what to do, and takes
/// FashionMNIST's pictures instead, in the middle of a black square, or else noise.
images::Foreign read_foreign(const std::filesystem::path& given, const std::filesystem::path& data, repel::Index count);

/// Human label distributions, 10×count: of the first test pictures. The file must have a row for each picture of the test
/// set in `folder`.
Eigen::MatrixXd read_human(const std::filesystem::path& file, const std::filesystem::path& folder, repel::Index count);

}  // namespace cifar10
