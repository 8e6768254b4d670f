#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;  // of CLI11, which is slow to compile: programs that add options of their own include it
}

namespace example {

/// The size of a run: a quick one by default, the paper's behind --paper, any other by hand.
struct Setting {
  long particles;
  long steps;
};

struct Options {
  std::filesystem::path out;
  bool paper = false;
  std::uint64_t seed = 42;
  long particles = 0;
  long steps = 0;
  long threads = 0;
  std::vector<std::string> methods;
};

/// Reads the command line shared by the examples; `more` may add options of its own. Gives an exit code if the program
/// should end at once.
std::optional<int> parse(int argc, char** argv, const std::string& about, const std::string& name, const Setting& quick,
                         const Setting& paper, const std::vector<std::string>& methods, Options& options,
                         const std::function<void(CLI::App&)>& more = {});

}  // namespace example
