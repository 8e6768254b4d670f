#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/kernel/kernel_matrix.hpp>

#include <algorithm>

namespace repel::detail {

/// SVGD's direction (V K + G) / n by one matrix product, for kernels with φ′ = −φ of the squared Euclidean distance in
/// many dimensions. There G_j = c Σ_i k_ij (x_j − x_i) with c = 2/h, so
///   V K + G = (V − c X) K + c X diag(Σ_i k_ij).
/// G by itself is then not there, and its norm is a mean over 4 to 16 of the particles, evenly spread.
template <class Scalar>
class SteinProduct {
 public:
  /// Writes the direction and returns the mean norm of the columns of G / n.
  template <class K, class V, class Out>
  double direction(KernelField<K, Scalar>& field, KernelMatrix<K, Scalar>& matrix, const V& v, Out& out) {
    const Points<Scalar>& points = field.points;
    const Index d = points.dim, n = points.count;
    const Scalar c = 2 * field.inverse_bandwidth(), weight = 1 / static_cast<Scalar>(n);
    const auto form_sources = [&](Index r, Index rows, auto&& sources) {  // (v − c x) / n, some rows of all particles
      for (Index i = 0; i < n; ++i)
        sources.col(i) = weight * (v.col(i).segment(r, rows) - c * points.columns.col(i).segment(r, rows));
    };
    const bool at_once = n > kColumnTile;  // else some rows at a time, just before they are used
    if (at_once) {
      sources_.resize(d, n);
      parallel_blocks(d, 1, 2 * static_cast<double>(n),
                      [&](Index r, Index rows, Index, Index) { form_sources(r, rows, sources_.middleRows(r, rows)); });
    } else {
      sources_.resize(std::min(d, kRowTile) * n, thread_slots());
    }

    const Index checked = std::min(n, std::clamp<Index>(n / 16, 4, 16));
    double norms = 0;
    matrix.for_each_block(
        field, false, [&](Index first, const Points<Scalar>& at, const Matrix<Scalar>& k, const auto&) {
          sums_.resize(k.cols());
          parallel_tiles(k.cols(), 16, static_cast<double>(n), [&](Index begin, Index width) {
            for (Index j = begin; j < begin + width; ++j) sums_(j) = k.col(j).sum();
          });
          parallel_blocks(d, k.cols(), static_cast<double>(n),
                          [&](Index r, Index rows, Index j0, Index columns, Index slot) {
                            auto block = out.block(r, first + j0, rows, columns);
                            if (at_once) {
                              block.noalias() = sources_.middleRows(r, rows) * k.middleCols(j0, columns);
                            } else {
                              Eigen::Map<Matrix<Scalar>> sources(sources_.col(slot).data(), rows, n);
                              form_sources(r, rows, sources);
                              block.noalias() = sources * k.middleCols(j0, columns);
                            }
                            for (Index j = 0; j < columns; ++j)  // k has zeros where a particle meets itself
                              block.col(j) += (weight * field.value_at_0) * v.col(first + j0 + j).segment(r, rows) +
                                              (weight * c * sums_(j0 + j)) * at.columns.col(j0 + j).segment(r, rows);
                          });
          norms += sum_of_norms(points, first, at, k, checked);
        });
    return static_cast<double>(c * weight) * norms / static_cast<double>(checked);
  }

 private:
  /// The sum of ‖G_j / c‖ over those of the `checked` particles that are columns of this block.
  double sum_of_norms(const Points<Scalar>& points, Index first, const Points<Scalar>& at, const Matrix<Scalar>& k,
                      Index checked) {
    const Index d = points.dim, n = points.count;
    Index found = 0;
    values_.resize(n, checked);
    columns_.resize(checked);
    for (Index t = 0; t < checked; ++t)
      if (const Index j = t * n / checked - first; j >= 0 && j < k.cols()) {
        values_.col(found) = k.col(j);
        columns_(found++) = j;
      }
    gradients_.resize(d, checked);
    product<Scalar>(points.columns.topLeftCorner(d, n), values_.leftCols(found), gradients_.leftCols(found));
    double norms = 0;
    for (Index t = 0; t < found; ++t) {
      const Index j = columns_(t);
      norms += static_cast<double>((sums_(j) * at.columns.col(j).head(d) - gradients_.col(t)).norm());
    }
    return norms;
  }

  Matrix<Scalar> sources_, values_, gradients_;
  Vector<Scalar> sums_;
  Eigen::Matrix<Index, Eigen::Dynamic, 1> columns_;
};

}  // namespace repel::detail
