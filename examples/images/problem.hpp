#pragma once

#include "../common/network_samplers.hpp"

#include <repel/core/types.hpp>
#include <repel/data/labelled.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// What the examples on pictures share: an experiment trains ensembles of a network on labelled pictures by methods of the
// paper's table, and asks them about a test set and about pictures from elsewhere. The network itself is a handful of
// functions, Problem; all the rest is here.

namespace images {

using Images = repel::data::Labelled<float>;

inline constexpr repel::Index kClasses = 10;

/// In the order of the paper's table.
inline const std::vector<std::string> kMethods{"DE",      "SVGD",     "f-SVGD",   "hyper-DE", "kde-WGD",
                                               "sge-WGD", "ssge-WGD", "kde-fWGD", "sge-fWGD", "ssge-fWGD"};

/// Not in the paper; each also with a temperature, as cal-kde-WGD@0.1.
inline const std::vector<std::string> kCalibratedMethods{
    "cal-kde-WGD", "cal-kde-WGD-coordinates", "cal-kde-WGD-layers", "cal-sge-WGD", "cal-kde-fWGD", "cal-sge-fWGD"};

inline constexpr double kLogFloor = 1e-12;

struct Settings {
  std::filesystem::path out;
  long members = 0;
  long steps = 0;
  long batch = 0;
  long train = 0, test = 0;  ///< pictures at most
  std::vector<std::uint64_t> seeds{42};
  std::vector<std::string> methods = kMethods;
  std::string view = "outputs";  ///< what the kernel sees in function space
  std::string init;              ///< where the members start
  std::string function_prior = "implicit";
  double prior_sd = 1;           ///< of every weight
  double learning_rate = 0;      ///< 0: the paper's, by method
  std::string decay = "none";    ///< of the learning rate, over the run
  long search_steps = 0;         ///< of hyper-DE's search; 0: a fifth of the steps
  std::string anneal = "none";   ///< of the driving force, over the run
  double log_floor = kLogFloor;  ///< beside a probability, in probability space
  double bandwidth_factor = 1;   ///< on the kernel's bandwidth
  double checkpoint_seconds = 60;
  bool resume = false;
};

/// The network and all that depends on it.
struct Problem {
  std::string name;       ///< of the program
  std::string data_name;  ///< of the pictures it is trained on

  std::string identity;  ///< what else a checkpoint must share, as it is put into a sentence: ", resnet8"
  repel::Index side = 0, channels = 1;  ///< of a picture: channels×side×side numbers
  repel::Index chunk = 10000;  ///< pictures that the members see at once when they are asked, for memory's sake
  bool roc_corner = false;     ///< whether the ROC curves are close to the corner, and only that is drawn

  std::function<repel::Matrix<float>(const Settings&, std::uint64_t seed)> start;  ///< a network per column
  /// With a prior scale per member, dealt out in turn: one for all but the hyper-deep ensemble.
  std::function<example::NetworkPosterior(const Settings&, const std::vector<double>& scales, const Images&,
                                          std::uint64_t seed)>
      posterior;
  /// (classes·pictures)×members.
  std::function<repel::Matrix<float>(const repel::Matrix<float>& members, const repel::Matrix<float>& inputs)> logits;
  std::function<double(const std::string& method)> learning_rate;  ///< the paper's
  std::function<double(float value, repel::Index row)> pixel =     ///< 0 to 1, of an input in this row
      [](float value, repel::Index) { return static_cast<double>(value); };
};

/// Pictures that do not belong to any of the classes.
struct Foreign {
  std::string name;
  Images pictures;
};

struct Data {
  Images train, test;
  std::vector<Foreign> ood;  ///< one or more; the first is that of the paper's columns
  Eigen::MatrixXd human{};   ///< classes×test pictures: how people's answers are distributed; empty if not known
};

/// The first pictures of a set.
inline Images first(const Images& images, repel::Index count) {
  const repel::Index n = std::min(count, images.inputs.cols());
  return {images.inputs.leftCols(n), images.labels.head(n)};
}

}  // namespace images
