#include "catch.hpp"

#include <repel/core/random.hpp>
#include <repel/core/read_number.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace core_read_number_test {

using repel::detail::read_number;
using repel::detail::read_number_from_stream;

TEST_CASE("numbers are read by a stream as by from_chars", "[read_number]") {
  // On a standard library without from_chars for double both are the stream: the values below are what is expected.
  const auto same = [](const std::string& text) {
    CAPTURE(text);
    double one = -7, other = -7;
    const char *first = text.data(), *last = first + text.size();
    const auto a = read_number(first, last, one), b = read_number_from_stream(first, last, other);
    CHECK(a.ec == b.ec);
    CHECK(a.ptr - first == b.ptr - first);
    CHECK((one == other || (std::isnan(one) && std::isnan(other))));
    CHECK(std::signbit(one) == std::signbit(other));
    return one;
  };
  CHECK(same("1.5") == 1.5);
  CHECK(same("-0.25e2,") == -25);
  CHECK(same("1e-310") == 1e-310);
  CHECK(same("4.9406564584124654e-324") == 4.9406564584124654e-324);
  CHECK(same("1e-400") == -7);
  CHECK(same("-1e400") == -7);
  CHECK(same("-inf") == -HUGE_VAL);
  CHECK(same("InFinity ") == HUGE_VAL);
  CHECK(std::isnan(same("nan")));
  for (const char* text :
       {"",      "-",    "+1",    " 1",  "--1", ".",   "-.",      ".5",    "5.", "5.e1", "1e",    "1e+",   "1E-",
        "1e+3x", "0x10", "1_000", "1,5", "e5",  ".e5", "infinit", "-infx", "na", "-0",   "00012", "1.2.3", "1 2"})
    same(text);
  repel::Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto bits = static_cast<std::uint64_t>(random.uniform() * 0x1p53) * 0x9e3779b97f4a7c15u;
    const auto value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) continue;
    char text[40];
    CHECK(same(std::string(text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.17g", value)))) == value);
  }
  const std::string letters = "0019.-+eE in,f";
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (int k = 0; k < 6; ++k)
      text += letters[static_cast<std::size_t>(random.uniform() * static_cast<double>(letters.size()))];
    same(text);
  }
}

}  // namespace core_read_number_test
