// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <type_traits>

// The dense products of the library. They call Eigen's matrix kernel itself: written as expressions, every product
// would be compiled anew for its own types of operands, and a program compiled with OpenMP would split it by the number
// of threads, which would change the bits. Results are divided into blocks of a fixed size (core/parallel.hpp).

namespace repel::detail {

/// Any column-major matrix or block of one, without a copy.
template <class Scalar>
using In = Eigen::Ref<const Matrix<Scalar>, 0, Eigen::OuterStride<>>;
template <class Scalar>
using Out = Eigen::Ref<Matrix<Scalar>, 0, Eigen::OuterStride<>>;

/// How an operand is stored: by columns, or as its transpose by columns.
enum class Stored : int { plain = Eigen::ColMajor, transposed = Eigen::RowMajor };

/// A matrix or a block of one in memory: where it begins, and how far one column is from the next.
template <class Scalar>
struct Block {
  Scalar* data;
  Index stride;

  operator Block<const Scalar>() const requires(!std::is_const_v<Scalar>) {  // NOLINT(google-explicit-constructor)
    return {data, stride};
  }
};

/// The block of a matrix that begins at (row, column).
template <class M>
auto block_at(M& matrix, Index row, Index column) {
  return Block<std::remove_reference_t<decltype(*matrix.data())>>{matrix.data() + row + column * matrix.outerStride(),
                                                                  matrix.outerStride()};
}

/// out += factor · a b in this thread; a is rows×depth, b is depth×columns, each or its transpose stored by columns.
template <Stored A, Stored B, class Scalar>
void add_product(Index rows, Index columns, Index depth, Scalar factor, std::type_identity_t<Block<const Scalar>> a,
                 std::type_identity_t<Block<const Scalar>> b, Block<Scalar> out) {
  if (rows == 0 || columns == 0 || depth == 0) return;
  namespace eigen = Eigen::internal;
  using Blocking =
      eigen::gemm_blocking_space<Eigen::ColMajor, Scalar, Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::Dynamic>;
  using Kernel = eigen::general_matrix_matrix_product<Index, Scalar, static_cast<int>(A), false, Scalar,
                                                      static_cast<int>(B), false, Eigen::ColMajor, 1>;
  Blocking blocking(rows, columns, depth, 1, true);
  Kernel::run(rows, columns, depth, a.data, a.stride, b.data, b.stride, out.data, 1, out.stride, factor, blocking,
              nullptr);
}

/// out = a b in this thread.
template <Stored A, Stored B, class Scalar>
void multiply(Index rows, Index columns, Index depth, std::type_identity_t<Block<const Scalar>> a,
              std::type_identity_t<Block<const Scalar>> b, Block<Scalar> out) {
  for (Index j = 0; j < columns; ++j) std::fill_n(out.data + j * out.stride, rows, Scalar(0));
  add_product<A, B, Scalar>(rows, columns, depth, 1, a, b, out);
}

/// out = a b
template <class Scalar>
void product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_blocks(a.rows(), b.cols(), static_cast<double>(a.cols()), [&](const BlockOf& at) {
    multiply<Stored::plain, Stored::plain, Scalar>(at.rows, at.columns, a.cols(), block_at(a, at.row, 0),
                                                   block_at(b, 0, at.column), block_at(out, at.row, at.column));
  });
}

/// out = aᵀ b
template <class Scalar>
void transposed_product(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_tiles(b.cols(), kTile, static_cast<double>(a.size()), [&](Index first, Index width) {
    multiply<Stored::transposed, Stored::plain, Scalar>(a.cols(), width, a.rows(), block_at(a, 0, 0),
                                                        block_at(b, 0, first), block_at(out, 0, first));
  });
}

/// out = a bᵀ
template <class Scalar>
void product_transposed(const In<Scalar>& a, const In<Scalar>& b, Out<Scalar> out) {
  parallel_tiles(b.rows(), kTile, static_cast<double>(a.size()), [&](Index first, Index width) {
    multiply<Stored::plain, Stored::transposed, Scalar>(a.rows(), width, a.cols(), block_at(a, 0, 0),
                                                        block_at(b, first, 0), block_at(out, 0, first));
  });
}

}  // namespace repel::detail
