#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <array>

namespace repel::detail {

/// The mean of the norms of the columns.
template <class Derived>
double mean_norm(const Eigen::MatrixBase<Derived>& columns) {
  const double sum = parallel_sum(columns.cols(), static_cast<double>(columns.rows()), [&](Index first, Index width) {
    double part = 0;
    for (Index j = first; j < first + width; ++j) part += static_cast<double>(columns.col(j).norm());
    return part;
  });
  return sum / static_cast<double>(columns.cols());
}

/// The means of the norms of the columns of a and b.
struct TwoNorms {
  double a, b;
};

/// out = a − b column by column, and the norms on the way: large ensembles are a matter of memory traffic. out may be
/// b.
template <class A, class B, class Out>
TwoNorms subtract_and_norms(const A& a, const B& b, Out& out) {
  const auto n = static_cast<double>(a.cols());
  // One sum for each, from one pass: the second rides along in its own array.
  constexpr Index most = 64;
  std::array<double, most> second{};
  const Index width = (a.cols() + most - 1) / most;
  const double first = parallel_sum(a.cols(), 2 * static_cast<double>(a.rows()), [&](Index begin, Index columns) {
    double norm_a = 0, norm_b = 0;
    for (Index j = begin; j < begin + columns; ++j) {
      norm_a += static_cast<double>(a.col(j).norm());
      norm_b += static_cast<double>(b.col(j).norm());
      out.col(j) = a.col(j) - b.col(j);
    }
    second[static_cast<std::size_t>(begin / width)] += norm_b;
    return norm_a;
  });
  double sum = 0;
  for (const double part : second) sum += part;
  return {first / n, sum / n};
}

}  // namespace repel::detail
