#pragma once

#include "problem.hpp"

namespace images {

/// Throws where the settings do not fit the data, and where the folder has checkpoints that --resume would be needed for:
/// before anything is trained.
void check(const Settings& settings, const Problem& problem, const Data& data);

/// Trains every method from every seed, and writes tables and pictures. Where one fails the others still run. Gives the
/// program's exit code: 130 after Ctrl-C.
int run_experiment(const Settings& settings, const Problem& problem, const Data& data);

}  // namespace images
