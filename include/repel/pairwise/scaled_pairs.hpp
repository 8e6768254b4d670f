// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/kernel/ard.hpp>
#include <repel/linalg/norm.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/terms.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

namespace repel {

template <class K, class Scalar>
class Pairs;  // pairwise/pairs.hpp

/// The pairs of a kernel with a scale per coordinate: those of the inner kernel on the scaled particles, u = x / scale,
/// with ∇_x = ∇_u / scale. Scaling is O(nd), and any inner engine serves.
template <class K, class Scalar>
class Pairs<Ard<K>, Scalar> {
 public:
  void measure(const Ard<K>& kernel, const detail::In<Scalar>& x) {
    find_scale(kernel, x);
    divide(x, scaled_);
    inner_.measure(kernel.inner, scaled_);
  }

  Index count() const { return inner_.count(); }
  Index dim() const { return inner_.dim(); }
  double bandwidth() const { return inner_.bandwidth(); }
  const Vector<Scalar>& scale() const { return scale_; }
  const Matrix<Scalar>& values() { return inner_.values(); }
  void values_at(const detail::In<Scalar>& targets, Matrix<Scalar>& out) {
    detail::require_targets(targets.rows(), dim());
    divide(targets, targets_);
    inner_.values_at(targets_, out);
  }
  void values_of_some(Index m, detail::FunctionRef<Index(Index)> pick, Matrix<Scalar>& out) {
    inner_.values_of_some(m, pick, out);
  }
  Vector<Scalar> diagonal() { return inner_.diagonal(); }
  Scalar trace() { return inner_.trace(); }

  template <class... Terms>
  void accumulate(const Terms&... terms) {
    (detail::require_term(terms, count(), dim(), count()), ...);
    inner_.accumulate(prepared(terms)...);
    (finish(terms, [&](Index m, auto& sum) { inner_.accumulate_some(0, m, pair::source_gradient(sum)); }), ...);
  }
  template <class... Terms>
  void accumulate_some(Index first, Index m, const Terms&... terms) {
    detail::require_some(first, m, count());
    (detail::require_term(terms, count(), dim(), m), ...);
    inner_.accumulate_some(first, m, prepared(terms)...);
    (finish(terms, [&](Index some, auto& sum) { inner_.accumulate_some(first, some, pair::source_gradient(sum)); }),
     ...);
  }
  template <class... Terms>
  void accumulate_at(const detail::In<Scalar>& targets, const Terms&... terms) {
    detail::require_targets(targets.rows(), dim());
    (detail::require_term(terms, count(), dim(), targets.cols()), ...);
    divide(targets, targets_);
    inner_.accumulate_at(targets_, prepared(terms)...);
    (finish(terms, [&](Index m, auto& sum) { inner_.accumulate_at(targets_.leftCols(m), pair::source_gradient(sum)); }),
     ...);
  }

  /// A map of the columns commutes with a scaling of the rows.
  void source_gradient_through(detail::FunctionRef<const Matrix<Scalar>&(Matrix<Scalar>&)> map,
                               detail::Out<Scalar> out) {
    inner_.source_gradient_through(map, out);
    divide_rows(out);
  }

 private:
  static constexpr Index kNormed = 16;  ///< targets whose gradients the norm of a stein term is the mean of

  /// The particles' standard deviations, around a mean that is exact where all particles agree.
  void find_scale(const Ard<K>& kernel, const detail::In<Scalar>& x) {
    const Index d = x.rows(), n = x.cols();
    scale_.resize(d);
    if (!kernel.scale.empty()) {
      if (static_cast<Index>(kernel.scale.size()) != d)
        detail::fail("Ard", "scale has ", kernel.scale.size(), " entries, but must have ", d, ", one per coordinate");
      for (Index k = 0; k < d; ++k)
        scale_(k) = detail::require_in_range<Scalar>("Ard", "scale", kernel.scale[static_cast<std::size_t>(k)]);
    } else {
      mean_.resize(d);
      const Scalar weight = 1 / static_cast<Scalar>(n);
      detail::parallel_blocks(d, 1, 4 * static_cast<double>(n), [&](const detail::BlockOf& at) {
        const auto point = [&](Index j) { return detail::array_at(x.data() + j * x.outerStride() + at.row, at.rows); };
        auto mean = detail::array_at(mean_.data() + at.row, at.rows);
        auto spread = detail::array_at(scale_.data() + at.row, at.rows);
        mean = point(0);
        for (Index j = 1; j < n; ++j) mean += (point(j) - point(0)) * weight;
        spread.setZero();
        for (Index j = 0; j < n; ++j) spread += (point(j) - mean).square() * weight;
        spread = spread.sqrt();
      });
    }
    inverse_.resize(d);
    for (Index k = 0; k < d; ++k) {
      if (!(scale_(k) > std::numeric_limits<Scalar>::min() * 16)) scale_(k) = 1;
      inverse_(k) = 1 / scale_(k);
    }
  }

  void divide(const detail::In<Scalar>& x, Matrix<Scalar>& out) const { times(x, inverse_, out); }

  static void times(const detail::In<Scalar>& x, const Vector<Scalar>& factors, Matrix<Scalar>& out) {
    out.resize(x.rows(), x.cols());
    detail::parallel_tiles(x.cols(), 4, static_cast<double>(x.rows()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j)
        detail::array_at(out.data() + j * out.outerStride(), x.rows()) =
            detail::array_at(x.data() + j * x.outerStride(), x.rows()) * detail::array_at(factors.data(), x.rows());
    });
  }

  void divide_rows(detail::Out<Scalar>& out) const {
    detail::parallel_tiles(out.cols(), 4, static_cast<double>(out.rows()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j)
        detail::array_at(out.data() + j * out.outerStride(), out.rows()) *=
            detail::array_at(inverse_.data(), out.rows());
    });
  }

  /// What the inner pairs are to sum. With v scaled, a stein term is one of the scaled particles, but for a division.
  template <class Term>
  const Term& prepared(const Term& term) {
    return term;
  }
  pair::SteinTerm<Scalar> prepared(const pair::SteinTerm<Scalar>& term) {
    times(term.v, scale_, driving_);
    return {driving_, term.scale, term.out, nullptr};
  }

  template <class Term, class Gradients>
  void finish(const Term& term, const Gradients& gradients) {
    if constexpr (Term::sums.gradient) divide_rows(term.out);
    if constexpr (std::same_as<Term, pair::SteinTerm<Scalar>>) {
      if (term.gradient_norm == nullptr) return;
      sums_.resize(dim(), std::min(term.out.cols(), kNormed));
      *term.gradient_norm = 0;
      if (sums_.cols() == 0) return;
      gradients(sums_.cols(), sums_);
      detail::Out<Scalar> sums = sums_;
      divide_rows(sums);
      *term.gradient_norm = std::abs(static_cast<double>(term.scale)) * detail::mean_norm(sums_);
    }
  }

  Pairs<K, Scalar> inner_;
  Vector<Scalar> scale_, inverse_, mean_;
  Matrix<Scalar> scaled_, targets_, driving_, sums_;
};

}  // namespace repel
