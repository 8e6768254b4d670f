# Libraries behind opt-in headers. Each that is found has a target; the others have none, and repel::repel needs none.
#   repel::adolc       repel/adolc.hpp: gradients in reverse mode by ADOL-C
#   repel::torch       repel/torch.hpp: LibTorch's modules as networks, log densities on its tensors
#   repel::benchmark   repel/benchmark.hpp: repel's benchmarks with policies of your own, by Google Benchmark
#   repel::mpi         repel/mpi.hpp: ensembles over many processes, by any MPI
# Used by repel's own build and by find_package(repel).

find_path(ADOLC_INCLUDE_DIR adolc/adolc.h)
find_library(ADOLC_LIBRARY adolc)
mark_as_advanced(ADOLC_INCLUDE_DIR ADOLC_LIBRARY)
if(ADOLC_INCLUDE_DIR AND ADOLC_LIBRARY AND NOT TARGET repel::adolc)
  add_library(repel::adolc INTERFACE IMPORTED GLOBAL)
  target_include_directories(repel::adolc SYSTEM INTERFACE ${ADOLC_INCLUDE_DIR})
  target_link_libraries(repel::adolc INTERFACE repel::repel ${ADOLC_LIBRARY})
endif()

# LibTorch by its files, unless the project has found it already: find_package(Torch) stops the configuration where CUDA or
# protobuf are not as it expects them, also in projects that do not use it.
if(NOT (Torch_FOUND AND TARGET torch))
  find_path(REPEL_TORCH_INCLUDE_DIR torch/csrc/api/include/torch/torch.h HINTS ${Torch_DIR}/../../../include)
  foreach(part torch torch_cpu c10)
    find_library(REPEL_TORCH_LIBRARY_${part} ${part} HINTS ${Torch_DIR}/../../../lib)
    mark_as_advanced(REPEL_TORCH_LIBRARY_${part})
  endforeach()
  mark_as_advanced(REPEL_TORCH_INCLUDE_DIR)
endif()
if(NOT TARGET repel::torch)
  if(Torch_FOUND AND TARGET torch)
    add_library(repel::torch INTERFACE IMPORTED GLOBAL)
    target_link_libraries(repel::torch INTERFACE repel::repel torch)
  elseif(REPEL_TORCH_INCLUDE_DIR AND REPEL_TORCH_LIBRARY_torch AND REPEL_TORCH_LIBRARY_torch_cpu AND REPEL_TORCH_LIBRARY_c10)
    add_library(repel::torch INTERFACE IMPORTED GLOBAL)
    target_include_directories(repel::torch SYSTEM INTERFACE
      ${REPEL_TORCH_INCLUDE_DIR} ${REPEL_TORCH_INCLUDE_DIR}/torch/csrc/api/include)
    target_link_libraries(repel::torch INTERFACE repel::repel
      ${REPEL_TORCH_LIBRARY_torch} ${REPEL_TORCH_LIBRARY_torch_cpu} ${REPEL_TORCH_LIBRARY_c10})
  endif()
endif()

if(NOT TARGET benchmark::benchmark)
  find_package(benchmark QUIET)
  if(TARGET benchmark::benchmark) # found here, so this folder may show it to all others, as repel::benchmark needs
    set_target_properties(benchmark::benchmark PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
endif()
if(TARGET benchmark::benchmark AND NOT TARGET repel::benchmark)
  add_library(repel::benchmark INTERFACE IMPORTED GLOBAL)
  target_link_libraries(repel::benchmark INTERFACE repel::repel benchmark::benchmark)
endif()
if(NOT TARGET repel::mpi)
  set(MPI_CXX_SKIP_MPICXX ON) # its C++ interface is of old
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    add_library(repel::mpi INTERFACE IMPORTED GLOBAL)
    target_link_libraries(repel::mpi INTERFACE repel::repel MPI::MPI_CXX)
  endif()
endif()
