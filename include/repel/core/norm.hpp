#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

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

}  // namespace repel::detail
