#pragma once

// The one place that states the version; CMakeLists.txt reads it from here.
#define REPEL_VERSION_MAJOR 0
#define REPEL_VERSION_MINOR 2
#define REPEL_VERSION_PATCH 0
