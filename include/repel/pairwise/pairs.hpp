// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/kernel/kernel.hpp>
#include <repel/pairwise/distance_pairs.hpp>
#include <repel/pairwise/general_pairs.hpp>
#include <repel/pairwise/scaled_pairs.hpp>
#include <repel/pairwise/terms.hpp>

#include <concepts>
#include <optional>

// The narrow waist between kernels and everything above them: a kernel on one set of particles x_1 … x_n. Estimators,
// rules and statistics need these primitives and nothing else:
//
//   measure(kernel, X)               takes the particles, the columns of X, and lets the kernel's rule choose h
//   bandwidth()                      h
//   values()                         K, the n×n matrix k(x_i, x_j)
//   values_at(Y, out)                k(x_i, y_j) for other points, with the same h
//   accumulate(terms…)               sums over all pairs, in one pass for all terms (pairwise/terms.hpp): K times a
//                                    matrix, its column sums, sums of its gradients
//   accumulate_at(Y, terms…)         the same with other points as targets
//   accumulate_some(first, m, terms…)    the same with some of the particles as targets
//   source_gradient_through(map, out)    out = map(G), for a linear map that acts on the columns of G
//
//   repel::Pairs<repel::Rbf<>, double> pairs;
//   pairs.measure(repel::Rbf{}, X);
//   Eigen::VectorXd density;
//   pairs.accumulate_at(Y, repel::pair::sums(density));          // Σ_i k(x_i, y_j)
//
// Behind them are three engines: in low dimension sums are streamed and K is never stored; in high dimension K is held
// while it is not too large, and formed by strips of columns beyond that; kernels that are not of a distance go pair by
// pair. A kernel with a scale per coordinate (kernel/ard.hpp) goes through the engine of the kernel inside, on scaled
// particles (pairwise/scaled_pairs.hpp). Buffers are kept from one measure() to the next, so that a step with unchanged
// sizes allocates nothing.

namespace repel {

template <class K, class Scalar>
class Pairs;

/// Kernels of a distance.
template <DistanceKernel K, class Scalar>
class Pairs<K, Scalar> {
  using Core = detail::DistancePairs<MetricOf<K>, Scalar>;

 public:
  void measure(const K& kernel, const detail::In<Scalar>& x) {
    kernel_.emplace(kernel);
    core_.measure(kernel.bandwidth, x);
  }

  Index count() const { return core_.count(); }
  Index dim() const { return core_.dim(); }
  double bandwidth() const { return core_.bandwidth(); }
  const Matrix<Scalar>& values() { return core_.values(function()); }
  void values_at(const detail::In<Scalar>& targets, Matrix<Scalar>& out) { core_.values_at(function(), targets, out); }
  /// k(x_i, x_pick(j)) for j = 0 … m − 1: n×m.
  void values_of_some(Index m, detail::FunctionRef<Index(Index)> pick, Matrix<Scalar>& out) {
    core_.values_of_some(function(), m, pick, out);
  }
  /// k(x_i, x_i) of every particle.
  Vector<Scalar> diagonal() const { return Vector<Scalar>::Constant(count(), function().value_at_0); }
  /// Their sum.
  Scalar trace() const { return static_cast<Scalar>(count()) * function().value_at_0; }

  template <class... Terms>
  void accumulate(const Terms&... terms) {
    core_.accumulate(function(), terms...);
  }
  template <class... Terms>
  void accumulate_at(const detail::In<Scalar>& targets, const Terms&... terms) {
    core_.accumulate_at(function(), targets, terms...);
  }
  template <class... Terms>
  void accumulate_some(Index first, Index m, const Terms&... terms) {
    core_.accumulate_some(function(), first, m, terms...);
  }
  void source_gradient_through(detail::FunctionRef<const Matrix<Scalar>&(Matrix<Scalar>&)> map,
                               detail::Out<Scalar> out) {
    core_.source_gradient_through(function(), map, out);
  }

 private:
  detail::RadialFunction<Scalar> function() const { return {*kernel_, bandwidth()}; }

  std::optional<K> kernel_;
  Core core_;
};

/// Any other kernel.
template <PairKernel K, class Scalar>
requires(!DistanceKernel<K>) class Pairs<K, Scalar> : public detail::GeneralPairs<K, Scalar> {
};

/// What an estimator may ask of the pairs it is given.
template <class T, class Scalar>
concept KernelPairs = requires(T& pairs, const Matrix<Scalar>& y, Matrix<Scalar>& out, Vector<Scalar>& sums) {
  { pairs.count() } -> std::convertible_to<Index>;
  { pairs.bandwidth() } -> std::convertible_to<double>;
  { pairs.values() } -> std::convertible_to<const Matrix<Scalar>&>;
  pairs.values_at(y, out);
  pairs.accumulate(pair::sums(sums), pair::gradient(out));
  pairs.accumulate_at(y, pair::product(y, out));
  pairs.accumulate_some(Index{0}, Index{1}, pair::log_gradient(out));
  pairs.source_gradient_through([](Matrix<Scalar>& g) -> const Matrix<Scalar>& { return g; }, out);
};

/// The kernel matrix of the columns of x, n×n.
template <class K, class Derived>
Matrix<typename Derived::Scalar> gram(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
  static_assert(detail::assert_kernel<K>());
  detail::validate_kernel(kernel);
  Pairs<K, typename Derived::Scalar> pairs;
  pairs.measure(kernel, detail::checked_points("gram", "X", x));
  return pairs.values();
}

/// The h that the kernel's bandwidth rule chooses for the columns of x.
template <class K, class Derived>
double bandwidth(const K& kernel, const Eigen::MatrixBase<Derived>& x) {
  static_assert(detail::assert_kernel<K>());
  detail::validate_kernel(kernel);
  Pairs<K, typename Derived::Scalar> pairs;
  pairs.measure(kernel, detail::checked_points("bandwidth", "X", x));
  return pairs.bandwidth();
}

}  // namespace repel
