#include "processes.hpp"

#ifdef EXAMPLE_MPI
#include <mpi.h>
#endif

#include <cstdlib>
#include <exception>
#include <iostream>

namespace example {

namespace {
int the_rank = 0;
bool by_mpirun = false;
}  // namespace

Processes::Processes([[maybe_unused]] int& argc, [[maybe_unused]] char**& argv)
    : exceptions_(std::uncaught_exceptions()) {
#ifdef EXAMPLE_MPI
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})  // Open MPI, MPICH, SLURM's srun
    by_mpirun |= std::getenv(name) != nullptr;
  if (!by_mpirun) return;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &the_rank);
  if (the_rank > 0) std::cout.setstate(std::ios::failbit);
#endif
}

Processes::~Processes() {
#ifdef EXAMPLE_MPI
  if (by_mpirun && std::uncaught_exceptions() == exceptions_) MPI_Finalize();
#endif
}

bool Processes::spread() { return by_mpirun; }
bool Processes::first() { return the_rank == 0; }

bool Processes::any(bool here) {
#ifdef EXAMPLE_MPI
  if (by_mpirun) {
    int one = here ? 1 : 0, all = 0;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return all != 0;
  }
#endif
  return here;
}

}  // namespace example
