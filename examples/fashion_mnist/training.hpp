#pragma once

#include <repel/bnn/likelihood.hpp>
#include <repel/core/types.hpp>
#include <repel/data/labelled.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fashion {

using Images = repel::data::Labelled<float>;

inline constexpr repel::Index kClasses = 10;

/// In the order of the paper's table.
inline const std::vector<std::string> kMethods{"DE",      "SVGD",     "f-SVGD",   "hyper-DE", "kde-WGD",
                                               "sge-WGD", "ssge-WGD", "kde-fWGD", "sge-fWGD", "ssge-fWGD"};

struct Settings {
  std::filesystem::path out = "fashion_mnist-out";
  long members = 5;
  long steps = 200;
  long batch = 256;
  std::vector<std::uint64_t> seeds{42};
  std::vector<std::string> methods = kMethods;
  std::string view = "outputs";  ///< what the kernel sees in function space
  std::string init = "pytorch";  ///< where the members start: pytorch or prior
  std::string function_prior = "implicit";
  double prior_sd = 1;       ///< of every weight
  double learning_rate = 0;  ///< 0: the paper's, by method
  long search_steps = 0;     ///< of hyper-DE's search; 0: a fifth of the steps
  double checkpoint_seconds = 60;
  bool resume = false;
};

/// The paper's learning rates (appendix).
inline double learning_rate(const Settings& settings, const std::string& method) {
  if (settings.learning_rate > 0) return settings.learning_rate;
  return method == "kde-WGD" || method == "sge-WGD" || method == "ssge-WGD" ? 0.001 : 0.0025;
}

/// Where a method ended, or was when Ctrl-C was pressed.
struct Trained {
  repel::Matrix<float> members;  ///< a network per column
  repel::Index steps = 0;
  double seconds = 0;  ///< of training, over all its parts
  std::string remark;  ///< what is to be said beside the table
};

/// Trains one method from one seed, or goes on with it from its checkpoint. Shows the loss on a slice of the training
/// data and the accuracy on a slice of the test data.
Trained train(const Settings& settings, const std::string& method, std::uint64_t seed, const Images& data,
              const Images& test);

/// The members' logits at some pictures, (classes·pictures)×members.
repel::Matrix<float> logits(const repel::Matrix<float>& members, const repel::Matrix<float>& inputs);

/// What the members say about the pictures, and on average.
repel::CategoricalPrediction<float> predict(const repel::Matrix<float>& logits);

/// The first pictures of a set.
inline Images first(const Images& images, repel::Index count) {
  const repel::Index n = std::min(count, images.inputs.cols());
  return {images.inputs.leftCols(n), images.labels.head(n)};
}

/// Throws where there are fewer pictures than a batch needs, before hours have gone into the methods that come first.
void require_enough(const Settings& settings, const Images& data);

/// Whether there are checkpoints of an earlier run.
bool has_checkpoints(const Settings& settings);

}  // namespace fashion
