# What our own tests, examples and benchmarks are compiled with. None of it reaches users of repel::repel.

option(REPEL_TUNE "Compile repel's own programs for this machine's vector units" OFF)
option(REPEL_OPENMP "Compile repel's own programs with OpenMP" ON)
option(REPEL_SANITIZE "Compile repel's own programs with the address and undefined behaviour sanitizers" OFF)

add_library(repel_develop INTERFACE)
target_link_libraries(repel_develop INTERFACE repel::repel)
target_compile_options(repel_develop INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overruns inside Eigen's fixed-size products that are not there.
  target_compile_options(repel_develop INTERFACE -Wno-error=array-bounds -Wno-array-bounds)
endif()

if(REPEL_OPENMP)
  find_package(OpenMP COMPONENTS CXX)
  if(OpenMP_CXX_FOUND)
    target_link_libraries(repel_develop INTERFACE OpenMP::OpenMP_CXX)
  endif()
endif()

if(REPEL_TUNE)
  # -O2 with x86-64-v3 (AVX2, FMA) makes faster matrix products than -march=native with GCC 12; where that does not
  # run, the compiler's idea of this machine.
  include(CheckCXXSourceRuns)
  foreach(arch x86-64-v3 native)
    set(CMAKE_REQUIRED_FLAGS -march=${arch})
    check_cxx_source_runs("
      volatile double a[64], b[64];
      int main() { for (int i = 0; i < 64; ++i) a[i] = a[i] * b[i] + 1.0; return a[0] == 1.0 ? 0 : 1; }"
      REPEL_RUNS_${arch})
    unset(CMAKE_REQUIRED_FLAGS)
    if(REPEL_RUNS_${arch})
      target_compile_options(repel_develop INTERFACE -march=${arch})
      break()
    endif()
  endforeach()
endif()

if(REPEL_SANITIZE)
  target_compile_options(repel_develop INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g)
  target_link_options(repel_develop INTERFACE -fsanitize=address,undefined)
endif()
