#pragma once

#include <repel/io/atomic_file.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace example {

using repel::write_file;

/// A table for people (aligned, on the terminal) and for programs (CSV).
class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  /// Writes summary.csv into a folder, which it makes, and shows the table.
  void write(const std::filesystem::path& folder) const { write(folder, *this); }

  /// The same with another table for the file.
  void write(const std::filesystem::path& folder, const Table& file) const {
    std::filesystem::create_directories(folder);
    write_file(folder / "summary.csv", file.csv());
    std::cout << aligned() << "summary: " << (folder / "summary.csv").string() << '\n';
  }

  std::string csv() const {
    std::string text;
    for (const auto& row : rows_)
      for (std::size_t c = 0; c < row.size(); ++c) text += row[c] + (c + 1 < row.size() ? "," : "\n");
    return text;
  }

  std::string aligned() const {
    std::vector<std::size_t> width(rows_[0].size(), 0);
    for (const auto& row : rows_)
      for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], characters(row[c]));
    std::string text;
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        const std::string pad(width[c] - characters(row[c]), ' ');
        text += c == 0 ? row[c] + pad : "  " + pad + row[c];
      }
      text += '\n';
    }
    return text;
  }

 private:
  /// Not bytes: of UTF-8's, those that continue a character begin with the bits 10.
  static std::size_t characters(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  }

  std::vector<std::vector<std::string>> rows_;
};

/// A number with a given number of digits after the point.
inline std::string fixed(double value, int digits) {
  std::ostringstream out;
  out.setf(std::ios::fixed);
  out.precision(digits);
  out << value;
  const std::string text = out.str();
  return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1) : text;  // no "-0.00"
}

}  // namespace example
