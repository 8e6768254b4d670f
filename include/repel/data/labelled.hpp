// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

namespace repel::data {

/// Points with a class each: what Bnn with CategoricalLikelihood takes.
template <class Scalar>
struct Labelled {
  Matrix<Scalar> inputs;      ///< d×N, a point per column
  Eigen::RowVectorXi labels;  ///< N, from 0 on
};

}  // namespace repel::data
