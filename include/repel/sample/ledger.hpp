#pragma once

#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>

namespace repel::detail {

/// What happens to each coordinate in the second half of a run, in eight parts of equal length: mean and variance of x,
/// and T_k in whitened coordinates z, where its noise is that of a normal density whatever the correlations.
template <class Scalar>
class Ledger {
 public:
  Ledger(Index d, Index first, Index last) : first_(first), last_(last), sums_(Matrix<Scalar>::Zero(3 * d, kParts)) {}

  bool wants(Index step) const { return step >= first_ && step < last_ && step % 4 == 0; }

  void add(Index step, const Matrix<Scalar>& x, const Matrix<Scalar>& z, const Matrix<Scalar>& s) {
    const Index part = (step - first_) * kParts / (last_ - first_), d = x.rows();
    const double rest = static_cast<double>(x.cols() - 1);
    for (Index k = 0; k < d; ++k) {
      const double mean = x.row(k).mean(), mean_z = z.row(k).mean();
      sums_(k, part) += mean;
      sums_(d + k, part) += (x.row(k).array() - mean).square().sum() / rest;
      sums_(2 * d + k, part) -= ((z.row(k).array() - mean_z) * s.row(k).array()).sum() / rest;
    }
    ++counts_[part];
  }

  /// One series over the parts.
  struct Summary {
    double mean = 0, error = 0;  ///< and its standard error, parts taken as independent
    double change = 0;           ///< the second half's mean minus the first's
    double late = 0;             ///< the second half's mean
  };
  Summary mean(Index k) const { return summarise(k); }
  Summary variance(Index k) const { return summarise(dim() + k); }
  Summary temperature(Index k) const { return summarise(2 * dim() + k); }
  Index dim() const { return sums_.rows() / 3; }
  bool full() const { return *std::min_element(counts_, counts_ + kParts) > 0; }

 private:
  static constexpr Index kParts = 8;

  Summary summarise(Index row) const {
    Summary out;
    double values[kParts];
    for (Index p = 0; p < kParts; ++p) {
      values[p] = sums_(row, p) / static_cast<double>(counts_[p]);
      out.mean += values[p] / kParts;
      out.change += (2 * p < kParts ? -1 : 1) * values[p] / (kParts / 2);
      if (2 * p >= kParts) out.late += values[p] / (kParts / 2);
    }
    for (const double v : values) out.error += (v - out.mean) * (v - out.mean);
    out.error = std::sqrt(out.error / (kParts - 1) / kParts);
    return out;
  }

  Index first_, last_;
  Matrix<Scalar> sums_;
  Index counts_[kParts]{};
};

}  // namespace repel::detail
