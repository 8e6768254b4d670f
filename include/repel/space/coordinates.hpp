// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/product.hpp>
#include <repel/optim/optimiser.hpp>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

// Coordinates: in which units the particles of weight space interact and move. A kernel with one bandwidth, and an
// optimiser with one learning rate, suit a posterior that is about as wide in every direction; coordinates make it so.
// The rule and the optimiser see z with x = m + L z, the user's target and the state see x.
//
//   coordinates::AsGiven{}        L = I, the default
//   coordinates::Standardised{}   L diagonal: L_k⁴ = var(x_k) / var(s_k), s = ∇ log p
//   coordinates::Whitened{}       L Lᵀ = Cov(x) # Cov(s)⁻¹, their geometric mean; where n < 2d, as Standardised
//
//   auto sampler = repel::weight_space(target, repel::Svgd{}, repel::Adam{.learning_rate = 0.05},
//                                      repel::coordinates::Whitened{});
//
// For a normal posterior s = −Σ⁻¹(x − μ), so Cov(s) = Σ⁻¹ Cov(x) Σ⁻¹ and the geometric mean is Σ wherever the particles
// are, and however close together (the mass matrix of nutpie). L is symmetric up to the units of the coordinates, so that
// z_k stays as close to x_k as it can be.
//
// L is renewed at steps 0, 1, 2, …, 10, 11, …, 20, 22, 24, …: after a tenth of the steps taken, each time from the
// particles and gradients of one step, up to step `until`. What the optimiser remembers is carried over as if it had
// always seen the new coordinates: sums of directions are gradients, d/dz = Lᵀ d/dx; squares of them as if entries were
// independent. Gradients far from normal, of particles that are on their way, make a poor L; it is bounded by the
// particles' own, and passes.
//
// Norms in StepInfo are those of z; T does not depend on coordinates.

namespace repel {

namespace coordinates {

/// As they are; the default.
struct AsGiven {};

/// A scale for each coordinate, learned from particles and gradients.
struct Standardised {
  Index until = std::numeric_limits<Index>::max();  ///< adapt up to this step
  static constexpr bool whole = false;              ///< one length per coordinate
  void validate() const {
    if (until < 0) detail::fail("coordinates::Standardised", "until is ", until, ", but must be at least 0");
  }
};

/// Scales and correlations learned, so that the posterior is about as wide in every direction.
struct Whitened {
  Index until = std::numeric_limits<Index>::max();  ///< adapt up to this step
  static constexpr bool whole = true;               ///< a whole matrix
  void validate() const {
    if (until < 0) detail::fail("coordinates::Whitened", "until is ", until, ", but must be at least 0");
  }
};

}  // namespace coordinates

/// A policy for the coordinates of weight_space.
template <class C>
concept Coordinates = std::same_as<C, coordinates::AsGiven> || std::same_as<C, coordinates::Standardised> ||
    std::same_as<C, coordinates::Whitened>;

namespace detail {

/// Whether coordinates are renewed at this step.
inline bool renews(Index step) {
  Index at = 0;
  while (at < step) at += std::max<Index>(1, at / 10);
  return at == step;
}

/// x = centre + L z. L is diag(scale), or to_x where there is one.
template <class Scalar>
struct Frame {
  Vector<Scalar> centre, scale;
  Matrix<Scalar> to_x, to_z;  ///< L and L⁻¹; empty if L is diagonal

  Frame(Index d, bool whole) : centre(Vector<Scalar>::Zero(d)), scale(Vector<Scalar>::Ones(d)) {
    if (!whole) return;
    to_x = Matrix<Scalar>::Identity(d, d);
    to_z = to_x;
  }
  bool whole() const { return to_x.size() > 0; }

  /// z = L⁻¹ (x − centre)
  template <class X>
  void enter(const X& x, Matrix<Scalar>& work, Matrix<Scalar>& z) const {
    Matrix<Scalar>& centred = whole() ? work : z;
    centred.resize(x.rows(), x.cols());
    for (Index j = 0; j < x.cols(); ++j) centred.col(j) = x.col(j) - centre;
    if (whole()) {
      z.resize(x.rows(), x.cols());
      product<Scalar>(to_z, work, z);
    } else {
      for (Index j = 0; j < z.cols(); ++j) z.col(j).array() /= scale.array();
    }
  }
  /// x = centre + L z
  template <class X>
  void leave(const Matrix<Scalar>& z, Matrix<Scalar>& work, X& x) const {
    if (whole()) {
      work.resize(z.rows(), z.cols());
      product<Scalar>(to_x, z, work);
      for (Index j = 0; j < x.cols(); ++j) x.col(j) = work.col(j) + centre;
    } else {
      for (Index j = 0; j < x.cols(); ++j) x.col(j) = z.col(j).cwiseProduct(scale) + centre;
    }
  }
  /// Gradients: d/dz = Lᵀ d/dx, and back.
  template <class S>
  void pull(const S& s, Matrix<Scalar>& work, Matrix<Scalar>& out) const {
    through(s, to_x, work, out, [&](auto column) { column.array() *= scale.array(); });
  }
  template <class S>
  void push(const S& s, Matrix<Scalar>& work, Matrix<Scalar>& out) const {
    through(s, to_z, work, out, [&](auto column) { column.array() /= scale.array(); });
  }

 private:
  template <class S, class Scale>
  void through(const S& s, const Matrix<Scalar>& map, Matrix<Scalar>& work, Matrix<Scalar>& out,
               const Scale& diagonal) const {
    out.resize(s.rows(), s.cols());
    if (whole()) {
      work = s;
      transposed_product<Scalar>(map, work, out);
    } else {
      for (Index j = 0; j < s.cols(); ++j) {
        out.col(j) = s.col(j);
        diagonal(out.col(j));
      }
    }
  }
};

/// What a sampler with coordinates remembers: the optimiser's memory about z, and the frame.
template <class Inner, class Scalar>
struct FramedMemory {
  Inner inner;
  Frame<Scalar> frame;

  auto fields() {
    return std::tuple_cat(inner_fields(inner), std::tie(frame.centre, frame.scale, frame.to_x, frame.to_z));
  }
  auto fields() const {
    return std::tuple_cat(inner_fields(inner), std::tie(frame.centre, frame.scale, frame.to_x, frame.to_z));
  }

 private:
  template <class M>
  static auto inner_fields(M& memory) {
    if constexpr (requires { memory.fields(); })
      return memory.fields();
    else if constexpr (requires { memory.data(), memory.rows(), memory.cols(); })
      return std::tie(memory);
    else
      return std::tuple<>{};
  }
};

/// L with L Lᵀ = A # B⁻¹ for A = C Cᵀ and B = S Sᵀ. By A = F Fᵀ and B = H Hᵀ from QR decompositions of Cᵀ and Sᵀ, and
/// Hᵀ F = U D Vᵀ: A # B⁻¹ = F (Fᵀ B F)^−½ Fᵀ = F V D⁻¹ Vᵀ Fᵀ. The covariances themselves are never formed: for a normal
/// posterior with standard deviations in the ratio r their product has eigenvalues in the ratio r⁴, D has r². Singular
/// values are held above 1e-14 of the largest. V and D are the eigenvectors (v, u) and positive eigenvalues of the
/// symmetric matrix of M = Hᵀ F and Mᵀ beside its diagonal: as precise as Eigen's singular value decomposition, which
/// takes a third of a program's time to compile.
template <class Scalar>
Matrix<Scalar> geometric_mean_factor(const Matrix<Scalar>& c, const Matrix<Scalar>& s) {
  const auto factor = [](const Matrix<Scalar>& data) -> Matrix<Scalar> {
    const Eigen::HouseholderQR<Matrix<Scalar>> qr(data.transpose());
    return qr.matrixQR().topRows(data.rows()).template triangularView<Eigen::Upper>().transpose();
  };
  const Index d = c.rows();
  const Matrix<Scalar> f = factor(c);
  Matrix<Scalar> both = Matrix<Scalar>::Zero(2 * d, 2 * d);
  both.bottomLeftCorner(d, d).noalias() = factor(s).transpose() * f;
  const Eigen::SelfAdjointEigenSolver<Matrix<Scalar>> eigen(both);  // values ascend, and it reads the lower triangle
  const auto values = eigen.eigenvalues().tail(d);
  const Matrix<Scalar> v = eigen.eigenvectors().topRightCorner(d, d).colwise().normalized();
  return f * v * values.cwiseMax(Scalar(1e-14) * values(d - 1)).cwiseSqrt().cwiseInverse().asDiagonal();
}

/// Renews the frame from particles x and gradients s, and carries over what the optimiser remembers, by map(a, m), which
/// makes a m of m. A frame that is not finite is not taken.
template <class X, class S, class Inner, class Scalar, class Map>
void renew(const X& x, const S& s, FramedMemory<Inner, Scalar>& memory, const Map& apply) {
  const Index d = x.rows(), n = x.cols();
  if (n < 3) return;
  Frame<Scalar>& frame = memory.frame;
  Vector<double> unit(d);
  const Vector<double> mean_x = x.template cast<double>().rowwise().mean(),
                       mean_s = s.template cast<double>().rowwise().mean();
  for (Index k = 0; k < d; ++k) {
    const double vx = (x.row(k).template cast<double>().array() - mean_x(k)).square().sum(),
                 vs = (s.row(k).template cast<double>().array() - mean_s(k)).square().sum();
    const double found = std::sqrt(std::sqrt(vx / vs));
    unit(k) = std::isfinite(found) && found > 0 ? found : static_cast<double>(frame.scale(k));
  }
  Frame<Scalar> next(d, false);
  next.centre = mean_x.template cast<Scalar>();
  next.scale = unit.template cast<Scalar>();
  if (frame.whole()) {
    Matrix<double> c = x.template cast<double>(), cs = s.template cast<double>();
    c.colwise() -= mean_x;
    cs.colwise() -= mean_s;
    c = (unit.cwiseInverse().asDiagonal() * c).eval();
    cs = (unit.asDiagonal() * cs).eval();
    const Matrix<double> factor = geometric_mean_factor<double>(c, cs), metric = factor * factor.transpose();
    const Vector<double> width = metric.diagonal().cwiseSqrt();
    const Eigen::SelfAdjointEigenSolver<Matrix<double>> correlation(width.cwiseInverse().asDiagonal() * metric *
                                                                    width.cwiseInverse().asDiagonal());
    const Vector<double> whole = unit.cwiseProduct(width);
    next.to_x = (whole.asDiagonal() * correlation.operatorSqrt()).template cast<Scalar>();
    next.to_z = (correlation.operatorInverseSqrt() * whole.cwiseInverse().asDiagonal()).template cast<Scalar>();
  }
  if (!next.centre.allFinite() || !next.scale.allFinite() || !next.to_x.allFinite() || !next.to_z.allFinite()) return;
  if constexpr (
      requires { memory.inner.change_frame(0, 0); } ||
      requires { memory.inner.change_frame([](auto&) {}, [](auto&) {}); }) {
    if (frame.whole()) {
      const Matrix<Scalar> map = next.to_x.transpose() * frame.to_z.transpose();  // of gradients
      const Matrix<Scalar> squares = map.cwiseAbs2();
      memory.inner.change_frame([&](auto& m) { apply(map, m); }, [&](auto& m) { apply(squares, m); });
    } else {
      const Vector<Scalar> map = next.scale.cwiseQuotient(frame.scale);
      memory.inner.change_frame([&](auto& m) { m = (map.asDiagonal() * m).eval(); },
                                [&](auto& m) { m = (map.cwiseAbs2().asDiagonal() * m).eval(); });
    }
  }
  frame = std::move(next);
}
template <class X, class S, class Inner, class Scalar>
void renew(const X& x, const S& s, FramedMemory<Inner, Scalar>& memory) {
  renew(x, s, memory, [](const Matrix<Scalar>& map, auto& m) { m = (map * m).eval(); });
}

}  // namespace detail

}  // namespace repel
