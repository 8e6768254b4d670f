# Eigen is found on the system, or else fetched at a pinned hash.
if(NOT TARGET Eigen3::Eigen)
  find_package(Eigen3 NO_MODULE QUIET) # any version from 3.4 on, which Eigen's own version file would not allow for 5
endif()
if(TARGET Eigen3::Eigen AND DEFINED Eigen3_VERSION AND Eigen3_VERSION VERSION_LESS 3.4)
  message(FATAL_ERROR "repel: Eigen ${Eigen3_VERSION} found, but 3.4 or later is needed")
endif()
if(NOT TARGET Eigen3::Eigen)
  message(STATUS "repel: no Eigen 3.4 found, fetching it")
  include(FetchContent)
  FetchContent_Declare(repel_eigen
    URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
    URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72
    SOURCE_SUBDIR headers-only) # a folder it does not have: its own build is not needed
  FetchContent_MakeAvailable(repel_eigen)
  add_library(Eigen3::Eigen INTERFACE IMPORTED GLOBAL)
  target_include_directories(Eigen3::Eigen INTERFACE ${repel_eigen_SOURCE_DIR})
endif()
