// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/types.hpp>
#include <repel/density/check_gradient.hpp>

#include <cmath>
#include <string>

namespace repel {

/// Whether particles can be a sample of the density whose gradients they have, by Stein's identities of first order:
/// E[s_l] = 0, E[(x − x̄)_k s_l] = −δ_kl and T = 1, each within its own sampling error. For particles after a run, or draws
/// from elsewhere. What it cannot see is what T cannot (linalg/virial.hpp).
template <class Target, class Derived>
GradientCheck check_stein(Target&& target, const Eigen::MatrixBase<Derived>& particles) {
  using P = Matrix<typename Derived::Scalar>;
  const P x = particles;
  detail::require_points("check_stein", "particles", x);
  if (x.cols() < 10) detail::fail("check_stein", "particles has ", x.cols(), " columns, but must have at least 10");
  P g;
  detail::resize_unwritten(g, x.rows(), x.cols());
  target(x, g);
  detail::require_same_shape("check_stein", "the gradient written by the target", g, "particles", x);
  detail::require_usable("check_stein", "the gradient", g);
  const Index d = x.rows(), n = x.cols();
  const auto count = static_cast<double>(n);
  const Matrix<double> s = g.template cast<double>();
  Matrix<double> c = x.template cast<double>();
  c.colwise() -= c.rowwise().mean().eval();
  // A deviation of z standard errors, by chance once in 100 runs for all d + d² averages together (Bonferroni).
  const double averages = static_cast<double>(d) * static_cast<double>(d + 1);
  const double most = std::sqrt(2 * std::log(100 * averages));
  GradientCheck out;
  out.error = -1;
  const auto weigh = [&](const auto& products, double expected, Index k, Index l) {
    const double mean = products.mean();
    const double sd = std::sqrt((products.array() - mean).square().sum() / (count - 1));
    const double size = k < 0 ? sd : 1.0;  // what counts: a tenth of the particles' own spread
    const double error = std::abs(mean - expected) / (most * sd / std::sqrt(count) + 0.1 * size);
    if (error > out.error) out = {.coordinate = l, .other = k, .value = mean, .expected = expected, .error = error};
  };
  weigh((c.cwiseProduct(s).colwise().sum() / static_cast<double>(d)).eval(), -1, 0, -1);  // −T, the least noisy
  for (Index l = 0; l < d; ++l) {
    weigh(s.row(l).eval(), 0, -1, l);
    for (Index k = 0; k < d; ++k) weigh(c.row(k).cwiseProduct(s.row(l)).eval(), k == l ? -1 : 0, k, l);
  }
  out.passed = out.error <= 1;
  out.message =
      out.passed           ? std::string("Stein's identities hold, as for a sample")
      : out.coordinate < 0 ? detail::concat("the particles have the temperature ", -out.value, ", but a sample has 1")
      : out.other < 0
          ? detail::concat("the gradient of coordinate ", out.coordinate, " has the mean ", out.value,
                           " over the particles, but 0 over a sample: they are not in the middle")
          : detail::concat("the mean of (x - mean) of coordinate ", out.other, " times the gradient of coordinate ",
                           out.coordinate, " is ", out.value, ", but ", out.expected, " for a sample");
  return out;
}

}  // namespace repel
