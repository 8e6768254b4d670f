#pragma once

#include "catch.hpp"
#include "mpi/support.hpp"

#include <string>

namespace mpi_test {

/// The same bits for any number of processes and both divisions; and those of the sampler without MPI, or equal to them within
/// a tolerance.
template <class Sampler, class M>
void compare(const std::string& name, const Sampler& sampler, const M& x, Index steps, double tolerance = 0) {
  CAPTURE(name, x.rows(), x.cols());
  Sampler alone = sampler;
  auto state = alone.init(x);
  REQUIRE(repel::run(alone, state, steps).steps == steps);
  M of_one;
  for (const int processes : {1, 2, 3, 4, 7}) {
    if (processes > world_size()) continue;
    const Some some(processes);
    if (!some.in()) continue;
    CAPTURE(processes);
    for (const int pattern : {0, 1}) {
      const M all = spread_walk(sampler, x, steps, some.comm, pattern, pattern == 0 ? 0 : 2e7);
      if (processes == 1 && pattern == 0) of_one = all;
      if (world_rank() == 0) CHECK((all == of_one));
      if (tolerance == 0)
        CHECK((all == state.particles));
      else
        CHECK((all - state.particles).norm() <= tolerance * state.particles.norm());
    }
  }
}

}  // namespace mpi_test
