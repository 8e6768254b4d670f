// SPDX-License-Identifier: MIT
#pragma once

#include <repel/core/share.hpp>
#include <repel/core/types.hpp>

#include <vector>

namespace repel::mpi {

/// All that changes in one process: its own particles, what the optimiser remembers about them, and how all particles are
/// divided. In the order of the processes the particles are those of a State of the sampler without MPI.
template <class P, class Memory>
struct State {
  P particles;                ///< d×(own); may be edited between steps, keeping its shape
  Index step = 0;             ///< steps taken so far, the same in all processes
  Memory memory;              ///< what the optimiser remembers about them
  std::vector<Index> counts;  ///< how many particles each process has
  Share share;                ///< which of all particles the own ones are
};

}  // namespace repel::mpi
