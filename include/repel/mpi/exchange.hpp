// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/check.hpp>
#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>
#include <repel/linalg/steady_sum.hpp>
#include <repel/mpi/communicator.hpp>
#include <repel/sampler.hpp>
#include <repel/space/function_space.hpp>
#include <repel/space/weight_space.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

// What processes exchange in a step: where the particles are, and some figures of each for the step's info.

namespace repel::detail {

/// Where the places of all particles are kept: what travels.
template <class SpacePolicy>
struct SpreadPlaces {
  static_assert(
      sizeof(SpacePolicy) == 0,
      "repel::mpi::spread: the sampler's space must be that of weight_space() or function_space(): of another "
      "one it is not known what processes must exchange");
};
template <class Target>
struct SpreadPlaces<WeightSpace<Target>> {
  template <class Buffers>
  static auto& of_all(Buffers& b) {
    return b.particles;
  }
};
template <class Model, class View>
struct SpreadPlaces<FunctionSpace<Model, View>> {
  template <class Buffers>
  static auto& of_all(Buffers& b) {
    return b.all.outputs;
  }
};

/// The columns of all processes, where each has filled in its own.
template <class M>
void gather_columns(Communicator& comm, const std::vector<Index>& counts, M& all, const char* what) {
  comm.gather(all.data(), sizeof(typename M::Scalar) * static_cast<std::size_t>(all.rows()), counts.data(), what);
}

/// A value that is not usable, if there is one.
struct FoundFault {
  Fault fault = Fault::none;
  Index particle = 0;
  bool of_particles = false;  ///< found among the particles or outputs, which are looked at first

  /// Whether some of these values are not usable.
  template <class Values>
  bool look(const Values& values, Fault what, Index first = 0) {
    if (all_usable(values)) return false;
    const Index j = first_unusable_column(values);
    fault = what;
    of_particles = what == Fault::particles;
    for (Index i = 0; i < values.rows(); ++i)
      if (is_unwritten(values(i, j))) fault = Fault::unwritten;
    particle = first + j;
    return true;
  }
  std::int64_t code() const { return 2 * static_cast<std::int64_t>(fault) + (of_particles ? 1 : 0); }
};

/// The fault that a single process would find first.
inline FoundFault first_fault(const std::vector<Notice>& notices) {
  for (const bool of_particles : {true, false})
    for (const Notice& notice : notices)
      if (notice.fault / 2 != 0 && (notice.fault % 2 == 1) == of_particles)
        return {static_cast<Fault>(notice.fault / 2), static_cast<Index>(notice.particle), of_particles};
  return {};
}

/// How many rows places have: those with particles must agree, and be at the same step.
inline Index common_rows(const std::vector<Notice>& notices) {
  Index rows = 0;
  for (std::size_t r = 0; r < notices.size(); ++r) {
    if (notices[r].step != notices[0].step)
      fail("mpi::spread", "the state of process ", r, " is at step ", notices[r].step, ", but must be at step ",
           notices[0].step, " like that of process 0");
    if (notices[r].columns == 0) continue;
    if (rows == 0) rows = static_cast<Index>(notices[r].places);
    if (notices[r].places != rows)
      fail("mpi::spread", "the particles or outputs of process ", r, " have ", notices[r].places,
           " rows, but must have ", rows, " like those of the processes before it");
  }
  return rows;
}

/// Four numbers of every particle, from which all processes form the same StepInfo: norms of driving force and direction,
/// and its part of T (linalg/virial.hpp): with dx = x − x_0, Σ_k T_k = Σ_j [dx_j·s_j − (Σ_i dx_i)·s_j / n].
class Figures {
 public:
  static constexpr Index kEach = 4, kHead = 4;

  template <class Places>
  void begin(const Places& places, Index own, Index first) {
    own_ = own;
    first_ = first;
    const Index d = places.rows(), n = places.cols();
    own_figures_.setZero(kEach, own);
    spread_.setZero(d);
    parallel_tiles(d, kRowTile, static_cast<double>(n), [&](Index row, Index rows) {
      for (Index j = 1; j < n; ++j)
        array_at(spread_.data() + row, rows) +=
            (array_at(&places.coeffRef(row, j), rows) - array_at(&places.coeffRef(row, 0), rows))
                .template cast<double>();
    });
  }

  template <class Places, class S, class Annealed>
  void see_scores(const Places& places, const S& s, const Annealed& annealed) {
    const Index d = places.rows();
    const auto* const origin = &places.coeffRef(0, 0);
    for (Index j = 0; j < own_; ++j) {
      const auto* const x = &places.coeffRef(0, first_ + j);
      const auto* const score = &s.coeffRef(0, j);
      own_figures_(2, j) = steady_sum(
          d, [&](Index k) { return (eight_at(x + k) - eight_at(origin + k)) * eight_at(score + k); },
          [&](Index k) {
            return (static_cast<double>(x[k]) - static_cast<double>(origin[k])) * static_cast<double>(score[k]);
          });
      own_figures_(3, j) = steady_dot(spread_.data(), score, d);
    }
    see_driving(annealed);
  }

  template <class S>
  void see_driving(const S& s) {
    for (Index j = 0; j < own_; ++j) own_figures_(0, j) = norm(s, j);
  }

  template <class Phi>
  void see_directions(const Phi& phi) {
    for (Index j = 0; j < own_; ++j) own_figures_(1, j) = norm(phi, j);
  }

  /// Everyone gets all; throws in all processes if there is an error in one.
  void exchange(Communicator& comm, const std::vector<Index>& counts, FoundFault& fault,
                const std::exception_ptr& error) {
    const std::string message = error ? Communicator::message_of(error) : "";
    sizes_.resize(counts.size());
    Index all = 0, before = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      sizes_[r] = kHead + kEach * counts[r];
      if (static_cast<int>(r) < comm.rank()) before += sizes_[r];
      all += sizes_[r];
    }
    figures_.resize(all);
    double* const mine = figures_.data() + before;
    mine[0] = static_cast<double>(message.size());
    mine[1] = static_cast<double>(fault.code());
    mine[2] = static_cast<double>(fault.particle);
    mine[3] = 0;
    std::copy_n(own_figures_.data(), own_figures_.size(), mine + kHead);
    comm.gather(figures_.data(), sizeof(double), sizes_.data(), "the figures of a step");
    count_ = 0;
    fault = {};
    bool failed = false;
    for (Index at = 0, r = 0; at < all; at += sizes_[static_cast<std::size_t>(r++)]) {
      failed |= figures_(at) != 0;
      count_ += counts[static_cast<std::size_t>(r)];
      if (fault.fault == Fault::none && figures_(at + 1) != 0)
        fault = {static_cast<Fault>(static_cast<int>(figures_(at + 1)) / 2), static_cast<Index>(figures_(at + 2))};
    }
    if (!failed) return;
    std::vector<Index> lengths;
    for (Index at = 0, r = 0; at < all; at += sizes_[static_cast<std::size_t>(r++)])
      lengths.push_back(static_cast<Index>(figures_(at)));
    comm.fail_together(message, error, lengths);
  }

  void summarise(Index dim, StepInfo& info) const {
    double sums[kEach] = {};
    for (Index at = 0, r = 0; at < figures_.size(); at += sizes_[static_cast<std::size_t>(r++)])
      for (Index i = at + kHead; i < at + sizes_[static_cast<std::size_t>(r)]; i += kEach)
        for (Index k = 0; k < kEach; ++k) sums[k] += figures_(i + k);
    const auto n = static_cast<double>(count_);
    info.driving = sums[0] / n;
    info.direction = sums[1] / n;
    info.temperature = count_ < 2 ? 0 : -(sums[2] - sums[3] / n) / static_cast<double>(dim) / (n - 1);
  }

 private:
  template <class M>
  static double norm(const M& m, Index j) {
    return std::sqrt(steady_dot(&m.coeffRef(0, j), &m.coeffRef(0, j), m.rows()));
  }

  Index own_ = 0, first_ = 0, count_ = 0;
  Matrix<double> own_figures_;
  Vector<double> spread_, figures_;
  std::vector<Index> sizes_;
};

}  // namespace repel::detail
