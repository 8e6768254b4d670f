#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>

// The dense products of the library. They call Eigen's matrix kernel itself: written as expressions, every product
// would be compiled anew for its own types of operands, and a program compiled with OpenMP would cut it by the number
// of threads, and the bits with it. Results are shared out in blocks of a fixed size (core/parallel.hpp).

namespace repel::detail {

/// Any column-major matrix or block of one, without a copy.
template <class Scalar>
using In = Eigen::Ref<const Matrix<Scalar>, 0, Eigen::OuterStride<>>;
template <class Scalar>
using Out = Eigen::Ref<Matrix<Scalar>, 0, Eigen::OuterStride<>>;

/// How an operand stands in memory: by columns, or its transpose does.
enum class Stored : int { plain = Eigen::ColMajor, transposed = Eigen::RowMajor };

/// out += factor · a b in this thread; a is out.rows()×depth, b is depth×out.cols().
template <Stored A, Stored B, class Scalar>
void add_product(const In<Scalar>& a, const In<Scalar>& b, Index depth, Scalar factor, Out<Scalar> out) {
  if (out.size() == 0 || depth == 0) return;
  namespace eigen = Eigen::internal;
  using Blocking =
      eigen::gemm_blocking_space<Eigen::ColMajor, Scalar, Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::Dynamic>;
  using Kernel = eigen::general_matrix_matrix_product<Index, Scalar, static_cast<int>(A), false, Scalar,
                                                      static_cast<int>(B), false, Eigen::ColMajor, 1>;
  Blocking blocking(out.rows(), out.cols(), depth, 1, true);
  Kernel::run(out.rows(), out.cols(), depth, a.data(), a.outerStride(), b.data(), b.outerStride(), out.data(), 1,
              out.outerStride(), factor, blocking, nullptr);
}

/// out = a b in this thread.
template <class Scalar>
void multiply(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  out.setZero();
  add_product<Stored::plain, Stored::plain, Scalar>(a, b, a.cols(), 1, out);
}

/// out = a b
template <class Scalar>
void product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_blocks(a.rows(), b.cols(), static_cast<double>(a.cols()), [&](const BlockOf& at) {
    multiply<Scalar>(a.middleRows(at.row, at.rows), b.middleCols(at.column, at.columns),
                     out.block(at.row, at.column, at.rows, at.columns));
  });
}

/// out = aᵀ b
template <class Scalar>
void transposed_product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_tiles(b.cols(), kTile, static_cast<double>(a.size()), [&](Index first, Index width) {
    Out<Scalar> part = out.middleCols(first, width);
    part.setZero();
    add_product<Stored::transposed, Stored::plain, Scalar>(a, b.middleCols(first, width), a.rows(), 1, part);
  });
}

/// out = a bᵀ
template <class Scalar>
void product_transposed(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_tiles(b.rows(), kTile, static_cast<double>(a.size()), [&](Index first, Index width) {
    Out<Scalar> part = out.middleCols(first, width);
    part.setZero();
    add_product<Stored::plain, Stored::transposed, Scalar>(a, b.middleRows(first, width), a.cols(), 1, part);
  });
}

}  // namespace repel::detail
