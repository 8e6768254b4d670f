#pragma once

#include <mpi.h>

#include <repel/mpi.hpp>
#include <repel/repel.hpp>

#include <algorithm>
#include <vector>

// Some of the processes that mpirun has started, and divisions of particles among them.

namespace mpi_test {

using repel::Index;

/// The first `count` processes; the others are not `in`.
class Some {
 public:
  explicit Some(int count) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 0 : MPI_UNDEFINED, rank, &comm);
  }
  ~Some() {
    if (in()) MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Some(const Some&) = delete;
  Some& operator=(const Some&) = delete;
  bool in() const { return comm != MPI_COMM_NULL; }
  MPI_Comm comm = MPI_COMM_NULL;
};

inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}
inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// How many of n particles each process gets: unevenly, and some none.
inline std::vector<Index> division(Index n, int processes, int pattern) {
  const std::vector<std::vector<Index>> weights{{3, 0, 5, 1, 2, 7, 4}, {1, 2, 1, 3, 1, 1, 2}};
  std::vector<Index> counts;
  Index all = 0, so_far = 0, given = 0;
  for (int r = 0; r < processes; ++r)
    all += weights[static_cast<std::size_t>(pattern)][static_cast<std::size_t>(r % 7)];
  for (int r = 0; r < processes; ++r) {
    so_far += weights[static_cast<std::size_t>(pattern)][static_cast<std::size_t>(r % 7)];
    counts.push_back(n * so_far / all - given);
    given = n * so_far / all;
  }
  return counts;
}

/// The columns of x that belong to this process.
template <class M>
M own_columns(const M& x, MPI_Comm comm, int pattern) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const auto counts = division(x.cols(), size, pattern);
  Index first = 0;
  for (int r = 0; r < rank; ++r) first += counts[static_cast<std::size_t>(r)];
  return x.middleCols(first, counts[static_cast<std::size_t>(rank)]);
}

/// The particles after some steps of a spread sampler, from x.
template <class M, class Sampler>
M spread_walk(const Sampler& sampler, const M& x, Index steps, MPI_Comm comm, int pattern, double least_work = 0) {
  auto spread = repel::mpi::spread(sampler, comm, {.time_limit = 120, .least_work = least_work});
  auto state = spread.init(own_columns(x, comm, pattern));
  const repel::Report report = repel::run(spread, state, steps);
  if (report.steps != steps) throw std::runtime_error(report.message);
  return spread.gather(state);
}

}  // namespace mpi_test
