#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>

// The dense products of the library, behind one signature each. Written in place, every product would be compiled anew
// for its own types of operands, which takes the compiler long; here a program compiles each of them once per scalar
// type. The result is shared out in blocks of a fixed size (see parallel.hpp).

namespace repel::detail {

/// Any column-major matrix or block of one, without a copy.
template <class Scalar>
using In = Eigen::Ref<const Matrix<Scalar>, 0, Eigen::OuterStride<>>;
template <class Scalar>
using Out = Eigen::Ref<Matrix<Scalar>, 0, Eigen::OuterStride<>>;

/// out = a b
template <class Scalar>
void product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_blocks(a.rows(), b.cols(), static_cast<double>(a.cols()), [&](Index r, Index rows, Index c, Index columns) {
    out.block(r, c, rows, columns).noalias() = a.middleRows(r, rows) * b.middleCols(c, columns);
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

/// out = aᵀ b for few columns of great length: cut along the length into at most 8 parts, whose products stand side by
/// side in `parts` and are added up in order.
template <class Scalar>
void long_transposed_product(const In<Scalar>& a, const In<Scalar>& b, Matrix<Scalar>& parts, Out<Scalar> out) {
  const Index count = std::min<Index>(8, (a.rows() + kRowTile - 1) / kRowTile);
  const Index length = (a.rows() + count - 1) / count, columns = b.cols();
  parts.resize(a.cols(), count * columns);
  parallel_for(count, static_cast<double>(length * a.cols() * columns), [&](Index k) {
    const Index first = k * length, rows = std::min(length, a.rows() - first);
    parts.middleCols(k * columns, columns).noalias() =
        a.middleRows(first, rows).transpose() * b.middleRows(first, rows);
  });
  out = parts.leftCols(columns);
  for (Index k = 1; k < count; ++k) out += parts.middleCols(k * columns, columns);
}

}  // namespace repel::detail
