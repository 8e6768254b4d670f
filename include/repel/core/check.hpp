// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

// Input checks. Every message names the function, the argument, its value and the rule it breaks, as in
//   repel::weight_space: particles(2, 17) is nan, but must be finite
// The tests are cheap and inline; the message is put together on the cold path only.

namespace repel::detail {

/// A word or a number in a message. Not a stream: `out << part` would make the compiler consider every operator<< there
/// is, for every part of every message.
class MessagePart {
 public:
  // NOLINTBEGIN(google-explicit-constructor): meant for arguments
  MessagePart(const char* text) : text_(text) {}
  MessagePart(std::string_view text) : text_(text) {}
  MessagePart(const std::string& text) : text_(text) {}
  MessagePart(char letter) : text_(1, letter) {}
  template <std::integral Number>
  MessagePart(Number number) : text_(std::to_string(number)) {}
  MessagePart(double number) {
    if (std::isnan(number)) {  // libraries disagree: -nan, -nan(ind), nan
      text_ = "nan";
      return;
    }
    char digits[32];  // six of them at most, as streams print them
    text_.assign(digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 6).ptr);
  }
  MessagePart(float number) : MessagePart(static_cast<double>(number)) {}
  // NOLINTEND(google-explicit-constructor)

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline std::string join(std::initializer_list<MessagePart> parts) {
  std::string all;
  for (const MessagePart& part : parts) all += part.text();
  return all;
}

template <class... Parts>
std::string concat(const Parts&... parts) {
  return join({MessagePart(parts)...});
}

template <class... Parts>
[[noreturn]] void fail(const char* where, const Parts&... parts) {
  throw std::invalid_argument(join({"repel::", where, ": ", MessagePart(parts)...}));
}

/// For files that cannot be read or written: names the function, the file and the reason.
template <class File, class... Parts>
[[noreturn]] void refuse_file(const char* where, const File& file, const Parts&... parts) {
  throw std::runtime_error(join({"repel::", where, ": ", file.string(), ": ", MessagePart(parts)...}));
}

/// The largest magnitude a coordinate may have: sums of squares over up to 2^24 coordinates then stay finite.
template <class Scalar>
Scalar largest_coordinate() {
  return std::sqrt(std::numeric_limits<Scalar>::max()) / Scalar(8192);
}

/// True if all of these numbers have squares that can be summed without overflow (see largest_coordinate).
template <class Scalar>
bool all_usable(const Scalar* values, Index count) {
  if (count == 0) return true;
  return array_at(values, count).abs().template maxCoeff<Eigen::PropagateNaN>() <= largest_coordinate<Scalar>();
}

/// The same for a matrix, a block or a vector in memory.
template <class Derived>
bool all_usable(const Eigen::DenseBase<Derived>& values) {
  const auto& m = values.derived();
  const Index length = m.innerSize();
  return 0 == parallel_sum(m.outerSize(), static_cast<double>(length), [&](Index first, Index count) {
           const auto* at = m.data() + first * m.outerStride();
           if (m.outerStride() == length) return all_usable(at, count * length) ? Index{0} : Index{1};
           Index bad = 0;
           for (Index k = 0; k < count; ++k, at += m.outerStride()) bad += all_usable(at, length) ? 0 : 1;
           return bad;
         });
}

inline void require_positive(const char* where, const char* name, double value) {
  if (!(value > 0) || !std::isfinite(value)) fail(where, name, " is ", value, ", but must be finite and larger than 0");
}

inline void require_non_negative(const char* where, const char* name, double value) {
  if (!(value >= 0) || !std::isfinite(value)) fail(where, name, " is ", value, ", but must be finite and at least 0");
}

/// Directions are at most largest_coordinate, so with a rate below this no bundled optimiser moves a particle to
/// infinity.
inline void require_rate(const char* where, double value) {
  if (!(value > 0 && value <= 1e9))
    fail(where, "learning_rate is ", value, ", but must be larger than 0 and at most 1e9");
}

/// A setting in the particles' scalar type.
template <class Scalar>
Scalar require_in_range(const char* where, const char* name, double value) {
  if (!std::isfinite(static_cast<Scalar>(value)))
    fail(where, name, " is ", value, ", but must be within the range of ", 8 * sizeof(Scalar), "-bit numbers");
  return static_cast<Scalar>(value);
}

/// For decay rates and momenta: 0 ≤ value < 1.
inline void require_fraction_below_one(const char* where, const char* name, double value) {
  if (!(value >= 0 && value < 1)) fail(where, name, " is ", value, ", but must be at least 0 and below 1");
}

template <class Derived>
void require_usable(const char* where, const char* name, const Eigen::DenseBase<Derived>& values) {
  using Scalar = typename Derived::Scalar;
  const auto& x = values.derived();
  if (all_usable(x)) return;
  for (Index j = 0; j < x.cols(); ++j)
    for (Index i = 0; i < x.rows(); ++i) {
      if (!std::isfinite(x(i, j))) fail(where, name, "(", i, ", ", j, ") is ", x(i, j), ", but must be finite");
      if (!(std::abs(x(i, j)) <= largest_coordinate<Scalar>()))
        fail(where, name, "(", i, ", ", j, ") is ", x(i, j), ", but must be at most ", largest_coordinate<Scalar>(),
             " in magnitude: its square would overflow ", 8 * sizeof(Scalar), "-bit arithmetic");
    }
}

/// A set of points: at least one column, at least one row, every value usable.
template <class Derived>
void require_points(const char* where, const char* name, const Eigen::DenseBase<Derived>& points) {
  if (points.rows() < 1) fail(where, name, " has 0 rows, but needs at least 1 (the dimension)");
  if (points.cols() < 1) fail(where, name, " has 0 columns, but needs at least 1 (one per particle)");
  require_usable(where, name, points);
}

/// The points that a direct function was given, evaluated if they are an expression, and checked.
template <class Derived>
decltype(auto) checked_points(const char* where, const char* name, const Eigen::MatrixBase<Derived>& given) {
  decltype(auto) points = given.derived().eval();  // a reference to a matrix, or the value of an expression
  require_points(where, name, points);
  return points;
}

template <class A, class B>
void require_same_shape(const char* where, const char* name, const A& value, const char* other, const B& expected) {
  if (value.rows() != expected.rows() || value.cols() != expected.cols())
    fail(where, name, " is ", value.rows(), "x", value.cols(), ", but must be ", expected.rows(), "x", expected.cols(),
         " like ", other);
}

/// Checks what a direct function returns: even usable input can drive the arithmetic out of range.
template <class Derived>
void require_finite_result(const char* where, const Eigen::MatrixBase<Derived>& result, double h) {
  if (result.allFinite()) return;
  for (Index j = 0; j < result.cols(); ++j)
    if (!result.col(j).allFinite())
      fail(where, "the result for column ", j, " is not finite, but must be: with the bandwidth h = ", h,
           " these points leave the range of ", 8 * sizeof(typename Derived::Scalar),
           "-bit numbers, or sums of k vanish");
}

/// The first column that holds an unusable value, or -1.
template <class Derived>
Index first_unusable_column(const Eigen::DenseBase<Derived>& values) {
  for (Index j = 0; j < values.cols(); ++j)
    for (Index i = 0; i < values.rows(); ++i) {
      const auto value = values.derived().coeff(i, j);
      if (!all_usable(&value, 1)) return j;
    }
  return -1;
}

/// What a buffer is filled with before a user's function writes it: a NaN of our own, so that an entry that
/// was never written can be told from a NaN that was computed.
template <class Scalar>
Scalar unwritten() {
  if constexpr (sizeof(Scalar) == 8)
    return std::bit_cast<Scalar>(std::uint64_t{0x7ff8'5245'5045'4c21});
  else
    return std::bit_cast<Scalar>(std::uint32_t{0x7fc5'4c21});
}

template <class Scalar>
bool is_unwritten(Scalar value) {
  const Scalar mark = unwritten<Scalar>();
  return std::memcmp(&value, &mark, sizeof value) == 0;
}

/// Resizes a buffer; if its shape changes, it is marked as unwritten.
template <class M>
void resize_unwritten(M& buffer, Index rows, Index columns) {
  if (buffer.rows() != rows || buffer.cols() != columns)
    buffer.setConstant(rows, columns, unwritten<typename M::Scalar>());
}

/// A policy may check its own settings in a member validate(); most users' policies have nothing to check.
template <class Policy>
void validate(const Policy& policy) {
  if constexpr (requires { policy.validate(); }) policy.validate();
}

}  // namespace repel::detail
