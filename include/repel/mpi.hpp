// SPDX-License-Identifier: MIT
#pragma once

// Ensembles over many processes, by MPI: each process has some of the particles, evaluates them, and forms their part of the
// interaction. The same bits for any number of processes.
//
//   #include <repel/mpi.hpp>
//   #include <repel/repel.hpp>
//
//   MPI_Init(&argc, &argv);
//   auto sampler = repel::mpi::spread(repel::weight_space(target, repel::Svgd{}, repel::Adam{}), MPI_COMM_WORLD);
//   auto state = sampler.init(particles_of_rank);                   // any division, empty ones allowed
//   auto report = repel::run(sampler, state, 1000, repel::mpi::on_root(repel::ProgressBar{}), repel::StopOnInterrupt{});
//   Eigen::MatrixXd all = sampler.gather(state);
//
// See docs/distributed.md.

#include <repel/mpi/any.hpp>
#include <repel/mpi/checkpoint.hpp>
#include <repel/mpi/communicator.hpp>
#include <repel/mpi/divided.hpp>
#include <repel/mpi/exchange.hpp>
#include <repel/mpi/run.hpp>
#include <repel/mpi/spread.hpp>
