#pragma once

#include <repel/core/check.hpp>
#include <repel/core/norm.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/product.hpp>
#include <repel/kernel/concepts.hpp>
#include <repel/kernel/kernel_matrix.hpp>
#include <repel/kernel/pair_gram.hpp>
#include <repel/kernel/stein_product.hpp>
#include <repel/kernel/sweep.hpp>

#include <algorithm>
#include <utility>

// The narrow waist between kernels and everything above them. For one set of particles x_1 … x_n, Gram gives
//   bandwidth()               h
//   values()                  K, the n×n matrix k(x_i, x_j)
//   gradient_sum(out)         G, column j = Σ_k ∇_{x_k} k(x_k, x_j)
//   attraction(out)           column i = Σ_j ∇_{x_i} k(x_i, x_j); the opposite of G for kernels of a distance
//   attraction(w, out)        the same with weights: Σ_j w(i, j) ∇_{x_i} k(x_i, x_j), for a symmetric n×n expression w
//   values_at(queries, K)     k(x_i, q_j), with the same h
//   attraction_at(queries, K, A)   the same, and column j of A = Σ_i ∇_{q_j} k(q_j, x_i)
// and, without ever forming K where that is too large or slower:
//   sums(s)                   s_j = Σ_i k(x_i, x_j)
//   attraction_over_sums(out, s)   the attraction, each column over s_j
//   attraction_shared(w, out) column i = Σ_j (w_i + w_j) ∇_{x_i} k(x_i, x_j)
//   product(v, out)           out = v K, for any m×n matrix v
//   product_and_gradient_sum(v, out, G)
//   stein_direction(v, out)   out = (v K + G) / n
//   gradient_weights(M), combine(M, c, out)   where it pays: M with G = X M, and out = c X M
//   landmark_values(m, C, M)  K of all particles to m of them, n×m, and among these
//   trace()                   Σ_i k(x_i, x_i)
// Each is formed when asked for. Buffers are kept from one update to the next, so a step with unchanged sizes allocates
// nothing.

namespace repel {

namespace detail {

struct NoFactor {
  int operator()(Index) const { return 1; }
};

}  // namespace detail

/// Kernels of a distance. In few dimensions everything but values() is one sweep over all pairs (sweep.hpp). In many, K
/// is held while it is not too large, and used in matrix products; beyond, it is formed by strips of some columns.
template <DistanceKernel K, class Scalar>
class Gram<K, Scalar> {
  using Metric = MetricOf<K>;
  static constexpr bool one = detail::kSlopeIsMinusValue<K>;

 public:
  template <class Derived>
  void update(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
    matrix_.forget(field_);
    field_.measure(kernel, x);
  }

  double bandwidth() const { return field_.bandwidth; }
  Index count() const { return field_.points.count; }
  const Matrix<Scalar>& values() { return matrix_.values(field_); }

  template <class Sums>
  void sums(Sums& out) {
    out.resize(count());
    if (field_.points.few()) {
      sweep<detail::Sums{.values = true}>();
      for (Index j = 0; j < count(); ++j) out(j) = sweep_.total(j, 0) + field_.value_at_0;
    } else {
      for_each_block(false, [&](Index first, const auto&, auto& k, const auto&) {
        for (Index j = 0; j < k.cols(); ++j) out(first + j) = k.col(j).sum() + field_.value_at_0;
      });
    }
  }

  template <class Out>
  void attraction(Out& out) {
    pull(1, out);
  }

  template <class Out>
  void gradient_sum(Out& out) {
    pull(-1, out);
  }

  template <class Out, class Sums>
  void attraction_over_sums(Out& out, Sums& s) {
    s.resize(count());
    if (field_.points.few()) {
      sweep<detail::Sums{.values = true, .pull = true}>();
      for (Index j = 0; j < count(); ++j) s(j) = sweep_.total(j, 0) + field_.value_at_0;
      take_pull(1, 1, one, out, [&](Index j) { return 1 / s(j); });
    } else {
      for_each_block(true, [&](Index first, const auto& at, auto& k, auto& slopes) {
        for (Index j = 0; j < k.cols(); ++j) s(first + j) = k.col(j).sum() + field_.value_at_0;
        auto part = out.middleCols(first, k.cols());
        pull_block(at, one ? k : slopes, one ? -1 : 1, part, [&](Index j) { return 1 / s(first + j); });
      });
    }
  }

  template <class Weights, class Out>
  void attraction_shared(const Weights& w, Out& out) {
    if (field_.points.few()) {
      sweep_.weights.setZero(field_.points.coordinates.rows(), 1);
      for (Index i = 0; i < count(); ++i) sweep_.weights(i, 0) = w(i);
      sweep<detail::Sums{.pull = true, .weighted = true}>();
      take_pull(1, 0, false, out);
    } else {
      for_each_block(true, [&](Index first, const auto& at, auto& k, auto& slopes) {
        const auto& a = one ? k : slopes;
        weighted_.resize(a.rows(), a.cols());
        detail::parallel_tiles(a.cols(), 16, static_cast<double>(a.rows()), [&](Index begin, Index width) {
          for (Index j = begin; j < begin + width; ++j)
            weighted_.col(j) = a.col(j).array() * (w.array() + w(first + j));
        });
        auto part = out.middleCols(first, k.cols());
        pull_block(at, weighted_, one ? -1 : 1, part);
      });
    }
  }

  template <class Weights, class Out>
  void attraction(const Weights& weights, Out& out) {
    const Matrix<Scalar>& a = matrix_.slopes(field_);
    weighted_.noalias() = a.cwiseProduct(weights);
    weighted_.diagonal().setZero();
    pull_block(field_.points, weighted_, one ? -1 : 1, out);
  }

  template <class V, class Out>
  void product(const V& v, Out& out) {
    if (field_.points.few() && v.rows() <= 64 && !matrix_.held()) {
      for (Index first = 0; first < v.rows(); first += detail::kFewDimensions) {
        const Index rows = std::min(detail::kFewDimensions, v.rows() - first);
        const auto part = v.middleRows(first, rows);
        auto out_part = out.middleRows(first, rows);
        set_sources(part);
        sweep<detail::Sums{.product = true}>();
        take_product(part, 0, out_part);
      }
    } else {
      for_each_block(false, [&](Index first, const auto&, auto& k, const auto&) {
        auto part = out.middleCols(first, k.cols());
        detail::product<Scalar>(v, k, part);
        add_own(v, first, part);
      });
    }
  }

  template <class V, class Out, class G>
  void product_and_gradient_sum(const V& v, Out& out, G& g) {
    if (field_.points.few() && v.rows() <= detail::kFewDimensions) {
      set_sources(v);
      sweep<detail::Sums{.pull = true, .product = true}>();
      take_pull(-1, 0, one, g);
      take_product(v, field_.points.dim, out);
    } else {
      for_each_block(true, [&](Index first, const auto& at, auto& k, auto& slopes) {
        auto part = out.middleCols(first, k.cols());
        detail::product<Scalar>(v, k, part);
        add_own(v, first, part);
        auto forces = g.middleCols(first, k.cols());
        pull_block(at, one ? k : slopes, one ? 1 : -1, forces);
      });
    }
  }

  /// In many dimensions and with squared distances G is a combination of the particles, G = X M. False where it is not,
  /// or where there is more work in M than in X.
  bool gradient_weights(Matrix<Scalar>& weights) {
    if constexpr (!std::same_as<Metric, SquaredEuclidean>) return false;
    if (field_.points.few() || field_.points.dim < count() / 2 || count() > detail::kHeldCount) return false;
    const Scalar c = (one ? -2 : 2) * field_.inverse_bandwidth();  // G_j = 2/h Σ_i φ′_ij (x_i − x_j)
    const Matrix<Scalar>& a = matrix_.slopes(field_);
    weights.resize(count(), count());
    detail::parallel_tiles(count(), 16, static_cast<double>(count()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        weights.col(j) = c * a.col(j);
        weights(j, j) = 0;
        weights(j, j) = -weights.col(j).sum();
      }
    });
    return true;
  }
  template <class Out>
  void combine(const Matrix<Scalar>& weights, Scalar c, Out& out) const {
    detail::product<Scalar>(field_.points.columns.topLeftCorner(field_.points.dim, count()), weights, out);
    if (c != 1)
      detail::parallel_tiles(out.cols(), 4, static_cast<double>(out.rows()),
                             [&](Index first, Index width) { out.middleCols(first, width) *= c; });
  }

  void landmark_values(Index m, Matrix<Scalar>& to_all, Matrix<Scalar>& among) {
    const auto landmark = [&](Index k) { return k * count() / m; };
    queries_.take(field_.points, m, landmark);
    detail::distances<Metric>(field_.points, queries_, room_, to_all);
    detail::parallel_tiles(m, 4, static_cast<double>(10 * count()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) {
        to_all.col(j) = field_.scaled(to_all.col(j).array());
        to_all.col(j) = field_.kernel->phi(to_all.col(j).array());
      }
    });
    among.resize(m, m);
    for (Index k = 0; k < m; ++k) among.row(k) = to_all.row(landmark(k));
  }

  Scalar trace() const { return field_.value_at_0 * static_cast<Scalar>(count()); }

  /// out = (v K + G) / n, and returns the mean norm of the columns of G / n; in many dimensions, where both come from
  /// one product, the mean over some of the particles (stein_product.hpp).
  template <class V, class Out>
  double stein_direction(const V& v, Out& out) {
    if constexpr (one && std::same_as<Metric, SquaredEuclidean>)
      if (!field_.points.few()) return stein_product_.direction(field_, matrix_, v, out);
    const Scalar weight = 1 / static_cast<Scalar>(count());
    gradients_.resize(field_.points.dim, count());
    product_and_gradient_sum(v, out, gradients_);
    detail::parallel_tiles(out.cols(), 4, static_cast<double>(out.rows()), [&](Index first, Index width) {
      for (Index j = first; j < first + width; ++j) out.col(j) = (out.col(j) + gradients_.col(j)) * weight;
    });
    return detail::mean_norm(gradients_) / static_cast<double>(count());
  }

  template <class Derived>
  void values_at(const Eigen::MatrixBase<Derived>& queries, Matrix<Scalar>& values) {
    scaled_distances_at(queries);
    values = field_.kernel->phi(query_slopes_.array()).matrix();
  }

  template <class Derived>
  void attraction_at(const Eigen::MatrixBase<Derived>& queries, Matrix<Scalar>& values, Matrix<Scalar>& attraction) {
    values_at(queries, values);
    auto u = query_slopes_.array();
    u = field_.kernel->phi_prime(u, values.array());
    attraction.resize(queries.rows(), queries.cols());
    pull_block(queries_, query_slopes_, 1, attraction);
  }

 private:
  // --- in few dimensions --------------------------------------------------------------------------------------------

  template <detail::Sums wanted>
  void sweep() {
    detail::sweep<wanted, Metric>(*field_.kernel, field_.inverse_bandwidth(), field_.points, sweep_);
  }

  /// The pull among the totals, from column `from` on; `minus`: it was formed with k in place of φ′ = −k.
  template <class Out, class Factor = detail::NoFactor>
  void take_pull(int sign, Index from, bool minus, Out& out, const Factor& factor = {}) const {
    const Scalar c = static_cast<Scalar>((minus ? -sign : sign) * Metric::slope_factor) * field_.inverse_bandwidth();
    for (Index j = 0; j < count(); ++j)
      for (Index k = 0; k < field_.points.dim; ++k)
        out(k, j) = c * sweep_.total(j, from + k) * static_cast<Scalar>(factor(j));
  }

  template <class V>
  void set_sources(const V& v) {
    sweep_.sources.resize(field_.points.coordinates.rows(), v.rows());
    for (Index k = 0; k < v.rows(); ++k) {
      for (Index i = 0; i < count(); ++i) sweep_.sources(i, k) = v(k, i);
      sweep_.sources.col(k).tail(field_.points.coordinates.rows() - count()).setZero();
    }
  }

  template <class V, class Out>
  void take_product(const V& v, Index from, Out& out) const {
    for (Index j = 0; j < count(); ++j)
      for (Index k = 0; k < v.rows(); ++k) out(k, j) = sweep_.total(j, from + k) + field_.value_at_0 * v(k, j);
  }

  // --- in many dimensions -------------------------------------------------------------------------------------------

  /// See KernelMatrix; the blocks have zeros where a particle meets itself.
  template <class Body>
  void for_each_block(bool want_slopes, const Body& body) {
    matrix_.for_each_block(field_, want_slopes, body);
  }

  /// v_j k(x_j, x_j), which the blocks leave out.
  template <class V, class Out>
  void add_own(const V& v, Index first, Out& out) const {
    detail::parallel_tiles(out.cols(), 16, static_cast<double>(out.rows()), [&](Index begin, Index width) {
      for (Index j = begin; j < begin + width; ++j) out.col(j) += field_.value_at_0 * v.col(first + j);
    });
  }

  /// ± the attraction.
  template <class Out>
  void pull(int sign, Out& out) {
    if (field_.points.few()) {
      sweep<detail::Sums{.pull = true}>();
      take_pull(sign, 0, one, out);
    } else {
      for_each_block(true, [&](Index first, const auto& at, auto& k, auto& slopes) {
        auto part = out.middleCols(first, k.cols());
        pull_block(at, one ? k : slopes, one ? -sign : sign, part);
      });
    }
  }

  template <class Out, class Factor = detail::NoFactor>
  void pull_block(const detail::Points<Scalar>& at, const Matrix<Scalar>& a, int sign, Out& out,
                  const Factor& factor = {}) {
    const Scalar c = static_cast<Scalar>(sign) * field_.inverse_bandwidth();
    detail::pull<Metric>(
        field_.points, at, a, [&](Index j) { return c * static_cast<Scalar>(factor(j)); }, room_, out);
  }

  template <class Derived>
  void scaled_distances_at(const Eigen::MatrixBase<Derived>& queries) {
    queries_.assign(queries, field_.points.origin);
    detail::distances<Metric>(field_.points, queries_, room_, query_slopes_);
    query_slopes_.array() = field_.scaled(query_slopes_.array());
  }

  detail::KernelField<K, Scalar> field_;
  detail::KernelMatrix<K, Scalar> matrix_;
  detail::SweepBuffers<Scalar> sweep_;
  detail::SteinProduct<Scalar> stein_product_;
  detail::Points<Scalar> queries_;
  Matrix<Scalar> weighted_, query_slopes_, room_, gradients_;
};

/// The kernel matrix of the columns of x, n×n.
template <class K, class Derived>
Matrix<typename Derived::Scalar> gram(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
  static_assert(detail::assert_kernel<K>());
  detail::validate_kernel(kernel);
  const auto& points = x.derived().eval();
  detail::require_points("gram", "X", points);
  Gram<K, typename Derived::Scalar> result;
  result.update(kernel, points);
  return result.values();
}

/// The h that the kernel's bandwidth rule chooses for the columns of x.
template <class K, class Derived>
double bandwidth(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
  using Scalar = typename Derived::Scalar;
  static_assert(detail::assert_kernel<K>());
  detail::validate_kernel(kernel);
  const auto& points = x.derived().eval();
  detail::require_points("bandwidth", "X", points);
  detail::Points<Scalar> measured;
  measured.assign(points);
  return detail::Distances<MetricOf<K>, Scalar>().bandwidth(kernel.bandwidth, measured);
}

}  // namespace repel
