#pragma once

#include <repel/core/types.hpp>
#include <repel/data/byte_source.hpp>
#include <repel/data/labelled.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <string>
#include <string_view>
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
  Labelled<double> data;
};

namespace detail {

inline std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// A finite number that fills the whole text, in the C locale.
inline bool parse(std::string_view text, double& value) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

/// The cells of a CSV file, line by line; empty lines are skipped. Simple cells only: a quotation mark is refused.
struct Cells {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::size_t> lines;  ///< the line number of each row in the file
};

inline Cells read_cells(const char* where, const std::filesystem::path& file, char separator) {
  constexpr std::size_t most = std::size_t{1} << 30;
  ByteSource source(where, file);
  const auto bytes = source.read(most + 1);
  if (bytes.size() > most) refuse_file(where, file, "has more than ", most, " bytes");
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);  // a byte order mark
  Cells cells;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.empty()) continue;
    if (row.find('"') != std::string_view::npos)
      refuse_file(where, file, "line ", line, " has a quotation mark, but cells must be plain");
    auto& out = cells.rows.emplace_back();
    cells.lines.push_back(line);
    for (std::size_t from = 0; from <= row.size();) {
      const std::size_t to = std::min(row.find(separator, from), row.size());
      out.emplace_back(trimmed(row.substr(from, to - from)));
      from = to + 1;
    }
    if (out.size() != cells.rows.front().size())
      refuse_file(where, file, "line ", line, " has ", out.size(), " cells, but line ", cells.lines.front(), " has ",
                  cells.rows.front().size());
  }
  if (cells.rows.empty()) refuse_file(where, file, "has no rows");
  return cells;
}

/// Whether a text is meant as a number: nan, inf and out-of-range values count as well.
inline bool looks_like_number(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  double ignored = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ignored);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

/// The first row is a header if there are words among its first `columns` cells (some may be empty: tables with an
/// index have that), and none looks like a number. A first row that is neither a header nor all numbers is a row
/// with a mistake, and is refused as such.
inline std::vector<std::string> take_header(Cells& cells, std::size_t columns) {
  const auto begin = cells.rows.front().begin(), end = begin + static_cast<std::ptrdiff_t>(columns);
  if (std::any_of(begin, end, [](const std::string& cell) { return looks_like_number(cell); }) ||
      std::all_of(begin, end, [](const std::string& cell) { return cell.empty(); }))
    return {};
  std::vector<std::string> names = std::move(cells.rows.front());
  cells.rows.erase(cells.rows.begin());
  cells.lines.erase(cells.lines.begin());
  return names;
}

inline Eigen::MatrixXd numbers(const char* where, const std::filesystem::path& file, const Cells& cells,
                               std::size_t columns) {
  Eigen::MatrixXd values(static_cast<Index>(cells.rows.size()), static_cast<Index>(columns));
  for (std::size_t r = 0; r < cells.rows.size(); ++r)
    for (std::size_t c = 0; c < columns; ++c)
      if (!parse(cells.rows[r][c], values(static_cast<Index>(r), static_cast<Index>(c))))
        refuse_file(where, file, "line ", cells.lines[r], ", cell ", c + 1, " is \"", cells.rows[r][c].substr(0, 40),
                    "\", but must be a number");
  return values;
}

}  // namespace detail

/// A CSV file of numbers, with or without a header.
inline Table read_csv(const std::filesystem::path& file, char separator = ',') {
  constexpr const char* where = "data::read_csv";
  detail::Cells cells = detail::read_cells(where, file, separator);
  const std::size_t columns = cells.rows.front().size();
  Table table;
  table.names = detail::take_header(cells, columns);
  if (cells.rows.empty()) detail::refuse_file(where, file, "has a header, but no rows");
  table.values = detail::numbers(where, file, cells, columns);
  return table;
}

/// A CSV file of numbers whose last column is a class, a word or a number, as the Iris data have it.
inline LabelledTable read_labelled_csv(const std::filesystem::path& file, char separator = ',') {
  constexpr const char* where = "data::read_labelled_csv";
  detail::Cells cells = detail::read_cells(where, file, separator);
  const std::size_t columns = cells.rows.front().size();
  if (columns < 2)
    detail::refuse_file(where, file, "has 1 column, but needs at least 2: numbers, and the class at the end");
  LabelledTable table;
  table.names = detail::take_header(cells, columns - 1);
  if (cells.rows.empty()) detail::refuse_file(where, file, "has a header, but no rows");
  table.data.inputs = detail::numbers(where, file, cells, columns - 1).transpose();
  table.data.labels.resize(static_cast<Index>(cells.rows.size()));
  for (std::size_t r = 0; r < cells.rows.size(); ++r) {
    const std::string& name = cells.rows[r].back();
    if (name.empty()) detail::refuse_file(where, file, "line ", cells.lines[r], " has no class in its last cell");
    auto found = std::find(table.classes.begin(), table.classes.end(), name);
    if (found == table.classes.end()) found = table.classes.insert(found, name);
    table.data.labels(static_cast<Index>(r)) = static_cast<int>(found - table.classes.begin());
  }
  return table;
}

}  // namespace repel::data
