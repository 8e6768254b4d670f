# Eigen is found on the system, or else fetched at a pinned hash.
if(NOT TARGET Eigen3::Eigen)
  find_package(Eigen3 3.4 NO_MODULE QUIET)
endif()
if(NOT TARGET Eigen3::Eigen)
  message(STATUS "repel: no Eigen 3.4 found, fetching it")
  include(FetchContent)
  FetchContent_Declare(repel_eigen
    URL https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
    URL_HASH SHA256=8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72
    SOURCE_SUBDIR headers-only) # a folder it does not have: its own build is not needed
  FetchContent_MakeAvailable(repel_eigen)
  add_library(repel_eigen INTERFACE)
  add_library(Eigen3::Eigen ALIAS repel_eigen)
  target_include_directories(repel_eigen SYSTEM INTERFACE $<BUILD_INTERFACE:${repel_eigen_SOURCE_DIR}>)
  # An installed repel then looks for an Eigen of the system, so there is nothing of it to install here.
  set(repel_eigen_fetched TRUE)
endif()
