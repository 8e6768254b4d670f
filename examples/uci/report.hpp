#pragma once

#include "experiment.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace uci {

/// One row of results.csv.
struct Result {
  std::string set;
  std::size_t split = 0;
  std::string method;
  Outcome outcome;
};

/// The rows of results.csv, which must be of the same settings; none if there is no file.
std::vector<Result> read_results(const std::filesystem::path& file, const std::string& settings);
/// Writes it anew, whole or not at all.
void write_results(const std::filesystem::path& file, const std::string& settings, const std::vector<Result>& results);

/// table.md (test RMSE and log-likelihood, mean ± standard error over the splits, a row per method and a column per set;
/// and differences of pairs of methods on the same splits) and summary.csv. Returns the text of table.md.
std::string write_tables(const std::filesystem::path& out, const std::vector<Dataset>& sets,
                         const std::vector<Result>& results);

/// uci.png: log-likelihoods with their standard errors, a panel per set, published figures beside ours.
void draw(const std::filesystem::path& out, const std::vector<Dataset>& sets, const std::vector<Result>& results);

}  // namespace uci
