// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/product.hpp>
#include <repel/pairwise/sweep.hpp>

#include <concepts>
#include <type_traits>

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
// v's, and a column per target; vectors are resized.

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

/// s_j = Σ_i k_ij
template <class Scalar>
SumsTerm<Scalar> sums(Vector<Scalar>& out) {
  return {out};
}
/// out_j = Σ_i k_ij v_i, that is V K, for any m×n matrix v
template <class V, class Out>
ProductTerm<typename Out::Scalar> product(const V& v, Out& out) {
  return {v, out};
}
/// out_j = Σ_i ∇_{y_j} k_ij
template <class Out>
GradientTerm<typename Out::Scalar> gradient(Out& out) {
  return {out};
}
/// out_j = Σ_i (a_i + b_j) ∇_{y_j} k_ij
template <class Out, class Scalar = typename Out::Scalar>
WeightedGradientTerm<Scalar> gradient(Out& out, const Vector<Scalar>& a, const Vector<Scalar>& b) {
  return {out, a, b};
}
/// out_j = ∇_{y_j} log Σ_i k_ij
template <class Out>
LogGradientTerm<typename Out::Scalar> log_gradient(Out& out) {
  return {out};
}
/// out_j = Σ_i ∇_{x_i} k_ij; the paper's G
template <class Out>
SourceGradientTerm<typename Out::Scalar> source_gradient(Out& out) {
  return {out};
}
/// If gradient_norm is not null it receives the mean over the targets of ‖scale Σ_i ∇_{x_i} k_ij‖; in high dimension,
/// where both parts may come from one product, and for Ard kernels, the mean over 4 to 16 of them.
template <class V, class Out>
SteinTerm<typename Out::Scalar> stein(const V& v, typename Out::Scalar scale, Out& out,
                                      double* gradient_norm = nullptr) {
  return {v, scale, out, gradient_norm};
}

}  // namespace repel::pair

namespace repel::detail {

/// Throws unless a term's matrices fit `count` particles of dimension `dim` and so many targets.
template <class Term>
void require_term(const Term& term, Index count, Index dim, Index targets) {
  constexpr const char* where = "Pairs::accumulate";
  if constexpr (requires { term.v; })
    if (term.v.cols() != count)
      fail(where, "v has ", term.v.cols(), " columns, but must have ", count, ", one per particle");
  if constexpr (
      requires { term.out.outerStride(); } && !requires { term.out.setZero(Index{1}); }) {
    Index rows = dim;
    if constexpr (requires { term.v; }) rows = term.v.rows();
    if (term.out.rows() != rows || term.out.cols() != targets)
      fail(where, "out is ", term.out.rows(), "x", term.out.cols(), ", but must be ", rows, "x", targets);
  }
  if constexpr (requires { term.scale; })
    if (term.v.rows() != dim) fail(where, "v has ", term.v.rows(), " rows, but must have ", dim, " like the particles");
  if constexpr (Term::sums.weighted)
    if (term.a.size() != count || term.b.size() != targets)
      fail(where, "a and b have ", term.a.size(), " and ", term.b.size(), " entries, but must have ", count, " and ",
           targets);
}

/// The result of a term for no targets at all.
template <class Term>
void finish_empty(const Term& term) {
  if constexpr (std::same_as<Term, pair::SumsTerm<typename std::remove_cvref_t<decltype(term.out)>::Scalar>>)
    term.out.resize(0);
  if constexpr (requires { term.gradient_norm; })
    if (term.gradient_norm != nullptr) *term.gradient_norm = 0;
}

/// Throws unless other points have the particles' dimension.
inline void require_targets(Index rows, Index dim) {
  if (rows != dim) fail("Pairs", "the targets have ", rows, " rows, but must have ", dim, " like the particles");
}

/// Throws unless first … first + m are some of the particles.
inline void require_some(Index first, Index m, Index count) {
  if (first < 0 || m < 0 || first + m > count)
    fail("Pairs::accumulate_some", "first and m are ", first, " and ", m, ", but must name some of the ", count,
         " particles");
}

}  // namespace repel::detail
