// SPDX-License-Identifier: MIT
#pragma once

// Long runs that survive anything: a state saved to a file that is either complete or absent, and an observer that
// saves one at regular intervals.
//
//   #include <repel/checkpoint.hpp>
//
//   const std::string settings = "kde-WGD, 50 members, seed 7";       // whatever must match to continue
//   auto state = sampler.init(initial);
//   repel::resume_checkpoint("run.ckpt", state, settings);            // continues an earlier run, if there was one
//   repel::run(sampler, state, 50000 - state.step, repel::Checkpoints("run.ckpt", settings, /*seconds=*/60),
//              repel::StopOnInterrupt{});
//
// Everything random in this library is a function of a seed and the step, so a resumed run ends with the same bits
// as an uninterrupted one, provided the target follows the same rule.
//
// Particles alone, for Python: save_npy and load_npy.

#include <repel/io/checkpoint.hpp>
#include <repel/io/npy.hpp>
#include <repel/observe/checkpoints.hpp>
