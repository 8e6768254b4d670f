#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

// The dense products of the library, behind one signature each. Written in place, every product would be compiled anew
// for its own types of operands, which takes the compiler long; here a program compiles each of them once per scalar type.
// Columns of the result are shared out in tiles of a fixed width (see parallel.hpp).

namespace repel::detail {

/// Any column-major matrix or block of one, without a copy.
template <class Scalar>
using In = Eigen::Ref<const Matrix<Scalar>, 0, Eigen::OuterStride<>>;
template <class Scalar>
using Out = Eigen::Ref<Matrix<Scalar>, 0, Eigen::OuterStride<>>;

/// out = a b
template <class Scalar>
void product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_tiles(b.cols(), kTile, static_cast<double>(a.size()), [&](Index first, Index width) {
    out.middleCols(first, width).noalias() = a * b.middleCols(first, width);
  });
}

/// out = aᵀ b
template <class Scalar>
void transposed_product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_tiles(b.cols(), kTile, static_cast<double>(a.size()), [&](Index first, Index width) {
    out.middleCols(first, width).noalias() = a.transpose() * b.middleCols(first, width);
  });
}

/// out = a bᵀ
template <class Scalar>
void product_transposed(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_tiles(b.rows(), kTile, static_cast<double>(a.size()), [&](Index first, Index width) {
    out.middleCols(first, width).noalias() = a * b.middleRows(first, width).transpose();
  });
}

}  // namespace repel::detail
