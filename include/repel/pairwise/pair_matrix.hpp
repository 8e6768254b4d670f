// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/team.hpp>
#include <repel/pairwise/distances.hpp>
#include <repel/pairwise/pair_tiles.hpp>
#include <repel/pairwise/radial_function.hpp>

#include <algorithm>
#include <utility>

namespace repel::detail {

/// n×n matrices are held up to this many points.
inline constexpr Index kHeldCount = 4096;

/// Columns in a strip of a matrix that is not held.
inline constexpr Index kStrip = 96;

/// Some columns of K: all particles against the targets `at`. If these are particles, k and slopes are 0 where one
/// meets itself, so that self-interaction is exactly zero; the reader adds k(x, x), which is in `own` (0 for other
/// points).
template <class Scalar>
struct PairBlock {
  Index first;                     ///< the column of the results that column 0 of this block belongs to
  Index particle;                  ///< which particle it is, −1 for other points
  const PackedPoints<Scalar>& at;  ///< the targets
  const Matrix<Scalar>& k;         ///< n×|at|
  const Matrix<Scalar>& slopes;    ///< φ′, or K if one array serves for both (RadialFunction::slope_sign)
  Scalar own;
};

/// The owner of the n×n memory: distances first, which become φ′ or K in place when they are asked for. Beyond
/// kHeldCount points nothing is held, and K is formed by strips of columns.
template <class Metric, class Scalar>
class PairMatrix {
 public:
  using Body = FunctionRef<void(const PairBlock<Scalar>&)>;

  /// To be called when the points have changed.
  void clear() { content_ = Content::nothing; }

  bool holds_distances() const { return content_ == Content::distances; }
  bool holds_values() const { return content_ == Content::values; }

  /// Distances among the points; only the lower triangle and the diagonal are valid.
  const Matrix<Scalar>& distances_among(const PackedPoints<Scalar>& points) {
    if (content_ != Content::distances) distances<Metric>(points, points, scratch_, first_);
    content_ = Content::distances;
    return first_;
  }

  /// K, n×n.
  const Matrix<Scalar>& values(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points) {
    form(kernel, points);
    return kernel.shares_slope ? first_ : second_;
  }

  /// φ′, or K if one array serves for both; n×n. The diagonal is not valid.
  const Matrix<Scalar>& slopes(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points) {
    form(kernel, points);
    return first_;
  }

  /// Whether for_each_block() goes by strips.
  bool by_strips(const PackedPoints<Scalar>& points) const { return points.count > kHeldCount && !holds_values(); }

  /// The targets whose strips belong to the processes of a team before this one.
  static Index first_of(const Team& team, Index count, Index process) {
    return std::min(count, team.first((count + kStrip - 1) / kStrip, process) * kStrip);
  }

  /// body(block) for blocks that cover all particles as targets: one block if K is held, strips otherwise. With a team only
  /// the strips of this process.
  void for_each_block(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points, const Team* team,
                      Body body) {
    if (by_strips(points)) {
      const Index begin = team == nullptr ? 0 : first_of(*team, points.count, team->rank()),
                  end = team == nullptr ? points.count : first_of(*team, points.count, team->rank() + 1);
      for (Index first = begin; first < end; first += kStrip)
        some(kernel, points, first, std::min(kStrip, points.count - first), first, body);
      return;
    }
    form(kernel, points);
    Matrix<Scalar>& k = kernel.shares_slope ? first_ : second_;
    struct WithoutDiagonal {  // k(x, x) comes back at the end, also if the body throws: values() has promised it
      WithoutDiagonal(Matrix<Scalar>& matrix, Scalar value) : values(matrix), own(value) {
        values.diagonal().setZero();
      }
      ~WithoutDiagonal() { values.diagonal().setConstant(own); }
      WithoutDiagonal(const WithoutDiagonal&) = delete;
      WithoutDiagonal& operator=(const WithoutDiagonal&) = delete;
      Matrix<Scalar>& values;
      Scalar own;
    };
    const WithoutDiagonal without(k, kernel.value_at_0);
    body(PairBlock<Scalar>{0, 0, points, k, first_, kernel.value_at_0});
  }

  /// The same with some of the particles as targets: particles begin … begin + count, the results from column 0 on.
  void for_some(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points, Index begin, Index count,
                Body body) {
    for (Index first = 0; first < count; first += kStrip)
      some(kernel, points, begin + first, std::min(kStrip, count - first), first, body);
  }

  /// The same with other points as targets, which feel every particle.
  void for_others(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points,
                  const PackedPoints<Scalar>& targets, Body body) {
    evaluate(kernel, points, targets);
    const Matrix<Scalar>& k = strip_values_;
    body(PairBlock<Scalar>{0, -1, targets, k, kernel.shares_slope ? k : strip_slopes_, 0});
  }

  /// k(x_i, y_j), n×m, with the targets' columns untouched by any self-interaction.
  void values_between(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points,
                      const PackedPoints<Scalar>& targets, Matrix<Scalar>& out) {
    distances<Metric>(points, targets, scratch_, out);
    parallel_tiles(out.cols(), 4, static_cast<double>(10 * out.rows()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) kernel(&out(0, j), out.rows(), &out(0, j), nullptr);
    });
  }

  /// All distances to a strip of the points: particles begin … begin + count.
  const Matrix<Scalar>& strip_distances(const PackedPoints<Scalar>& points, Index begin, Index count) {
    strip_.take(points, count, [&](Index k) { return begin + k; });
    distances<Metric>(points, strip_, scratch_, strip_slopes_);
    return strip_slopes_;
  }

 private:
  enum class Content { nothing, distances, values };

  /// strip_values_ and, unless one array serves for both, strip_slopes_ of all particles against the targets.
  void evaluate(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points,
                const PackedPoints<Scalar>& targets) {
    distances<Metric>(points, targets, scratch_, strip_slopes_);
    strip_values_.resize(points.count, targets.count);
    parallel_tiles(targets.count, 4, static_cast<double>(10 * points.count), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        Scalar* const u = &strip_slopes_(0, j);
        kernel(u, points.count, &strip_values_(0, j), kernel.shares_slope ? nullptr : u);
      }
    });
  }

  void some(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points, Index begin, Index count,
            Index first, Body body) {
    strip_.take(points, count, [&](Index k) { return begin + k; });
    evaluate(kernel, points, strip_);
    for (Index j = 0; j < count; ++j) strip_values_(begin + j, j) = strip_slopes_(begin + j, j) = 0;
    body(PairBlock<Scalar>{first, begin, strip_, strip_values_, kernel.shares_slope ? strip_values_ : strip_slopes_,
                           kernel.value_at_0});
  }

  /// K is symmetric: half of the exponentials are enough.
  void form(const RadialFunction<Scalar>& kernel, const PackedPoints<Scalar>& points) {
    if (holds_values()) return;
    distances_among(points);
    const Index n = points.count;
    if (!kernel.shares_slope) second_.resize(n, n);
    Matrix<Scalar>& k = kernel.shares_slope ? first_ : second_;
    PairTiles(n, 12).for_each([&](Index, Index first, Index rows, Index column, Index columns) {
      for (Index j = column; j < column + columns; ++j) {
        const Index top = std::max(first, j), height = first + rows - top;
        if (height <= 0) continue;
        Scalar* const u = &first_(top, j);
        kernel(u, height, &k(top, j), kernel.shares_slope ? nullptr : u);
      }
    });
    k.diagonal().setConstant(kernel.value_at_0);
    mirror_lower(k);
    if (!kernel.shares_slope) {
      first_.diagonal().setZero();
      mirror_lower(first_);
    }
    content_ = Content::values;
  }

  static void mirror_lower(Matrix<Scalar>& m) {
    PairTiles(m.cols(), 4).for_each([&](Index, Index i, Index rows, Index j, Index columns) {
      for (Index c = 0; c < columns; c += 8)
        for (Index r = 0; r < rows; r += 8) {  // by small blocks, to be kind to the cache
          const Index last_row = std::min(r + 8, rows);
          for (Index b = c; b < std::min(c + 8, columns); ++b)
            for (Index a = i == j ? std::max(r, b + 1) : r; a < last_row; ++a) m(j + b, i + a) = m(i + a, j + b);
        }
    });
  }

  Content content_ = Content::nothing;
  Matrix<Scalar> first_;   ///< distances, then φ′ or (if they share) K
  Matrix<Scalar> second_;  ///< K, if φ′ needs its own array
  PackedPoints<Scalar> strip_;
  Matrix<Scalar> strip_values_, strip_slopes_, scratch_;
};

}  // namespace repel::detail
