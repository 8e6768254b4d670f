#pragma once

// Long runs that survive anything: a state in a file, written so that it is whole or not there, and an observer that
// does so every so often.
//
//   #include <repel/checkpoint.hpp>
//
//   const std::string settings = "kde-WGD, 50 members, seed 7";       // whatever must be the same to go on
//   auto state = sampler.init(initial);
//   repel::resume_checkpoint("run.ckpt", state, settings);            // goes on where a run stopped, if there was one
//   repel::run(sampler, state, 50000 - state.step, repel::Checkpoints("run.ckpt", settings, /*seconds=*/60),
//              repel::StopOnInterrupt{});
//
// Everything random in this library is a function of a seed and the step, so a run that was resumed ends with the same
// bits as one that was not, as long as the target keeps to that, too.
//
// Particles alone, for Python: save_npy and load_npy.

#include <repel/io/checkpoint.hpp>
#include <repel/io/npy.hpp>
#include <repel/observe/checkpoints.hpp>
