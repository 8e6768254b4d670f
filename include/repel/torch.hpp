// SPDX-License-Identifier: MIT
#pragma once

#include <repel/torch/module.hpp>
#include <repel/torch/network.hpp>
#include <repel/torch/target.hpp>

// LibTorch: modules as networks (torch/network.hpp) and log densities written on tensors (torch/target.hpp). Opt-in: link
// with it (CMake: target_link_libraries(… repel::torch); Debian's libtorch-dev, or cmake/setup.sh --with torch). It
// includes only what it needs of LibTorch: a program that builds modules also includes <torch/torch.h>, or the headers of
// its layers. docs/torch.md has a whole program.
//
// Threads. LibTorch divides every operation among its threads, repel runs particles at the same time on its own. With
// both, each of repel's threads starts a team of LibTorch's, and they get in each other's way; small networks gain
// nothing from a team. So begin main() with
//
//   torch::set_num_threads(1);        // before anything else: threads that have used LibTorch keep their setting
//   repel::set_threads(0);
//
// (docs/torch.md has figures). With LibTorch on one thread, the same bits come out for any number of repel's; with
// several, its sums may be split differently from run to run. A torch_target() is one call for all particles, so that
// only LibTorch's threads can speed it up.
