# What our own tests, examples and benchmarks are compiled with. None of it reaches users of repel::repel.

option(REPEL_WERROR "Treat warnings in repel's own programs as errors" ON)
option(REPEL_TUNE "Compile repel's own programs for this machine's vector units" OFF)
option(REPEL_SANITIZE "Compile repel's own programs with the address and undefined behaviour sanitizers" OFF)

add_library(repel_develop INTERFACE)
target_link_libraries(repel_develop INTERFACE repel::repel)
target_compile_options(repel_develop INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<BOOL:${REPEL_WERROR}>:-Werror>)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overruns inside Eigen's fixed-size products that are not there.
  target_compile_options(repel_develop INTERFACE -Wno-array-bounds)
endif()

find_package(ZLIB) # for compressed data files
if(ZLIB_FOUND)
  target_compile_definitions(repel_develop INTERFACE REPEL_WITH_ZLIB)
  target_link_libraries(repel_develop INTERFACE ZLIB::ZLIB)
endif()

if(REPEL_TUNE)
  # A level by name makes faster matrix products than -march=native with GCC 12; where none runs, the compiler's idea of
  # this machine. The 512-bit units of level 4 make them 1.6 times as fast as the 256-bit ones of level 3.
  include(CheckCXXCompilerFlag)
  include(CheckCXXSourceRuns)
  check_cxx_source_runs("
    int main() {
      return __builtin_cpu_supports(\"avx512f\") && __builtin_cpu_supports(\"avx512bw\") &&
             __builtin_cpu_supports(\"avx512cd\") && __builtin_cpu_supports(\"avx512dq\") &&
             __builtin_cpu_supports(\"avx512vl\") ? 0 : 1;
    }" REPEL_RUNS_X86_64_V4)
  check_cxx_source_runs("
    int main() { return __builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\") ? 0 : 1; }"
    REPEL_RUNS_X86_64_V3)
  check_cxx_compiler_flag(-march=native REPEL_HAS_MARCH_NATIVE)
  if(REPEL_RUNS_X86_64_V4)
    target_compile_options(repel_develop INTERFACE -march=x86-64-v4 -mprefer-vector-width=512)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # GCC 12 takes the undefined values in its own AVX-512 intrinsics for mistakes of ours.
      target_compile_options(repel_develop INTERFACE -Wno-maybe-uninitialized -Wno-uninitialized)
    endif()
  elseif(REPEL_RUNS_X86_64_V3)
    target_compile_options(repel_develop INTERFACE -march=x86-64-v3)
  elseif(REPEL_HAS_MARCH_NATIVE)
    target_compile_options(repel_develop INTERFACE -march=native)
  endif()
endif()

if(REPEL_SANITIZE)
  target_compile_options(repel_develop INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1)
  target_link_options(repel_develop INTERFACE -fsanitize=address,undefined)
endif()
