#pragma once

#include <repel/benchmark/roofline.hpp>

namespace bench = repel::bench;

/// Our own benchmarks use all cores. (Users of repel/benchmark.hpp decide for themselves.)
[[maybe_unused]] inline const bool all_cores = (repel::set_threads(0), true);
