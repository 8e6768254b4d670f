#pragma once

#include <Eigen/Core>

#include <concepts>
#include <type_traits>

namespace repel {

using Index = Eigen::Index;

/// Particles are stored one per column, so a d×n matrix holds n particles of dimension d.
template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

template <class Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

/// Any dense Eigen matrix of real floating-point numbers: MatrixXd, MatrixXf, Matrix<double, 2, Dynamic> …
template <class M>
concept ParticleMatrix = std::derived_from<M, Eigen::MatrixBase<M>> && std::floating_point<typename M::Scalar>;

/// The buffers of a policy that needs none.
struct Empty {};

}  // namespace repel
