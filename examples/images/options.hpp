#pragma once

#include "problem.hpp"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;  // of CLI11, which is slow to compile
}

namespace images {

/// The size of an experiment.
struct Size {
  long members, steps, batch;
  long train, test;  ///< pictures; 0: all
};

/// What the examples on pictures differ in, as far as their common options go.
struct Defaults {
  Size quick, paper;
  std::vector<std::string> inits;  ///< where members may start; the first is the default
  std::string rates;               ///< the paper's learning rates, in words
};

/// The common options. Lives as long as the command line is read.
class Options {
 public:
  Options(CLI::App& app, Settings& settings, const Defaults& defaults);

  bool paper() const { return paper_; }

  /// After the command line was read: what was not given by hand, the number of threads. Throws where options do not go
  /// together.
  void settle();

 private:
  Settings& s_;
  Defaults defaults_;
  bool paper_ = false;
  Size given_{0, 0, 0, -1, -1};
  long threads_ = 0;
};

/// A folder given by hand, or the first of the usual ones where `file` is, plain or compressed; empty if there is none.
std::filesystem::path find_folder(const std::filesystem::path& given, const std::vector<std::filesystem::path>& usual,
                                  const std::string& file);

/// The same, but throws if there is none: says that `what` are missing, and that `option` names them.
std::filesystem::path require_folder(const std::filesystem::path& given, const std::string& option,
                                     const std::vector<std::filesystem::path>& usual, const std::string& file,
                                     const std::string& what);

}  // namespace images
