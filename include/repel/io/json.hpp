// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/description.hpp>

#include <charconv>
#include <cstdio>
#include <string>
#include <vector>

// As much JSON as describing a model takes: texts, lists of numbers, and a Description as an object.

namespace repel::detail {

inline std::string json_text(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// With all their digits.
inline std::string json_numbers(const std::vector<double>& numbers) {
  std::string out = "[";
  for (const double number : numbers) {
    char digits[32];
    if (out.size() > 1) out += ", ";
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
  return out + ']';
}

/// Settings that are numbers become lists of them, the others texts.
inline std::string json_of(const Description& description) {
  std::string out = "{";
  for (const auto& [name, value] : description.settings()) {
    if (out.size() > 1) out += ", ";
    const bool numbers = !value.empty() && value.find_first_not_of("0123456789+-.e ") == std::string::npos &&
                         value.find_first_of("0123456789") == 0;
    out += json_text(name) + ": " + (numbers ? json_numbers(description.numbers(name)) : json_text(value));
  }
  return out + '}';
}

}  // namespace repel::detail
