// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <version>

// Text to double as std::from_chars does it, also where the standard library has it for integers only: libc++ before
// version 20, Apple's among them.

namespace repel::detail {

/// The same by a stream in the C locale.
inline std::from_chars_result read_number_from_stream(const char* first, const char* last, double& value) {
  const auto digits = [&](const char* at) { return std::find_if(at, last, [](char c) { return c < '0' || c > '9'; }); };
  const auto begins = [&](const char* at, std::string_view word) {
    for (const char c : word)
      if (at == last || (*at++ | 0x20) != c) return false;
    return true;
  };
  const char* at = first;
  const bool minus = at != last && *at == '-';
  if (minus) ++at;
  if (begins(at, "inf") || begins(at, "nan")) {
    value = begins(at, "inf") ? HUGE_VAL : std::nan("");
    if (minus) value = -value;
    return {at + (begins(at, "infinity") ? 8 : 3), std::errc()};
  }
  const char* const whole = at;
  at = digits(at);
  auto length = at - whole;
  if (at != last && *at == '.') {
    const char* const end = digits(at + 1);
    length += end - (at + 1);
    if (length > 0) at = end;
  }
  if (length == 0) return {first, std::errc::invalid_argument};
  const bool zero = std::none_of(whole, at, [](char c) { return c >= '1' && c <= '9'; });
  if (at != last && (*at | 0x20) == 'e') {
    const char* const power = at + 1 + (at + 1 != last && (at[1] == '+' || at[1] == '-') ? 1 : 0);
    if (digits(power) != power) at = digits(power);
  }
  std::istringstream stream(std::string(first, at));
  stream.imbue(std::locale::classic());
  double found = 0;
  const bool read = static_cast<bool>(stream >> found);
  // Streams do not agree on what an underflow is: a denormal number is none, 0 for what is not 0 is one.
  if (found == 0 ? !zero : !read && std::abs(found) >= 1) return {at, std::errc::result_out_of_range};
  value = found;
  return {at, std::errc()};
}

/// std::from_chars(first, last, value)
inline std::from_chars_result read_number(const char* first, const char* last, double& value) {
#ifdef __cpp_lib_to_chars
  return std::from_chars(first, last, value);
#else
  return read_number_from_stream(first, last, value);
#endif
}

}  // namespace repel::detail
