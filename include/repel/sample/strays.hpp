// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/sample/arrival.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

// Strays: particles at places where the posterior has no mass worth a particle, such as a local mode that is lower by
// hundreds of units of log p, or a flat tail. A gradient says nothing of heights; its integral along a line does,
// log p(b) − log p(a) = ∫ s(a + t (b − a)) · (b − a) dt. So from one particle in the middle a line goes to each of the
// others. A normal density has log p of draws within about √(d/2) of each other; a particle lower than the upper
// quartile by d/2 + 6 √(d/2) + 15 is no draw unless its region is larger than the others' by the exponential of that,
// and it starts again between two of the others. Modes of comparable height stay, however far apart they are.

namespace repel::detail {

/// log p at each column of x relative to the column `from`, by Gauss–Legendre quadrature of 16 points on 1, 2, 4 … 16
/// parts, until two agree within 1 + 5 % or `most` gradients are spent. NaN where they do not agree, or where a gradient
/// on the way is not finite: a place whose height cannot be measured is no place to send others to.
template <class Target>
std::vector<double> heights(CountedTarget<Target>& target, const Matrix<double>& x, Index from, Index most) {
  const Index last_gradient = target.count() + most;
  static constexpr std::array<double, 8> nodes{0.0950125098376374, 0.2816035507792589, 0.4580167776572274,
                                               0.6178762444026438, 0.7554044083550030, 0.8656312023878318,
                                               0.9445750230732326, 0.9894009349916499};
  static constexpr std::array<double, 8> weights{0.1894506104550685, 0.1826034150449236, 0.1691565193950025,
                                                 0.1495959888165767, 0.1246289712555339, 0.0951585116824928,
                                                 0.0622535239386479, 0.0271524594117541};
  const Index n = x.cols();
  std::vector<double> height(static_cast<std::size_t>(n), 0.0), last(height.size(), 1e300);
  std::vector<Index> open;
  for (Index j = 0; j < n; ++j)
    if (j != from) open.push_back(j);
  Matrix<double> lines, points, gradients;
  for (Index parts = 1; parts <= 16 && !open.empty(); parts *= 2) {
    const auto m = static_cast<Index>(open.size());
    if (parts > 1 && target.count() + 16 * parts * m > last_gradient) break;
    lines.resize(x.rows(), m);
    for (Index a = 0; a < m; ++a) lines.col(a) = x.col(open[static_cast<std::size_t>(a)]) - x.col(from);
    Vector<double> sums = Vector<double>::Zero(m);
    for (Index part = 0; part < parts; ++part)
      for (std::size_t k = 0; k < 16; ++k) {
        const double node = k < 8 ? -nodes[k] : nodes[k - 8];
        const double t = (static_cast<double>(part) + 0.5 + 0.5 * node) / static_cast<double>(parts);
        points = (t * lines).colwise() + x.col(from);
        target(points, gradients);
        sums += 0.5 * weights[k % 8] / static_cast<double>(parts) *
                gradients.cwiseProduct(lines).colwise().sum().transpose();
      }
    std::vector<Index> still;
    for (Index a = 0; a < m; ++a) {
      const auto j = static_cast<std::size_t>(open[static_cast<std::size_t>(a)]);
      height[j] = std::isfinite(sums(a)) ? sums(a) : std::numeric_limits<double>::quiet_NaN();
      if (std::isnan(height[j])) continue;
      if (std::abs(sums(a) - last[j]) > 1 + 0.05 * std::abs(sums(a)))
        still.push_back(open[static_cast<std::size_t>(a)]);
      last[j] = sums(a);
    }
    open = std::move(still);
  }
  for (const Index j : open) height[static_cast<std::size_t>(j)] = std::numeric_limits<double>::quiet_NaN();
  return height;
}

/// The particle closest to the medians of all coordinates, in units of their median deviations.
template <class Scalar>
Index middle_of(const Matrix<Scalar>& x) {
  std::vector<Scalar> values(static_cast<std::size_t>(x.cols()));
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  Vector<Scalar> distance = Vector<Scalar>::Zero(x.cols());
  for (Index k = 0; k < x.rows(); ++k) {
    for (Index j = 0; j < x.cols(); ++j) values[static_cast<std::size_t>(j)] = x(k, j);
    std::nth_element(values.begin(), half, values.end());
    const Scalar median = *half;
    for (Scalar& v : values) v = std::abs(v - median);
    std::nth_element(values.begin(), half, values.end());
    const Scalar width = *half > 0 ? *half : 1;
    for (Index j = 0; j < x.cols(); ++j) distance(j) += std::pow((x(k, j) - median) / width, 2);
  }
  Index out = 0;
  distance.minCoeff(&out);
  return out;
}

/// Moves strays between two of the others, with at most `most` gradients (16 for each particle at least); returns how
/// many there were.
template <class Target>
Index gather_strays(CountedTarget<Target>& target, Matrix<double>& x, std::uint64_t seed, Index most) {
  const Index n = x.cols();
  if (n < 4) return 0;
  const std::vector<double> height = heights(target, x, middle_of(x), most);
  std::vector<double> known;
  for (const double h : height)
    if (std::isfinite(h)) known.push_back(h);
  const auto quartile = known.begin() + static_cast<std::ptrdiff_t>(known.size() * 3 / 4);
  std::nth_element(known.begin(), quartile, known.end());
  const double half = static_cast<double>(x.rows()) / 2, least = *quartile - (half + 6 * std::sqrt(half) + 15);
  std::vector<Index> good, stray;
  for (Index j = 0; j < n; ++j) (height[static_cast<std::size_t>(j)] >= least ? good : stray).push_back(j);
  Random random(seed);
  const auto pick = [&] {
    const auto at = static_cast<std::size_t>(random.uniform() * static_cast<double>(good.size()));
    return good[std::min(at, good.size() - 1)];
  };
  for (const Index j : stray) {
    const Index a = pick(), b = pick();
    const double t = random.uniform() / 2;
    x.col(j) = (1 - t) * x.col(a) + t * x.col(b);
  }
  return static_cast<Index>(stray.size());
}

}  // namespace repel::detail
