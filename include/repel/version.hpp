// SPDX-License-Identifier: MIT
#pragma once

// The one place that states the version; CMakeLists.txt reads it from here.
#define REPEL_VERSION_MAJOR 0  ///< Raised when user code may break.
#define REPEL_VERSION_MINOR 2  ///< Raised for additions; before the first major version also when user code may break.
#define REPEL_VERSION_PATCH 0  ///< Raised for fixes.
