// The test runner, where Catch2 comes without one (see CMakeLists.txt).
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
