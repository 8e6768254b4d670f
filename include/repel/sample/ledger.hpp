// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <algorithm>
#include <cmath>

namespace repel::detail {

/// What happens to each coordinate in the second half of a run, in eight parts of equal length: mean and variance of x,
/// and T_k in whitened coordinates z, where its noise is that of a normal density whatever the correlations. In up to 64
/// dimensions also the antisymmetric part of E[s cᵀ], which is 0 if s is the gradient of anything: a force that is not has
/// a stationary state with T = 1, too, but it turns.
template <class Scalar>
class Ledger {
 public:
  Ledger(Index d, Index first, Index last) : first_(first), last_(last), sums_(Matrix<Scalar>::Zero(3 * d, kParts)) {
    if (d > 1 && d <= 64) turning_ = Matrix<Scalar>::Zero(d, d * kParts);
  }

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
    if (turning_.size() > 0) {
      const Matrix<Scalar> c = z.colwise() - z.rowwise().mean(), moment = s * c.transpose() / rest;
      turning_.middleCols(part * d, d) += (moment - moment.transpose()) / 2;
    }
    ++counts_[part];
  }

  /// The largest entry of the antisymmetric part, beyond four standard errors; 0 if it is not followed.
  double turning() const {
    double largest = 0;
    const Index d = turning_.rows();
    for (Index l = 0; l < d; ++l)
      for (Index k = 0; k < l; ++k) {
        const Summary entry = summarise([&](Index part) { return turning_(k, part * d + l); });
        const double beyond = std::abs(entry.mean) - 4 * entry.error;
        if (!(beyond <= largest)) largest = beyond;
        if (std::isnan(largest)) return largest;
      }
    return largest;
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
    return summarise([&](Index part) { return sums_(row, part); });
  }
  template <class Sum>
  Summary summarise(const Sum& sum) const {
    Summary out;
    double values[kParts];
    for (Index p = 0; p < kParts; ++p) {
      values[p] = sum(p) / static_cast<double>(counts_[p]);
      out.mean += values[p] / kParts;
      out.change += (2 * p < kParts ? -1 : 1) * values[p] / (kParts / 2);
      if (2 * p >= kParts) out.late += values[p] / (kParts / 2);
    }
    for (const double v : values) out.error += (v - out.mean) * (v - out.mean);
    out.error = std::sqrt(out.error / (kParts - 1) / kParts);
    return out;
  }

  Index first_, last_;
  Matrix<Scalar> sums_, turning_;
  Index counts_[kParts]{};
};

}  // namespace repel::detail
