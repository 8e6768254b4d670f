// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <optional>

// How many of the eigenpairs of K + ηI the spectral estimator keeps. A choice is a value with
//   Index keep(ascending) const                           given all eigenvalues
//   std::optional<Index> known_count() const              if it does not depend on them
//   std::optional<Index> keep_of_largest(ascending, total, n) const
//                                                         given some of the largest, and the sum and number of all;
//                                                         empty if these are not enough

namespace repel {

/// All of them: then no eigenvalue is ever computed (see Ssge).
struct AllEigenpairs {};

/// The J largest, 1 ≤ J ≤ n.
struct LargestEigenpairs {
  Index count;  ///< eigenpairs kept

  void validate() const {
    if (count < 1) detail::fail("LargestEigenpairs", "J is ", count, ", but must be at least 1");
  }

  template <class Eigenvalues>
  Index keep(const Eigenvalues& ascending) const {
    if (count > ascending.size())
      detail::fail("LargestEigenpairs", "J is ", count, ", but must be at most ", ascending.size(),
                   ", the number of particles");
    return count;
  }
  std::optional<Index> known_count() const { return count; }
  template <class Eigenvalues>
  std::optional<Index> keep_of_largest(const Eigenvalues& ascending, double, Index) const {
    return keep(ascending);
  }
};

/// The fewest whose eigenvalues sum up to at least this fraction of all, 0 < fraction ≤ 1.
struct SpectrumFraction {
  double fraction;  ///< of the sum of the eigenvalues

  void validate() const {
    if (!(fraction > 0 && fraction <= 1))
      detail::fail("SpectrumFraction", "fraction is ", fraction, ", but must be above 0 and at most 1");
  }

  template <class Eigenvalues>
  Index keep(const Eigenvalues& ascending) const {
    return keep_of_largest(ascending, static_cast<double>(ascending.sum()), ascending.size())
        .value_or(ascending.size());
  }
  std::optional<Index> known_count() const { return {}; }
  template <class Eigenvalues>
  std::optional<Index> keep_of_largest(const Eigenvalues& ascending, double total, Index n) const {
    double sum = 0;
    for (Index j = 1; j <= std::min(ascending.size(), n - 1); ++j) {
      sum += static_cast<double>(ascending(ascending.size() - j));
      if (sum >= fraction * total) return j;
    }
    return {};
  }
};

}  // namespace repel
