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

/// What coordinates may be.
template <class Scalar>
concept Real = std::same_as<Scalar, float> || std::same_as<Scalar, double>;

/// The buffers of a policy that needs none.
struct Empty {};

}  // namespace repel
