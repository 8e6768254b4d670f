#pragma once

#include "files.hpp"
#include "statistics.hpp"

#include <cmath>

namespace example {

/// Figures of methods, some of which ran several times: a row per method, with the mean of its runs and its standard
/// error, after a ± on the terminal and in a column NAME_se of the file.
class Figures {
 public:
  struct Column {
    std::string name;
    int digits;
    bool spread = true;  ///< whether its standard error is of interest
  };

  explicit Figures(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// A run of a method; NaN for what there is not. Runs of one method go into one row.
  void add(const std::string& method, std::vector<double> values) {
    const auto same = [&](const Row& row) { return row.method == method; };
    const auto row = std::find_if(rows_.begin(), rows_.end(), same);
    if (row == rows_.end())
      rows_.push_back({method, {std::move(values)}});
    else
      row->runs.push_back(std::move(values));
  }

  void write(const std::filesystem::path& folder) const {
    const bool repeated = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.runs.size() > 1; });
    std::vector<std::string> shown_header{"method"}, file_header{"method"};
    if (repeated)
      for (auto* header : {&shown_header, &file_header}) header->emplace_back("seeds");
    for (const Column& column : columns_) {
      shown_header.push_back(column.name);
      file_header.push_back(column.name);
      if (repeated && column.spread) file_header.push_back(column.name + "_se");
    }
    Table shown(shown_header), file(file_header);
    for (const Row& row : rows_) {
      std::vector<std::string> for_people{row.method}, for_programs{row.method};
      if (repeated)
        for (auto* cells : {&for_people, &for_programs}) cells->push_back(std::to_string(row.runs.size()));
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        const MeanAndError figure = mean_of(row, c);
        const auto text = [&](double value) { return std::isnan(value) ? "" : fixed(value, columns_[c].digits); };
        for_people.push_back(text(figure.mean) +
                             (columns_[c].spread && !std::isnan(figure.error) ? " ± " + text(figure.error) : ""));
        for_programs.push_back(text(figure.mean));
        if (repeated && columns_[c].spread) for_programs.push_back(text(figure.error));
      }
      shown.add(for_people);
      file.add(for_programs);
    }
    shown.write(folder, file);
  }

 private:
  struct Row {
    std::string method;
    std::vector<std::vector<double>> runs;
  };

  static MeanAndError mean_of(const Row& row, std::size_t column) {
    std::vector<double> values;
    for (const auto& run : row.runs) values.push_back(run[column]);
    return mean_and_error(values);
  }

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace example
