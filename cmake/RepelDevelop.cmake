# What our own tests, examples and benchmarks are compiled with. None of it reaches users of repel::repel.

option(REPEL_WERROR "Treat warnings in repel's own programs as errors" ON)
option(REPEL_TUNE "Compile repel's own programs for this machine's vector units" OFF)
set(REPEL_SANITIZE OFF CACHE STRING "Sanitizers for repel's own programs: ON for address and undefined behaviour, thread, or OFF")
set_property(CACHE REPEL_SANITIZE PROPERTY STRINGS OFF ON thread)
option(REPEL_COVERAGE "Count which lines of include/ the tests run; the target coverage-report shows them (needs gcovr)" OFF)

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
  if(REPEL_SANITIZE STREQUAL "thread")
    set(sanitizers thread)
  else()
    set(sanitizers address,undefined)
  endif()
  target_compile_options(repel_develop INTERFACE -fsanitize=${sanitizers} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1)
  target_link_options(repel_develop INTERFACE -fsanitize=${sanitizers})
endif()

if(REPEL_COVERAGE)
  # Counts that several threads share may lose some, which does not matter here; exact ones take twenty times as long.
  target_compile_options(repel_develop INTERFACE --coverage -fprofile-update=single)
  target_link_options(repel_develop INTERFACE --coverage)
  find_program(REPEL_GCOVR gcovr)
  mark_as_advanced(REPEL_GCOVR)
  if(REPEL_GCOVR)
    set(report ${PROJECT_BINARY_DIR}/report)
    # Of repel_tests alone: gcovr 5.2 cannot add up programs that instantiate one function from several places, and takes
    # a count that has become negative for an error.
    add_custom_target(coverage-report
      COMMAND ${CMAKE_COMMAND} -E make_directory ${report}
      COMMAND ${REPEL_GCOVR} --root ${PROJECT_SOURCE_DIR} --filter ${PROJECT_SOURCE_DIR}/include/
        --gcov-ignore-parse-errors --exclude-throw-branches --print-summary --txt ${report}/coverage.txt
        --html-details ${report}/index.html ${PROJECT_BINARY_DIR}/tests/CMakeFiles/repel_tests.dir
      USES_TERMINAL VERBATIM)
  else()
    add_custom_target(coverage-report
      COMMAND ${CMAKE_COMMAND} -E echo "coverage-report needs gcovr; on Debian: apt-get install gcovr"
      COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
  endif()
endif()

# The adapters that our own programs can use: the library is there, and compiles.
set(REPEL_ADAPTERS "")
foreach(adapter adolc torch mpi)
  if(TARGET repel::${adapter})
    list(APPEND REPEL_ADAPTERS ${adapter})
  endif()
endforeach()
if("mpi" IN_LIST REPEL_ADAPTERS)
  # How tests start processes: a number and a program follow. Open MPI refuses to run as root, or with more processes than
  # cores, unless it is told; others do not look at these variables.
  set(REPEL_MPIEXEC ${MPIEXEC_EXECUTABLE} ${MPIEXEC_PREFLAGS} ${MPIEXEC_NUMPROC_FLAG})
  set(REPEL_MPI_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    OMPI_MCA_mpi_yield_when_idle=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)
  if(REPEL_SANITIZE)
    list(APPEND REPEL_MPI_ENVIRONMENT ASAN_OPTIONS=detect_leaks=0) # Open MPI keeps what its plug-ins have allocated
  endif()
endif()

if("torch" IN_LIST REPEL_ADAPTERS AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # clang refuses the headers of LibTorch 1.13 in C++20: a std::vector of a type that is not complete yet.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_FLAGS -std=c++20)
  set(CMAKE_REQUIRED_INCLUDES ${REPEL_TORCH_INCLUDE_DIR} ${REPEL_TORCH_INCLUDE_DIR}/torch/csrc/api/include)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # nothing is linked
  check_cxx_source_compiles("#include <torch/types.h>\nint main() {}" REPEL_TORCH_COMPILES)
  unset(CMAKE_REQUIRED_FLAGS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
  if(NOT REPEL_TORCH_COMPILES)
    list(REMOVE_ITEM REPEL_ADAPTERS torch)
  endif()
endif()
