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
  long draws = 1000;  ///< of each chain of NUTS, for run_example()
  long threads = 0;
  std::vector<std::string> methods;
};

/// Reads the command line shared by the examples; `more` may add options of its own. Gives an exit code if the program
/// should end at once.
std::optional<int> parse(int argc, char** argv, const std::string& about, const std::string& name, const Setting& quick,
                         const Setting& paper, const std::vector<std::string>& methods, Options& options,
                         const std::function<void(CLI::App&)>& more = {});

/// All of main() for an example with one setting, and NUTS to compare with: reads the command line, calls run(options)
/// and says what went wrong. Gives the exit code: 130 after Ctrl-C.
int run_example(int argc, char** argv, const std::string& about, const std::string& name, const Setting& setting,
                const std::function<void(const Options&)>& run);

}  // namespace example
