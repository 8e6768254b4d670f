// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/parallel.hpp>
#include <repel/core/types.hpp>

#include <cstddef>
#include <utility>

// Several processes that compute the same thing and share its largest loops. Each holds all of the input, takes some of the
// pieces into which the loop is cut by the size of the problem, and then all of them exchange what they found. As with
// threads (core/parallel.hpp), what is added up is added in the order of the pieces, so that the result has the same bits for
// any number of processes, and those of a single one. The library itself starts no processes: repel/mpi.hpp has a Team.

namespace repel::detail {

class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  virtual ~Team() = default;

  virtual Index rank() const = 0;
  virtual Index size() const = 0;
  /// Work, in multiply-adds, below which a loop is not worth an exchange.
  virtual double least_work() const = 0;

  /// `data` has a part for each process, one after the other, of counts[r] items of `item` bytes. A process has filled in
  /// its own; afterwards everyone has all.
  virtual void gather(void* data, std::size_t item, const Index* counts) = 0;

  /// Part r of `send`, of send_counts[r] items, goes to process r; `receive` has what came from each, one after the other.
  virtual void exchange(const void* send, const Index* send_counts, void* receive, const Index* receive_counts,
                        std::size_t item) = 0;

  /// Which of `count` pieces belong to a process: first(r) … first(r + 1).
  Index first(Index count, Index process) const { return count * process / size(); }
};

inline thread_local Team* the_team = nullptr;

/// While it lives, this thread shares its large loops with a team.
class UseTeam {
 public:
  explicit UseTeam(Team* team) : before_(std::exchange(the_team, team)) {}
  ~UseTeam() { the_team = before_; }
  UseTeam(const UseTeam&) = delete;
  UseTeam& operator=(const UseTeam&) = delete;

 private:
  Team* before_;
};

/// The team with which to share a loop of so much work, or null. All processes must ask alike.
inline Team* team_for(double work) {
  if (the_team == nullptr || the_team->size() < 2 || inside_piece || work < the_team->least_work()) return nullptr;
  return the_team;
}

}  // namespace repel::detail
