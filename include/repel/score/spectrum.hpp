#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>

// How many of the eigenpairs of K + ηI the spectral estimator keeps. A choice is a value with
//   Index keep(ascending_eigenvalues) const

namespace repel {

/// All of them: then no eigenvalue is ever computed (see Ssge).
struct AllEigenpairs {};

/// The J largest, 1 ≤ J ≤ n.
struct LargestEigenpairs {
  Index count;

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
};

/// The fewest whose eigenvalues sum up to at least this fraction of all, 0 < fraction ≤ 1.
struct SpectrumFraction {
  double fraction;

  void validate() const {
    if (!(fraction > 0 && fraction <= 1))
      detail::fail("SpectrumFraction", "fraction is ", fraction, ", but must be above 0 and at most 1");
  }

  template <class Eigenvalues>
  Index keep(const Eigenvalues& ascending) const {
    const Index n = ascending.size();
    const double wanted = fraction * static_cast<double>(ascending.sum());
    double sum = 0;
    for (Index j = 1; j < n; ++j) {
      sum += static_cast<double>(ascending(n - j));
      if (sum >= wanted) return j;
    }
    return n;
  }
};

}  // namespace repel
