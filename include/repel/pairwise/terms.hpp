#pragma once

#include <repel/core/types.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/sweep.hpp>

// What accumulate() of pairs can sum up (pairwise/pairs.hpp). For sources x_1 … x_n and targets y_j, with
// k_ij = k(x_i, y_j):
//
//   pair::sums(s)                  s_j = Σ_i k_ij
//   pair::product(v, out)          out_j = Σ_i k_ij v_i, that is V K, for any m×n matrix v
//   pair::gradient(out)            out_j = Σ_i ∇_{y_j} k_ij
//   pair::gradient(out, a, b)      out_j = Σ_i (a_i + b_j) ∇_{y_j} k_ij
//   pair::log_gradient(out)        out_j = ∇_{y_j} log Σ_i k_ij
//   pair::source_gradient(out)     out_j = Σ_i ∇_{x_i} k_ij; the paper's G
//   pair::stein(v, scale, out)     out_j = scale Σ_i (k_ij v_i + ∇_{x_i} k_ij)
//
// A term refers to its matrices, so out is mutable in a const term. Matrices must have their shape already, d rows or
// v's, and a column per target; vectors are given theirs.

namespace repel::pair {

template <class Scalar>
struct SumsTerm {
  static constexpr detail::Sums sums{.values = true};
  Vector<Scalar>& out;
};

template <class Scalar>
struct ProductTerm {
  static constexpr detail::Sums sums{.product = true};
  detail::In<Scalar> v;
  mutable detail::Out<Scalar> out;
};

template <class Scalar>
struct GradientTerm {
  static constexpr detail::Sums sums{.gradient = true};
  mutable detail::Out<Scalar> out;
};

template <class Scalar>
struct WeightedGradientTerm {
  static constexpr detail::Sums sums{.gradient = true, .weighted = true};
  mutable detail::Out<Scalar> out;
  const Vector<Scalar>&a, &b;
};

template <class Scalar>
struct LogGradientTerm {
  static constexpr detail::Sums sums{.values = true, .gradient = true};
  mutable detail::Out<Scalar> out;
};

template <class Scalar>
struct SourceGradientTerm {
  static constexpr detail::Sums sums{.gradient = true};
  mutable detail::Out<Scalar> out;
};

template <class Scalar>
struct SteinTerm {
  static constexpr detail::Sums sums{.gradient = true, .product = true};
  detail::In<Scalar> v;
  Scalar scale;
  mutable detail::Out<Scalar> out;
  double* gradient_norm;
};

template <class Scalar>
SumsTerm<Scalar> sums(Vector<Scalar>& out) {
  return {out};
}
template <class V, class Out>
ProductTerm<typename Out::Scalar> product(const V& v, Out& out) {
  return {v, out};
}
template <class Out>
GradientTerm<typename Out::Scalar> gradient(Out& out) {
  return {out};
}
template <class Out, class Scalar = typename Out::Scalar>
WeightedGradientTerm<Scalar> gradient(Out& out, const Vector<Scalar>& a, const Vector<Scalar>& b) {
  return {out, a, b};
}
template <class Out>
LogGradientTerm<typename Out::Scalar> log_gradient(Out& out) {
  return {out};
}
template <class Out>
SourceGradientTerm<typename Out::Scalar> source_gradient(Out& out) {
  return {out};
}
/// If gradient_norm is not null it receives the mean over the targets of ‖scale Σ_i ∇_{x_i} k_ij‖; in high dimension,
/// where both parts may come from one product, the mean over 4 to 16 of them.
template <class V, class Out>
SteinTerm<typename Out::Scalar> stein(const V& v, typename Out::Scalar scale, Out& out,
                                      double* gradient_norm = nullptr) {
  return {v, scale, out, gradient_norm};
}

}  // namespace repel::pair
