// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <algorithm>

// What an ensemble predicts: the Bayesian model average over its members.

namespace repel {

/// For regression and counts: mean and standard deviation over the members, outputs×p each.
template <class Scalar>
struct RegressionPrediction {
  Matrix<Scalar> mean;           ///< of the members, a column per point
  Matrix<Scalar> sd;             ///< of the function: how much the members disagree (divided by n − 1)
  Matrix<Scalar> sd_with_noise;  ///< of an observation: the noise that the likelihood expects included
};

/// For classification, and for yes or no.
template <class Scalar>
struct CategoricalPrediction {
  Matrix<Scalar> probabilities;  ///< the mean over the members, classes×p
  Matrix<Scalar> members;        ///< every member's probabilities, (classes p)×n
};

namespace detail {

/// Mean and standard deviation over the columns of f, `rows` numbers for each point.
template <class F, class Scalar>
void summarise_members(const F& f, Index rows, RegressionPrediction<Scalar>& out) {
  const Index points = f.rows() / rows;
  const auto n = static_cast<Scalar>(f.cols());
  out.mean.resize(rows, points);
  out.sd.resize(rows, points);
  Eigen::Map<Vector<Scalar>> mean(out.mean.data(), f.rows()), sd(out.sd.data(), f.rows());
  mean = f.rowwise().mean();
  sd = ((f.colwise() - mean).rowwise().squaredNorm() / std::max(Scalar(1), n - 1)).cwiseSqrt();
}

}  // namespace detail

}  // namespace repel
