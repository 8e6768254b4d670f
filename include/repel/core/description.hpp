// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/read_number.hpp>
#include <repel/core/types.hpp>

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace repel {

/// What a network or a likelihood is, in words: named settings, in order, that two programs can compare and a file can
/// hold. As text it is a line per setting, "activation = relu"; numbers keep all their digits.
class Description {
 public:
  Description() = default;
  /// A description without settings yet.
  explicit Description(const std::string& kind) { add("kind", kind); }

  /// Adds a setting, as text.
  Description& add(const std::string& name, const std::string& value) {
    for (const std::string* part : {&name, &value})
      if (part->find_first_of("\n=") != std::string::npos)
        detail::fail("Description", "\"", *part, "\" is a name or a value, but must not have a line end or a = in it");
    settings_.emplace_back(name, value);
    return *this;
  }
  /// Adds numbers, written so that they are read back bit by bit.
  Description& add(const std::string& name, const std::vector<double>& values) {
    std::string list;
    for (const double value : values) {
      char digits[32];
      if (!list.empty()) list += ' ';
      list.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    }
    return add(name, list);
  }
  /// Adds a number.
  Description& add(const std::string& name, double value) { return add(name, std::vector<double>{value}); }

  /// All settings, by name and text, in order.
  const std::vector<std::pair<std::string, std::string>>& settings() const { return settings_; }
  /// The kind of thing described.
  std::string kind() const { return text("kind"); }

  /// A setting, "" if there is none of that name.
  std::string text(std::string_view name) const {
    for (const auto& [key, value] : settings_)
      if (key == name) return value;
    return {};
  }

  /// A setting that is a list of numbers. Throws if it is not.
  std::vector<double> numbers(std::string_view name) const {
    const std::string list = text(name);
    std::vector<double> values;
    const char *at = list.data(), *end = at + list.size();
    while (at != end) {
      double value = 0;
      const auto [next, error] = detail::read_number(at, end, value);
      if (error != std::errc())
        detail::fail("Description", name, " is \"", list, "\", but must be numbers, a space between them");
      values.push_back(value);
      at = next == end ? end : next + 1;
    }
    return values;
  }
  /// A setting that is one number; throws if there is no such.
  double number(std::string_view name) const {
    const std::vector<double> values = numbers(name);
    if (values.size() != 1) detail::fail("Description", name, " is \"", text(name), "\", but must be one number");
    return values.front();
  }

  /// As lines of text.
  std::string to_text() const {
    std::string all;
    for (const auto& [name, value] : settings_) all.append(name).append(" = ").append(value) += '\n';
    return all;
  }
  /// From lines of text.
  static Description from_text(std::string_view all) {
    Description out;
    while (!all.empty()) {
      const auto end = all.find('\n');
      const std::string_view line = all.substr(0, end);
      const auto middle = line.find(" = ");
      if (end == std::string_view::npos || middle == std::string_view::npos)
        detail::fail("Description", "\"", line, "\" is a line, but must be a name, an = and a value");
      out.add(std::string(line.substr(0, middle)), std::string(line.substr(middle + 3)));
      all.remove_prefix(end + 1);
    }
    return out;
  }

  /// The same kind and settings.
  friend bool operator==(const Description&, const Description&) = default;

 private:
  std::vector<std::pair<std::string, std::string>> settings_;
};

namespace detail {

/// For from(): a description of another kind cannot be made into this one.
inline void require_kind(const char* where, const Description& description, std::string_view kind) {
  if (description.kind() != kind)
    fail(where, "the description's kind is \"", description.kind(), "\", but must be \"", kind, "\"");
}

}  // namespace detail

}  // namespace repel
