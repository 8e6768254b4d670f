// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/read_number.hpp>
#include <repel/core/types.hpp>
#include <repel/data/byte_source.hpp>
#include <repel/data/labelled.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

namespace repel::data {

/// A table of numbers.
struct Table {
  std::vector<std::string> names;  ///< of the columns; empty if the file has no header
  Eigen::MatrixXd values;          ///< rows×columns, as in the file
};

/// A table whose last column is a class.
struct LabelledTable {
  std::vector<std::string> names;    ///< of the columns, the last one included; empty without a header
  std::vector<std::string> classes;  ///< the name of each label, in the order they first appear
  Labelled<double> data;             ///< inputs and labels
};

namespace detail {

/// Without the blanks around it; a tab that separates cells is none.
inline std::string_view trimmed(std::string_view text, char separator) {
  const auto blank = [separator](char c) { return c == ' ' || c == '\r' || (c == '\t' && separator != '\t'); };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// A finite number that fills the whole text, in the C locale.
inline bool parse(std::string_view text, double& value) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, error] = repel::detail::read_number(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

/// Whether a text is meant as a number: nan, inf, two signs and out-of-range values count as well.
inline bool looks_like_number(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  double ignored = 0;
  const auto [end, error] = repel::detail::read_number(text.data(), text.data() + text.size(), ignored);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

/// The rows of a CSV file, one at a time, as pieces of its text; empty lines are skipped. Simple cells only: a quotation
/// mark is refused. Where a blank is the separator, so is any number of blanks and tabs, as in tables that are aligned for
/// the eye.
class CsvRows {
 public:
  CsvRows(const char* where, const std::filesystem::path& file, char separator, std::size_t limit)
      : where_(where), file_(file), separator_(separator), source_(where, file, limit) {
    constexpr std::size_t most = std::size_t{1} << 30;
    bytes_ = source_.read(most + 1);
    if (bytes_.size() > most) refuse_file(where, file, "has more than ", most, " bytes");
    rest_ = {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
    if (rest_.substr(0, 3) == "\xef\xbb\xbf") rest_.remove_prefix(3);  // a byte order mark
  }

  /// Whether there was another row; its cells are in cells().
  bool next() {
    while (!rest_.empty()) {
      ++line_;
      const std::size_t end = std::min(rest_.find('\n'), rest_.size());
      const std::string_view row = trimmed(rest_.substr(0, end), separator_);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      if (row.empty()) continue;
      cut(row);
      return true;
    }
    return false;
  }

  const std::vector<std::string_view>& cells() const { return cells_; }
  std::size_t line() const { return line_; }
  ByteSource& source() { return source_; }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    refuse_file(where_, file_, parts...);
  }

 private:
  void cut(std::string_view row) {
    if (row.find('"') != std::string_view::npos)
      refuse("line ", line_, " has a quotation mark, but cells must be plain");
    cells_.clear();
    for (std::size_t from = 0; from <= row.size();) {
      const std::size_t to =
          std::min(separator_ == ' ' ? row.find_first_of(" \t", from) : row.find(separator_, from), row.size());
      if (separator_ != ' ' || to > from) cells_.push_back(trimmed(row.substr(from, to - from), separator_));
      from = to + 1;
    }
    if (first_line_ == 0) {
      first_line_ = line_;
      columns_ = cells_.size();
    }
    if (cells_.size() != columns_)
      refuse("line ", line_, " has ", cells_.size(), " cells, but line ", first_line_, " has ", columns_);
  }

  const char* where_;
  std::filesystem::path file_;
  char separator_;
  ByteSource source_;
  std::vector<std::uint8_t> bytes_;
  std::string_view rest_;
  std::vector<std::string_view> cells_;
  std::size_t line_ = 0, first_line_ = 0, columns_ = 0;
};

/// Reads all rows: their first cells as numbers, all but `others` of them, and the rest by other(row, cells, line). The
/// first row is a header if there are words among those first cells (some may be empty: tables with an index have that),
/// and none looks like a number. A first row that is neither a header nor all numbers is a row with a mistake, and is
/// refused as such. Values are kept row by row, 8 bytes for at least 2 of the file.
template <class Other>
Table read_table(CsvRows& rows, std::size_t others, const Other& other) {
  if (!rows.next()) rows.refuse("has no rows");
  const std::size_t all = rows.cells().size();
  if (all <= others)
    rows.refuse("has ", all, " column, but needs at least ", others + 1, ": numbers, and the class at the end");
  const std::size_t columns = all - others;
  const auto begin = rows.cells().begin(), end = begin + static_cast<std::ptrdiff_t>(columns);
  Table table;
  if (std::none_of(begin, end, looks_like_number) &&
      !std::all_of(begin, end, [](std::string_view cell) { return cell.empty(); })) {
    table.names.assign(rows.cells().begin(), rows.cells().end());
    if (!rows.next()) rows.refuse("has a header, but no rows");
  }
  std::vector<double> values;
  Index count = 0;
  do {
    for (std::size_t c = 0; c < columns; ++c)
      if (!parse(rows.cells()[c], values.emplace_back()))
        rows.refuse("line ", rows.line(), ", cell ", c + 1, " is \"", rows.cells()[c].substr(0, 40),
                    "\", but must be a number");
    rows.source().require_room(3 * sizeof(double) * columns);  // while it grows, and the result
    other(count++, rows.cells(), rows.line());
  } while (rows.next());
  using RowByRow = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  table.values = Eigen::Map<const RowByRow>(values.data(), count, static_cast<Index>(columns));
  return table;
}

}  // namespace detail

/// A CSV file of numbers, with or without a header. A blank as the separator stands for any number of blanks and tabs.
/// `limit`: see kUnpackedLimit.
inline Table read_csv(const std::filesystem::path& file, char separator = ',', std::size_t limit = kUnpackedLimit) {
  detail::CsvRows rows("data::read_csv", file, separator, limit);
  return detail::read_table(rows, 0, [](Index, const auto&, std::size_t) {});
}

/// A CSV file of numbers whose last column is a class, a word or a number, as the Iris data have it.
inline LabelledTable read_labelled_csv(const std::filesystem::path& file, char separator = ',',
                                       std::size_t limit = kUnpackedLimit) {
  detail::CsvRows rows("data::read_labelled_csv", file, separator, limit);
  LabelledTable table;
  std::unordered_map<std::string, int> known;
  std::vector<int> labels;
  Table numbers = detail::read_table(rows, 1, [&](Index, const auto& cells, std::size_t line) {
    const std::string name(cells.back());
    if (name.empty()) rows.refuse("line ", line, " has no class in its last cell");
    const auto [found, added] = known.emplace(name, static_cast<int>(known.size()));
    if (added) {
      rows.source().require_room(200 + 2 * name.size());  // here and in the table
      table.classes.push_back(name);
    }
    labels.push_back(found->second);
  });
  table.names = std::move(numbers.names);
  table.data.inputs = numbers.values.transpose();
  table.data.labels = Eigen::Map<const Eigen::RowVectorXi>(labels.data(), static_cast<Index>(labels.size()));
  return table;
}

}  // namespace repel::data
