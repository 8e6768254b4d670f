// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/function_ref.hpp>
#include <repel/core/team.hpp>
#include <repel/core/types.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

// Order statistics of a stream of distances that is neither stored nor sorted.
//
// A pass over the stream counts what lies below a bracket [a, b] and collects what lies in it. If the counts say that
// the wanted positions are among the collected values, these few are searched, and the answer is exact: the very value
// that sorting everything would give. If not, the counts narrow the search down, and another pass is made. Where the
// bracket comes from does not matter for the result, so it is guessed: from a sample at first, then from the last
// answer, since particles move little in a step. One pass is then enough.

namespace repel::detail {

template <class Scalar>
class StreamingMedian {
 public:
  /// The mean of the values at positions low and high (low ≤ high ≤ low + 1) of `count` non-negative values in order.
  ///   tasks                 how many parts the stream has
  ///   pass(consume)         calls consume(task, values, how_many) for all parts of all tasks; entries of +∞ do not
  ///                         count
  ///   sample(k)             any of the values, for k = 0 … sample_size − 1; used only for guessing
  ///   team                  if given, each of its processes passes over some of the values: counts are added up, and
  ///                         what was collected is put together, so that all get the same answer
  using Consume = FunctionRef<void(Index task, const Scalar* values, Index how_many)>;
  using Pass = FunctionRef<void(Consume)>;
  using Sample = FunctionRef<Scalar(std::size_t)>;

  double middle(std::size_t count, std::size_t low, std::size_t high, Index tasks, Pass pass, Sample sample,
                Team* team = nullptr) {
    team_ = team;
    collected_.resize(static_cast<std::size_t>(tasks));
    if (count <= kCollectAll) return middle_of_all(low, high, pass);
    if (!warm_) guess_from_sample(count, high, sample);
    const Answer upper = select(count, high, low, pass);
    double result = static_cast<double>(upper.value);
    if (low != high) {
      if (upper.has_low) {
        result = 0.5 * (static_cast<double>(upper.low_value) + result);
      } else {  // the bracket ended just between the two
        const Scalar a = a_, b = b_;
        result = 0.5 * (static_cast<double>(select(count, low, low, pass).value) + result);
        a_ = a, b_ = b;
      }
    }
    remember(upper.value, count);
    return result;
  }

 private:
  static constexpr std::size_t kCollectAll = 1000;
  using Bits = std::conditional_t<sizeof(Scalar) == 8, std::uint64_t, std::uint32_t>;

  struct Part {  // of one task; padded so that tasks do not share cache lines
    std::size_t below = 0, inside = 0, stored = 0;
    std::vector<Scalar> values;
    char padding[64];
  };
  struct Answer {
    Scalar value;
    bool has_low;
    Scalar low_value;
  };

  /// How many values may be collected: few beside the particles themselves, √(2 count) of them.
  static std::size_t room(std::size_t count) {
    const auto particles = static_cast<std::size_t>(std::sqrt(2 * static_cast<double>(count)));
    return std::clamp<std::size_t>(count / 50, 4096, std::max<std::size_t>(4096, 64 * particles));
  }

  /// Counts one run of values. `limit` is the room for collected ones.
  static void consume(Part& part, Scalar a, Scalar b, std::size_t limit, const Scalar* values, Index count) {
    namespace simd = Eigen::internal;
    using Packet = typename simd::packet_traits<Scalar>::type;
    constexpr Index P = simd::packet_traits<Scalar>::size;
    const auto keep = [&](Scalar value) {
      if (!(value >= a && value <= b)) return;
      ++part.inside;
      if (part.stored < limit) part.values[part.stored++] = value;
    };
    const Packet low = simd::pset1<Packet>(a), high = simd::pset1<Packet>(b), one = simd::pset1<Packet>(Scalar(1));
    constexpr Index group = 4 * P;                  // tested together for values to keep
    Packet below = simd::pset1<Packet>(Scalar(0));  // whole numbers, exact: a run is short
    const auto inside = [&](Index at) {
      const Packet u = simd::ploadu<Packet>(values + at);
      const Packet is_below = simd::pcmp_lt(u, low);
      below = simd::padd(below, simd::pand(is_below, one));
      return simd::pandnot(simd::pcmp_le(u, high), is_below);
    };
    Index i = 0;
    for (; i + group <= count; i += group) {
      const Packet any =
          simd::por(simd::por(inside(i), inside(i + P)), simd::por(inside(i + 2 * P), inside(i + 3 * P)));
      if (simd::predux(simd::pand(any, one)) > 0)
        for (Index k = i; k < i + group; ++k) keep(values[k]);
    }
    for (; i + P <= count; i += P)
      if (simd::predux(simd::pand(inside(i), one)) > 0)
        for (Index k = i; k < i + P; ++k) keep(values[k]);
    part.below += static_cast<std::size_t>(simd::predux(below));
    for (; i < count; ++i) {
      part.below += static_cast<std::size_t>(values[i] < a);
      keep(values[i]);
    }
  }

  struct Counts {
    std::size_t below = 0, inside = 0, stored = 0;
  };

  Counts count_and_collect(Scalar a, Scalar b, std::size_t limit, Pass pass) {
    for (Part& part : collected_) {
      part.below = part.inside = part.stored = 0;
      if (part.values.size() < limit) part.values.resize(limit);
    }
    pass([&](Index task, const Scalar* values, Index how_many) {
      consume(collected_[static_cast<std::size_t>(task)], a, b, limit, values, how_many);
    });
    Counts all;
    for (const Part& part : collected_) all.below += part.below, all.inside += part.inside, all.stored += part.stored;
    return team_ == nullptr ? all : of_team(all);
  }

  /// The counts of all processes.
  Counts of_team(const Counts& own) {
    const auto members = static_cast<std::size_t>(team_->size()), me = static_cast<std::size_t>(team_->rank());
    team_counts_.resize(members);
    team_stored_.assign(members, 1);
    team_counts_[me] = own;
    team_->gather(team_counts_.data(), sizeof(Counts), team_stored_.data());
    Counts all;
    for (std::size_t r = 0; r < members; ++r) {
      const Counts& each = team_counts_[r];
      all.below += each.below, all.inside += each.inside, all.stored += each.stored;
      team_stored_[r] = static_cast<Index>(each.stored);
    }
    return all;
  }

  double middle_of_all(std::size_t low, std::size_t high, Pass pass) {
    count_and_collect(0, std::numeric_limits<Scalar>::max(), kCollectAll, pass);
    gather();
    if (high >= gathered_.size()) fail("bandwidth", "the distances between the particles are not all numbers");
    const auto at = gathered_.begin() + static_cast<std::ptrdiff_t>(high);
    std::nth_element(gathered_.begin(), at, gathered_.end());
    if (low == high) return static_cast<double>(*at);
    return 0.5 * (static_cast<double>(*std::max_element(gathered_.begin(), at)) + static_cast<double>(*at));
  }

  void gather() {
    gathered_.clear();
    gathered_.reserve(collected_.size() * collected_.front().values.size());
    if (team_ != nullptr)  // room for what comes from processes before this one
      gathered_.resize(static_cast<std::size_t>(
          std::accumulate(team_stored_.begin(), team_stored_.begin() + team_->rank(), Index{0})));
    for (const Part& part : collected_)
      gathered_.insert(gathered_.end(), part.values.begin(),
                       part.values.begin() + static_cast<std::ptrdiff_t>(part.stored));
    if (team_ == nullptr) return;
    gathered_.resize(static_cast<std::size_t>(std::accumulate(team_stored_.begin(), team_stored_.end(), Index{0})));
    team_->gather(gathered_.data(), sizeof(Scalar), team_stored_.data());
  }

  /// The value at `position`, and the one before it, at `other`, if it is available.
  Answer select(std::size_t count, std::size_t position, std::size_t other, Pass pass) {
    Scalar from = 0, to = std::numeric_limits<Scalar>::max();  // the value is known to lie between these
    const std::size_t limit = room(count) / collected_.size() + 1024;
    for (int attempt = 0;; ++attempt) {
      if (!(from <= to) || attempt > 300) fail("bandwidth", "the distances between the particles are not all numbers");
      Scalar a = std::clamp(a_, from, to), b = std::clamp(b_, a, to);
      if (attempt > 6) {  // guessing has failed: bisect what is left, by the bit patterns of the numbers
        a = from;
        b = std::bit_cast<Scalar>(std::midpoint(std::bit_cast<Bits>(from), std::bit_cast<Bits>(to)));
      }
      const auto [below, inside, stored] = count_and_collect(a, b, limit, pass);
      const Scalar width = std::max(b - a, b * std::numeric_limits<Scalar>::epsilon());
      // How far a miss by this many places is, if the values are as dense there as in the bracket.
      const auto distance = [&, values = inside](std::size_t places) {
        return static_cast<Scalar>(static_cast<double>(places) * static_cast<double>(width) /
                                   static_cast<double>(std::max<std::size_t>(values, 1)));
      };
      if (position < below) {
        to = std::nextafter(a, Scalar(0));
        const Scalar miss = distance(below - position);
        a_ = std::max<Scalar>(0, a - Scalar(1.3) * miss - width), b_ = std::min(to, a - Scalar(0.7) * miss + width);
      } else if (position >= below + inside) {
        from = std::nextafter(b, std::numeric_limits<Scalar>::max());
        const Scalar miss = distance(position + 1 - below - inside);
        a_ = std::max(from, b + Scalar(0.7) * miss - width), b_ = b + Scalar(1.3) * miss + width;
      } else if (stored == inside || a == b) {
        if (a == b) return {a, other >= below, a};
        gather();
        const auto at = gathered_.begin() + static_cast<std::ptrdiff_t>(position - below);
        std::nth_element(gathered_.begin(), at, gathered_.end());
        density_ = static_cast<double>(inside) / static_cast<double>(width);
        if (other == position) return {*at, true, *at};
        if (other < below) return {*at, false, 0};
        return {*at, true, *std::max_element(gathered_.begin(), at)};
      } else {  // too many to collect: those that were collected tell where to look
        from = a, to = b;
        gather();
        const double fraction = static_cast<double>(position - below) / static_cast<double>(inside);
        const double margin = 0.1 / std::sqrt(std::sqrt(static_cast<double>(stored)));
        const auto last = static_cast<double>(stored - 1);
        bracket(static_cast<std::ptrdiff_t>((fraction - margin) * last),
                static_cast<std::ptrdiff_t>((fraction + margin) * last));
      }
    }
  }

  void guess_from_sample(std::size_t count, std::size_t position, Sample sample) {
    const std::size_t size = std::clamp<std::size_t>(count / 500, 1024, 1 << 20);
    gathered_.resize(size);
    for (std::size_t k = 0; k < size; ++k) gathered_[k] = sample(k);
    const auto at = static_cast<std::ptrdiff_t>(static_cast<double>(position) / static_cast<double>(count) *
                                                static_cast<double>(size));
    const auto margin =
        static_cast<std::ptrdiff_t>(1.5 * std::sqrt(static_cast<double>(size)));  // three standard deviations
    bracket(at - margin, at + margin);
  }

  /// The bracket from what is gathered: the values at these positions in order, or the first and the last of all.
  void bracket(std::ptrdiff_t low, std::ptrdiff_t high) {
    const auto pick = [&](std::ptrdiff_t k) {
      const auto at =
          gathered_.begin() + std::clamp<std::ptrdiff_t>(k, 0, static_cast<std::ptrdiff_t>(gathered_.size()) - 1);
      std::nth_element(gathered_.begin(), at, gathered_.end());
      return *at;
    };
    a_ = pick(low), b_ = pick(high);
  }

  /// The bracket for the next call, around where the answer is heading.
  void remember(Scalar value, std::size_t count) {
    // As wide as the answer has moved, but with at least a few values in it and no more than there is room for.
    const auto most = 0.25 * static_cast<double>(room(count)),
               least = std::min(most, 16 + static_cast<double>(count) / 1e4);
    const Scalar moved = warm_ ? value - last_ : Scalar(0);
    const double wanted = warm_ ? std::clamp(2 * density_ * std::abs(static_cast<double>(moved)), least, most) : most;
    const auto half = static_cast<Scalar>(0.5 * wanted / density_);
    if (!std::isfinite(half) || !(density_ > 0)) {
      warm_ = false;
      return;
    }
    a_ = std::max<Scalar>(0, value + moved - half),
    b_ = std::min(value + moved + half, std::numeric_limits<Scalar>::max() / 8);
    if (!(a_ <= b_)) a_ = 0;
    last_ = value;
    warm_ = true;
  }

  std::vector<Part> collected_;
  std::vector<Scalar> gathered_;
  Team* team_ = nullptr;
  std::vector<Counts> team_counts_;
  std::vector<Index> team_stored_;  ///< how many values each process has collected
  bool warm_ = false;
  Scalar a_ = 0, b_ = 0, last_ = 0;
  double density_ = 0;
};

}  // namespace repel::detail
