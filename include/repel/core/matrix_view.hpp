// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/types.hpp>

#include <concepts>

namespace repel {

/// A look at a matrix of floats or doubles that something else owns, without its type.
class MatrixView {
 public:
  MatrixView() = default;

  /// A view of any dense matrix of float or double, which must outlive it.
  template <class Derived>
  explicit MatrixView(const Eigen::PlainObjectBase<Derived>& matrix)
      : data_(matrix.data()),
        rows_(matrix.rows()),
        cols_(matrix.cols()),
        outer_(matrix.outerStride()),
        by_rows_(Derived::IsRowMajor),
        single_(std::same_as<typename Derived::Scalar, float>) {}

  /// Rows of the matrix.
  Index rows() const { return rows_; }
  /// Columns of the matrix.
  Index cols() const { return cols_; }
  /// Whether there is no matrix.
  bool empty() const { return data_ == nullptr; }
  /// An entry, as double.
  double operator()(Index row, Index column) const {
    const Index at = by_rows_ ? row * outer_ + column : column * outer_ + row;
    return single_ ? static_cast<double>(static_cast<const float*>(data_)[at]) : static_cast<const double*>(data_)[at];
  }

 private:
  const void* data_ = nullptr;
  Index rows_ = 0, cols_ = 0, outer_ = 0;
  bool by_rows_ = false, single_ = false;
};

}  // namespace repel
