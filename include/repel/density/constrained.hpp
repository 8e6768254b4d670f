// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/density/joint_transforms.hpp>
#include <repel/density/transform.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace repel {

namespace detail {

/// (∂x/∂z)ᵀ g_x + ∇_z log |det ∂x/∂z|: the gradient of g_xᵀ x(z) + log |det ∂x/∂z| with g_x held, by automatic
/// differentiation for a transform that does not say it itself.
template <class T, class Scalar>
void pull_back(const T& transform, const Scalar* z, const Scalar* x, const Scalar* g_x, Scalar* g_z) {
  if constexpr (requires { transform.pullback(z, x, g_x, g_z); }) {
    transform.pullback(z, x, g_x, g_z);
  } else {
    const Index in = transform.free_dim(), out = transform.dim();
    std::vector<Dual> from(static_cast<std::size_t>(in)), to(static_cast<std::size_t>(out));
    for (Index first = 0; first < in; first += 8) {
      for (Index k = 0; k < in; ++k) {
        Dual& each = from[static_cast<std::size_t>(k)];
        each.value() = static_cast<double>(z[k]);
        each.derivatives().setZero();
        if (k >= first && k < first + 8) each.derivatives()(k - first) = 1;
      }
      const Dual log_slope = transform.constrain(static_cast<const Dual*>(from.data()), to.data());
      for (Index k = first; k < std::min(in, first + 8); ++k) {
        double sum = log_slope.derivatives()(k - first);
        for (Index i = 0; i < out; ++i)
          sum += static_cast<double>(g_x[i]) * to[static_cast<std::size_t>(i)].derivatives()(k - first);
        g_z[k] = static_cast<Scalar>(sum);
      }
    }
  }
}

template <class Target, class Scalar>
concept TakesMatricesOf = requires(Target& t, const Matrix<Scalar>& x, Matrix<Scalar>& s) {
  t(x, s);
};
/// In a concept, float is tried only if double does not do: a generic lambda may not compile for both.
template <class Target>
concept TakesMatrices = TakesMatricesOf<Target, double> || TakesMatricesOf<Target, float>;

}  // namespace detail

/// A density of constrained parameters x as one of free ones z, for any sampler:
///
///   log p(z) = log p(x(z)) + log |det ∂x/∂z|
///
/// so that samples of z, put through constrain(), are samples of x. A target as for any sampler, of x, in the order of
/// the transforms; its log density is there if the target has one. See constrained().
template <class Target, class... Transforms>
class Constrained {
 public:
  static_assert(detail::TakesMatrices<Target>,
                "repel::constrained: the first argument must be a target, callable as target(x, g); for a log density "
                "alone write repel::constrained(repel::differentiated(log_density), ...)");
  static_assert(sizeof...(Transforms) > 0, "repel::constrained: at least one transform is needed, such as real(3)");
  static_assert(
      (Transform<Transforms> && ...),
      "repel::constrained: a transform must have free_dim(), dim() and constrain(z, x), a template that returns "
      "log |det dx/dz|; see repel/density/transform.hpp");

  /// Made by constrained().
  explicit Constrained(Target target, Transforms... transforms)
      : target_(std::forward<Target>(target)), transforms_(std::move(transforms)...) {
    each([&](const auto& t, Index, Index) {
      free_dim_ += t.free_dim();
      dim_ += t.dim();
    });
    if constexpr (requires { static_cast<Index>(target_.dim()); }) {
      const auto wanted = static_cast<Index>(target_.dim());
      if (wanted > 0 && wanted != dim_)
        detail::fail("constrained", "the target has ", wanted, " parameters, but the transforms add up to ", dim_, ": ",
                     parts([](const auto& t) { return t.dim(); }));
    }
  }

  Index dim() const { return free_dim_; }         ///< of z: what a sampler needs
  Index constrained_dim() const { return dim_; }  ///< of x: what the target sees

  void begin_step(Index step) requires requires(Target& t) { t.begin_step(step); }
  { target_.begin_step(step); }

  /// ∇ log p(z) of every column.
  template <class Z, class G>
  void operator()(const Z& z, G& g) const {
    auto& b = enter(z);
    detail::resize_unwritten(b.slope, dim_, z.cols());
    target_(std::as_const(b.x), b.slope);
    leave(z, b, g);
  }

  template <class Z>
  void log_density(const Z& z, Vector<double>& values) const requires
      requires(Target& t, const Matrix<typename Z::Scalar>& x) {
    t.log_density(x, values);
  }
  {
    auto& b = enter(z);
    values.resize(z.cols());
    target_.log_density(std::as_const(b.x), values);
    require_values(values, z.cols());
    values += b.log_slopes;
  }

  template <class Z, class G>
  void value_and_gradient(const Z& z, G& g, Vector<double>& values) const requires
      requires(Target& t, const Matrix<typename Z::Scalar>& x, Matrix<typename Z::Scalar>& s) {
    t.value_and_gradient(x, s, values);
  }
  {
    auto& b = enter(z);
    detail::resize_unwritten(b.slope, dim_, z.cols());
    target_.value_and_gradient(std::as_const(b.x), b.slope, values);
    require_values(values, z.cols());
    values += b.log_slopes;
    leave(z, b, g);
  }

  /// x of every column of z, such as the particles after a run.
  template <class Derived>
  Matrix<typename Derived::Scalar> constrain(const Eigen::MatrixBase<Derived>& z) const {
    const Matrix<typename Derived::Scalar> from = z;
    Matrix<typename Derived::Scalar> x;
    Vector<double> log_slopes;
    constrain_into(from, x, log_slopes);
    return x;
  }

  /// z of every column of x, such as a start. Throws std::invalid_argument for what is out of bounds.
  template <class Derived>
  Matrix<typename Derived::Scalar> unconstrain(const Eigen::MatrixBase<Derived>& x) const {
    using Scalar = typename Derived::Scalar;
    require_rows("unconstrain", "x", x.rows(), dim_, [](const auto& t) { return t.dim(); });
    const Matrix<double> from = x.template cast<double>();
    Matrix<double> z(free_dim_, x.cols());
    for (Index j = 0; j < x.cols(); ++j)
      each([&](const auto& t, Index at_z, Index at_x) {
        static_assert(
            requires { t.unconstrain(from.data(), z.data()); },
            "repel::constrained: a transform needs unconstrain(const double* x, double* z) for this");
        t.unconstrain(from.col(j).data() + at_x, z.col(j).data() + at_z);
      });
    detail::require_usable("unconstrain", "z", z);
    return z.template cast<Scalar>();
  }

  /// `count` starts: N(0, sd²) in every free coordinate.
  template <Real Scalar = double>
  Matrix<Scalar> initial(Index count, std::uint64_t seed, double sd = 1) const {
    return normal<Scalar>(free_dim_, count, seed, sd);
  }

 private:
  template <class Scalar>
  struct Buffers {
    Matrix<Scalar> x, slope;  ///< and the target's gradient at x
    Vector<double> log_slopes;
    Matrix<Scalar> z, g;  ///< by columns, if the particles are stored by rows
  };

  /// f(transform, its first row of z, its first row of x)
  template <class F>
  void each(const F& f) const {
    std::apply(
        [&](const auto&... t) {
          Index at_z = 0, at_x = 0;
          ((f(t, at_z, at_x), at_z += t.free_dim(), at_x += t.dim()), ...);
        },
        transforms_);
  }

  /// `size` is the number that a transform has in the matrix in question.
  template <class Size>
  void require_rows(const char* where, const char* name, Index rows, Index wanted, const Size& size) const {
    if (rows != wanted)
      detail::fail(where, name, " has ", rows, " rows, but must have ", wanted,
                   ", what the transforms add up to: ", parts(size));
  }
  /// As in 2 + 1.
  template <class Size>
  std::string parts(const Size& size) const {
    std::string out;
    each([&](const auto& t, Index, Index) { out.append(out.empty() ? "" : " + ").append(std::to_string(size(t))); });
    return out;
  }
  static void require_values(const Vector<double>& values, Index columns) {
    if (values.size() != columns)
      detail::fail("constrained", "log_density wrote ", values.size(),
                   " values, but must write one per column: ", columns);
  }

  template <class Z>
  Buffers<typename Z::Scalar>& enter(const Z& z) const {
    thread_local Buffers<typename Z::Scalar> b;
    if constexpr (Z::IsRowMajor) {
      b.z = z;
      constrain_into(b.z, b.x, b.log_slopes);
    } else {
      constrain_into(z, b.x, b.log_slopes);
    }
    return b;
  }

  template <class Z, class Scalar>
  void constrain_into(const Z& z, Matrix<Scalar>& x, Vector<double>& log_slopes) const {
    require_rows("constrained", "z", z.rows(), free_dim_, [](const auto& t) { return t.free_dim(); });
    x.resize(dim_, z.cols());
    log_slopes.resize(z.cols());
    detail::parallel_for(z.cols(), kWork * static_cast<double>(free_dim_), [&](Index j) {
      double sum = 0;
      each([&](const auto& t, Index at_z, Index at_x) {
        sum += static_cast<double>(t.constrain(&z.coeffRef(at_z, j), &x.coeffRef(at_x, j)));
      });
      log_slopes(j) = sum;
    });
  }

  template <class Z, class Scalar, class G>
  void leave(const Z& z, Buffers<Scalar>& b, G& g) const {
    detail::require_same_shape("constrained", "the gradient written by the target", b.slope, "x", b.x);
    if constexpr (Z::IsRowMajor) {
      pull_back(std::as_const(b.z), b, b.g);
      g = b.g;
    } else {
      pull_back(z, b, g);
    }
  }
  template <class Z, class Scalar, class G>
  void pull_back(const Z& z, const Buffers<Scalar>& b, G& g) const {
    g.resize(free_dim_, z.cols());
    detail::parallel_for(z.cols(), kWork * static_cast<double>(free_dim_), [&](Index j) {
      each([&](const auto& t, Index at_z, Index at_x) {
        detail::pull_back(t, &z.coeffRef(at_z, j), &b.x.coeffRef(at_x, j), &b.slope.coeffRef(at_x, j),
                          &g.coeffRef(at_z, j));
      });
    });
  }

  static constexpr double kWork = 50;  // per number, of transforms and their exponentials

  mutable Target target_;  // whose operator() need not be const
  std::tuple<Transforms...> transforms_;
  Index free_dim_ = 0, dim_ = 0;
};

/// A target of constrained parameters for any sampler:
///
///   auto model = repel::constrained(target, repel::real(2), repel::positive(), repel::simplex(3));
///   auto result = repel::sample(model, model.dim());
///   Eigen::MatrixXd theta = model.constrain(result.particles);       // rows: 2 real ones, 1 positive, 3 of the simplex
///
///   target       as for any sampler, by hand or differentiated(…), of the constrained parameters; std::ref(target) is
///                kept by reference
///   transforms   real(k), positive(k), above(a, k), below(b, k), interval(a, b, k), scaled(mean, sd, k), simplex(k),
///                ordered(k), or one of your own (transform.hpp)
template <class Target, class... Transforms>
auto constrained(Target&& target, Transforms... transforms) {
  return Constrained<std::unwrap_ref_decay_t<Target>, Transforms...>(std::forward<Target>(target),
                                                                     std::move(transforms)...);
}

}  // namespace repel
