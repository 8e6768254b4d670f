#include "data.hpp"

#include "../images/options.hpp"

#include <repel/checkpoint.hpp>
#include <repel/data.hpp>

#include <cmath>
#include <iostream>
#include <stdexcept>

namespace cifar10 {

namespace fs = std::filesystem;

using images::Images;
using repel::Index;

namespace {

constexpr std::uintmax_t kRecord = kPixels + 1;

const char* const kTestFile = "test_batch.bin";

/// Pictures of 28×28 greys in the middle of black ones of 32×32, the same in every colour.
Images in_colour(const Images& grey) {
  constexpr Index inner = 28, margin = (kSide - inner) / 2;
  Images out{repel::Matrix<float>::Zero(kPixels, grey.inputs.cols()), grey.labels};
  for (Index i = 0; i < grey.inputs.cols(); ++i)
    for (Index channel = 0; channel < kChannels; ++channel)
      for (Index r = 0; r < inner; ++r)
        out.inputs.col(i).segment(channel * kPlane + (r + margin) * kSide + margin, inner) =
            grey.inputs.col(i).segment(r * inner, inner);
  return out;
}

Images noise(Index count) {
  Images out{repel::Matrix<float>(kPixels, count), Eigen::RowVectorXi::Zero(count)};
  repel::Random random(1);
  for (float& value : out.inputs.reshaped()) value = static_cast<float>(random.uniform());
  return out;
}

}  // namespace

Channels Channels::of(const Images& pictures) {
  Channels out;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    const auto rows = pictures.inputs.middleRows(static_cast<Index>(channel) * kPlane, kPlane);
    double sum = 0, squares = 0;  // picture by picture: a copy of all of them in double would be large
    for (Index i = 0; i < rows.cols(); ++i) {
      const Eigen::ArrayXd values = rows.col(i).cast<double>();
      sum += values.sum();
      squares += values.square().sum();
    }
    const auto n = static_cast<double>(rows.size());
    out.mean[channel] = sum / n;
    const double variance = squares / n - out.mean[channel] * out.mean[channel];
    out.sd[channel] = variance > 1e-12 ? std::sqrt(variance) : 1;  // pictures of one colour stay as they are
  }
  return out;
}

void Channels::standardise(Images& pictures) const {
  for (std::size_t channel = 0; channel < 3; ++channel) {
    auto rows = pictures.inputs.middleRows(static_cast<Index>(channel) * kPlane, kPlane).array();
    rows = (rows - static_cast<float>(mean[channel])) / static_cast<float>(sd[channel]);
  }
}

Images read_training(const fs::path& folder, Index count) {
  std::vector<Images> parts;
  Index found = 0;
  for (int batch = 1; batch <= 5 && found < count; ++batch) {
    parts.push_back(images::first(
        repel::data::read_cifar10<float>(folder / ("data_batch_" + std::to_string(batch) + ".bin")), count - found));
    found += parts.back().inputs.cols();
  }
  Images all{repel::Matrix<float>(kPixels, found), Eigen::RowVectorXi(found)};
  Index at = 0;
  for (Images& part : parts) {
    all.inputs.middleCols(at, part.inputs.cols()) = part.inputs;
    all.labels.segment(at, part.inputs.cols()) = part.labels;
    at += part.inputs.cols();
    part = {};  // a whole set takes 600 MB
  }
  return all;
}

Images read_test(const fs::path& folder, Index count) {
  return images::first(repel::data::read_cifar10<float>(folder / kTestFile), count);
}

images::Foreign read_foreign(const fs::path& given, const fs::path& data, Index count) {
  if (given.extension() == ".mat")
    throw std::runtime_error(
        given.string() +
        " is a file of Matlab, which this program does not read; examples/cifar10/README.md has five "
        "lines of Python that turn it into one that it does");
  const fs::path usual = data / "svhn" / "svhn_test.bin";
  if (!given.empty() || fs::exists(usual))
    return {"SVHN", images::first(repel::data::read_cifar10<float>(given.empty() ? usual : given), count)};
  const fs::path fashion =
      images::find_folder({}, {data / "fashion-mnist", "/usr/share/datasets/fashion-mnist"}, "t10k-images-idx3-ubyte");
  const bool have = !fashion.empty();
  std::cout << "no SVHN here: " << (have ? "FashionMNIST's pictures" : "pictures of noise")
            << " are what the ensembles should not be sure about. For SVHN give its test pictures by --ood; "
               "examples/cifar10/README.md says where to get them\n";
  if (!have) return {"noise", noise(std::min<Index>(count, 1000))};
  return {"FashionMNIST",
          in_colour(images::first(repel::data::read_mnist<float>(fashion, repel::data::Part::test), count))};
}

Eigen::MatrixXd read_human(const fs::path& file, const fs::path& folder, Index count) {
  Eigen::MatrixXd human = repel::load_npy<double>(file);  // a row there is a column here
  const auto pictures = static_cast<Index>(fs::file_size(folder / kTestFile) / kRecord);
  if (human.rows() != images::kClasses || human.cols() != pictures)
    throw std::runtime_error(file.string() + " is " + std::to_string(human.cols()) + "x" +
                             std::to_string(human.rows()) + ", but must be " + std::to_string(pictures) + "x" +
                             std::to_string(images::kClasses) + ": a row per picture of " + kTestFile +
                             ", a column per class");
  for (Index i = 0; i < pictures; ++i)
    if (!(human.col(i).minCoeff() >= 0) || !(std::abs(human.col(i).sum() - 1) < 1e-6))
      throw std::runtime_error(
          file.string() + ": row " + std::to_string(i) +
          " is no distribution: its numbers must be at least 0 and add up to 1, but the least is " +
          std::to_string(human.col(i).minCoeff()) + " and the sum " + std::to_string(human.col(i).sum()));
  return human.leftCols(count);
}

}  // namespace cifar10
