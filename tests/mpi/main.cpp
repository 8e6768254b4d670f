// Catch's main() within MPI: every process runs all tests.
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

#include <mpi.h>

#include <repel/core/float_mode.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int failed = Catch::Session().run(argc, argv);
  if (failed != 0) MPI_Abort(MPI_COMM_WORLD, 1);  // the others may be waiting
  MPI_Finalize();
  return 0;
}
