// SPDX-License-Identifier: MIT
#pragma once

// The one place that states the version; CMakeLists.txt reads it from here.
#define REPEL_VERSION_MAJOR 0  ///< Changes that break user code.
#define REPEL_VERSION_MINOR 2  ///< Changes that add to it.
#define REPEL_VERSION_PATCH 0  ///< Repairs.
