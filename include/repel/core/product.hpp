#pragma once

#include <repel/core/types.hpp>

// The dense products of the library, behind one signature each. Written in place, every product would be compiled anew
// for its own types of operands, at about a second each; here a program compiles each of them once per scalar type.

namespace repel::detail {

/// Any column-major matrix or block of one, without a copy.
template <class Scalar>
using In = Eigen::Ref<const Matrix<Scalar>, 0, Eigen::OuterStride<>>;
template <class Scalar>
using Out = Eigen::Ref<Matrix<Scalar>, 0, Eigen::OuterStride<>>;

/// out = a b
template <class Scalar>
void product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  out.noalias() = a * b;
}

/// out = aᵀ b
template <class Scalar>
void transposed_product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  out.noalias() = a.transpose() * b;
}

/// out = a bᵀ
template <class Scalar>
void product_transposed(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  out.noalias() = a * b.transpose();
}

}  // namespace repel::detail
