// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/random.hpp>
#include <repel/core/types.hpp>
#include <repel/hmc/leapfrog.hpp>
#include <repel/hmc/state.hpp>
#include <repel/hmc/target.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

// The transition of the No-U-Turn sampler, multinomial as in Betancourt (2017, A Conceptual Introduction to Hamiltonian
// Monte Carlo, appendix A) and Stan: a trajectory is doubled, forwards or backwards in time at random, until it turns
// back on itself, and one of its points is chosen, point z with a probability in proportion to exp(−H(z)). Among the
// points of a doubling the choice is exactly that; between it and the trajectory so far the doubling is favoured
// (biased progressive sampling, A.3.2), which leaves the posterior invariant and moves farther.
//
// The doublings are binary trees whose leaves are the leapfrog steps, and every subtree must be free of a U-turn. The
// recursion is unrolled (Phan, Pradhan & Jankowiak 2019, Composable effects, appendix A): leaves come one after the
// other, and of the open subtrees only the first momentum and the sum of momenta up to it are kept, at most max_depth of
// them. So all chains take one leapfrog step together, in a matrix of the chains whose trees still grow.

namespace repel {

namespace detail {

/// log(exp(a) + exp(b)) of finite numbers.
inline double log_add(double a, double b) { return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b))); }

/// Whether a trajectory has turned back on itself, from the momenta at its ends and their sum ρ over all its points: it
/// has not while the velocities at both ends point along ρ (Betancourt 2017, A.4.2). The ends count half in ρ: times the
/// step size that is the trapezoidal rule for ∫p dt = M (q⁺ − q⁻), the distance that Hoffman & Gelman (2014) ask for.
template <class First, class Last, class Sum>
bool turns(const Vector<double>& variances, const First& first, const Last& last, const Sum& sum) {
  double at_first = 0, at_last = 0;
  for (Index i = 0; i < variances.size(); ++i) {
    const auto a = static_cast<double>(first.coeff(i)), b = static_cast<double>(last.coeff(i));
    const double along = variances.coeff(i) * (static_cast<double>(sum.coeff(i)) - 0.5 * (a + b));
    at_first += along * a;
    at_last += along * b;
  }
  return !(at_first > 0 && at_last > 0);
}

/// One chain's tree while it grows, but for its vectors.
struct Tree {
  std::uint64_t random = 0;     ///< the chain's stream in this iteration
  std::uint64_t drawn = 0;      ///< numbers drawn from it
  double start = 0;             ///< −H at the start
  double weight = 0;            ///< log Σ exp(H(start) − H) over the points of the trajectory so far
  double doubling_weight = 0;   ///< over those of the doubling in hand
  double doubling_density = 0;  ///< log p at the point chosen from it
  double acceptance = 0;        ///< Σ min(1, exp(H(start) − H)) over all leaves
  Index leaves = 0;             ///< of all doublings
  Index depth = 0;              ///< doublings that were completed
  Index leaf = 0;               ///< the next one of the doubling in hand, which has 2^depth

  /// Whether the doubling in hand goes forwards in time: a bit for each.
  bool forwards() const { return ((random >> depth) & 1) != 0; }
  /// True with probability exp(log_chance).
  bool happens(double log_chance) {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    const std::uint64_t bits = scramble(random + golden * ++drawn);
    return std::log((static_cast<double>(bits >> 12) + 0.5) * 0x1p-52) < log_chance;
  }
};

template <class P>
class NutsMove {
  using Scalar = typename P::Scalar;
  /// The chains that still grow: as many columns as there are, whatever the type of the state.
  using Active = Eigen::Matrix<Scalar, P::RowsAtCompileTime, Eigen::Dynamic, P::Options>;
  using Wide = Matrix<Scalar>;

 public:
  /// Memory is allocated when the number of growing chains changes, and not otherwise.
  template <class Target, class Settings>
  void operator()(Target& target, const Settings& settings, const HmcState<P>& s, Moved<P>& moved) {
    begin(settings, s, moved);
    while (!chains_.empty()) {
      const auto m = static_cast<Index>(chains_.size());
      for (Index k = 0; k < m; ++k) {
        const double step = signed_step(s, k);
        kick(0.5 * step, slope_.col(k), momentum_.col(k));
        drift(step, s.variances, momentum_.col(k), position_.col(k));
      }
      values_.resize(m);
      evaluate(target, std::as_const(position_), slope_, values_);
      require_same_shape(Settings::name, "the gradient written by the target", slope_, "the chains", position_);
      require_values(Settings::name, values_, m);
      moved.gradients += m;
      Index kept = 0;
      for (Index k = 0; k < m; ++k) {
        kick(0.5 * signed_step(s, k), slope_.col(k), momentum_.col(k));
        if (!add_leaf(settings.max_depth, s, k, moved)) {
          finish(chain(k), moved);
          continue;
        }
        if (kept < k) copy_column(k, kept);
        chains_[static_cast<std::size_t>(kept++)] = chain(k);
      }
      chains_.resize(static_cast<std::size_t>(kept));
      if (kept > 0 && kept < m)
        for (Active* each : {&position_, &momentum_, &slope_}) each->conservativeResize(Eigen::NoChange, kept);
    }
  }

 private:
  /// An end of the trajectory: 0 the earliest, 1 the latest.
  struct End {
    Wide position, momentum, slope;
  };

  Index chain(Index k) const { return chains_[static_cast<std::size_t>(k)]; }
  Tree& tree(Index c) { return trees_[static_cast<std::size_t>(c)]; }
  double signed_step(const HmcState<P>& s, Index k) {
    const double size = s.step_size(chain(k));
    return tree(chain(k)).forwards() ? size : -size;
  }
  void copy_column(Index from, Index to) {
    for (Active* each : {&position_, &momentum_, &slope_}) each->col(to) = each->col(from);
  }

  template <class Settings>
  void begin(const Settings& settings, const HmcState<P>& s, Moved<P>& moved) {
    const Index d = s.particles.rows(), n = s.particles.cols();
    const auto step = static_cast<std::uint64_t>(s.step);
    position_ = s.particles;
    slope_ = s.gradient;
    momentum_.resize(d, n);
    firsts_.resize(d * settings.max_depth, n);
    sums_before_.resize(d * settings.max_depth, n);
    doubling_sum_.resize(d, n);
    candidate_.resize(d, n);
    candidate_slope_.resize(d, n);
    trees_.assign(static_cast<std::size_t>(n), Tree{});
    chains_.resize(static_cast<std::size_t>(n));
    for (Index c = 0; c < n; ++c) {
      draw_momentum(settings.seed, step, c, s.variances, draw_, momentum_.col(c));
      chains_[static_cast<std::size_t>(c)] = c;
      tree(c).random = stream_seed(settings.seed, step, ~static_cast<std::uint64_t>(c));
      tree(c).start = s.log_density(c) - kinetic_energy(s.variances, momentum_.col(c));
    }
    for (End& end : ends_) {
      end.position = position_;
      end.momentum = momentum_;
      end.slope = slope_;
    }
    sum_ = momentum_;
    moved.particles = s.particles;
    moved.gradient = s.gradient;
    moved.log_density = s.log_density;
  }

  /// Takes the leapfrog step of column k into its chain's tree. False if that ends the tree.
  bool add_leaf(Index max_depth, const HmcState<P>& s, Index k, Moved<P>& moved) {
    const Index c = chain(k);
    Tree& t = tree(c);
    const double gain = values_(k) - kinetic_energy(s.variances, momentum_.col(k)) - t.start;
    const bool usable = std::isfinite(gain) && usable_column(slope_, k);
    ++t.leaves;
    t.acceptance += usable ? std::min(1.0, std::exp(gain)) : 0;
    if (!usable || !(gain > -kDivergence)) {
      ++moved.divergences;
      return false;
    }
    const Index leaf = t.leaf++;
    t.doubling_weight = leaf == 0 ? gain : log_add(t.doubling_weight, gain);
    if (leaf == 0 || t.happens(gain - t.doubling_weight)) {
      candidate_.col(c) = position_.col(k);
      candidate_slope_.col(c) = slope_.col(k);
      t.doubling_density = values_(k);
    }
    if (leaf == 0)
      doubling_sum_.col(c) = momentum_.col(k);
    else
      doubling_sum_.col(c) += momentum_.col(k);
    if (closes_turn(s, k, leaf)) return false;  // without the doubling in hand
    return t.leaf < Index{1} << t.depth || double_up(max_depth, s, k, moved);
  }

  /// A leaf of even number opens subtrees, the smallest of which keeps its place among those open; one of odd number
  /// closes as many as its number has ones at the end. Whether one of these has a U-turn.
  bool closes_turn(const HmcState<P>& s, Index k, Index leaf) {
    const Index c = chain(k), d = s.particles.rows();
    const auto number = static_cast<std::uint64_t>(leaf);
    const Index place = std::popcount(number >> 1);
    if (leaf % 2 == 0) {
      firsts_.col(c).segment(place * d, d) = momentum_.col(k);
      sums_before_.col(c).segment(place * d, d) = doubling_sum_.col(c) - momentum_.col(k);
      return false;
    }
    for (Index i = place; i > place - std::countr_one(number); --i) {
      const auto first = firsts_.col(c).segment(i * d, d);
      if (turns(s.variances, first, momentum_.col(k), doubling_sum_.col(c) - sums_before_.col(c).segment(i * d, d)))
        return true;
    }
    return false;
  }

  /// The doubling is complete: joins it to the trajectory, and begins another unless there is a U-turn now.
  bool double_up(Index max_depth, const HmcState<P>& s, Index k, Moved<P>& moved) {
    const Index c = chain(k);
    Tree& t = tree(c);
    End& end = ends_[t.forwards() ? 1 : 0];
    end.position.col(c) = position_.col(k);
    end.momentum.col(c) = momentum_.col(k);
    end.slope.col(c) = slope_.col(k);
    if (t.happens(t.doubling_weight - t.weight)) {
      moved.particles.col(c) = candidate_.col(c);
      moved.gradient.col(c) = candidate_slope_.col(c);
      moved.log_density(c) = t.doubling_density;
    }
    t.weight = log_add(t.weight, t.doubling_weight);
    sum_.col(c) += doubling_sum_.col(c);
    ++t.depth;
    t.leaf = 0;
    if (turns(s.variances, ends_[0].momentum.col(c), ends_[1].momentum.col(c), sum_.col(c))) return false;
    if (t.depth == max_depth) {
      ++moved.at_max_depth;
      return false;
    }
    const End& next = ends_[t.forwards() ? 1 : 0];
    position_.col(k) = next.position.col(c);
    momentum_.col(k) = next.momentum.col(c);
    slope_.col(k) = next.slope.col(c);
    return true;
  }

  void finish(Index c, Moved<P>& moved) {
    const Tree& t = tree(c);
    moved.acceptance(c) = t.acceptance / static_cast<double>(t.leaves);
    moved.depth += t.depth;
  }

  std::vector<Tree> trees_;             ///< of all chains
  std::vector<Index> chains_;           ///< those that grow: the columns of the next three
  Active position_, momentum_, slope_;  ///< the last leaf
  End ends_[2];                         ///< from here on, of all chains
  Wide sum_, doubling_sum_;             ///< of momenta: over the trajectory, over the doubling in hand
  Wide firsts_, sums_before_;           ///< of the open subtrees: the first momentum, the sum of those before it
  Wide candidate_, candidate_slope_;    ///< chosen from the doubling
  Vector<double> values_, draw_;
};

}  // namespace detail

}  // namespace repel
