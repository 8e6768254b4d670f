# cmake -DHOW=… -DSOURCE=… -DBUILD=… -DWORK=… -DGENERATOR=… -DCOMPILER=… [-DPROGRAM=benchmark] [-DPKG_CONFIG=…] -P run.cmake
# Configures, builds and runs the consumer project in WORK, from nothing.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(main ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
if(PROGRAM STREQUAL "benchmark" AND HOW STREQUAL "add_subdirectory") # it is about the target; a small program will do
  set(main ${CMAKE_CURRENT_LIST_DIR}/one_benchmark.cpp)
elseif(PROGRAM STREQUAL "benchmark")
  set(main ${WORK}/benchmark.cpp)
  run(${CMAKE_COMMAND} -DDOCUMENT=${SOURCE}/docs/benchmarking.md -DNUMBER=1 -DOUT=${main}
    -P ${CMAKE_CURRENT_LIST_DIR}/../program.cmake)
elseif(HOW STREQUAL "add_subdirectory") # where the headers are not a system's, and all warnings show
  set(main ${WORK}/readme.cpp)
  run(${CMAKE_COMMAND} -DDOCUMENT=${SOURCE}/README.md -DNUMBER=1 -DOUT=${main} -P ${CMAKE_CURRENT_LIST_DIR}/../program.cmake)
endif()

# An installed tree, where one is needed.
set(prefix "")
if(HOW MATCHES "^(find_package|pkg-config)$")
  set(prefix ${WORK}/prefix)
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
elseif(HOW STREQUAL "package") # as made by cpack, unpacked
  find_program(dpkg_deb dpkg-deb)
  if(dpkg_deb)
    run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -G DEB -B ${WORK}/packages)
    file(GLOB package ${WORK}/packages/librepel-dev_*_all.deb)
    run(${dpkg_deb} --info ${package})
    run(${dpkg_deb} -x ${package} ${WORK}/root)
    set(prefix ${WORK}/root/usr)
  else()
    run(${CMAKE_CPACK_COMMAND} --config ${BUILD}/CPackConfig.cmake -G TGZ -B ${WORK}/packages)
    file(GLOB package ${WORK}/packages/repel-*.tar.gz)
    file(ARCHIVE_EXTRACT INPUT ${package} DESTINATION ${WORK}/root)
    file(GLOB prefix ${WORK}/root/repel-*)
  endif()
elseif(HOW STREQUAL "vcpkg") # the port's own script, with stand-ins for vcpkg's functions
  set(prefix ${WORK}/packages)
  run(${CMAKE_COMMAND} -DSOURCE=${SOURCE} -DOUT=${prefix} -DWORK=${WORK}/vcpkg -DGENERATOR=${GENERATOR}
    -DCOMPILER=${COMPILER} -P ${CMAKE_CURRENT_LIST_DIR}/../packaging/vcpkg.cmake)
endif()

if(HOW STREQUAL "pkg-config") # no CMake on the user's side; moved, since the file finds its own place
  file(RENAME ${prefix} ${WORK}/moved)
  set(ENV{PKG_CONFIG_PATH} ${WORK}/moved/share/pkgconfig:$ENV{PKG_CONFIG_PATH})
  run(${PKG_CONFIG} --print-errors --atleast-version=0.2 repel)
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs repel OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT flags MATCHES "-I[^ ]*/moved/")
    message(FATAL_ERROR "pkg-config --cflags --libs repel gives ${flags}, but must name the tree's new place")
  endif()
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${COMPILER} -std=c++20 -O1 ${main} ${flags} -o ${WORK}/consumer)
  run(${WORK}/consumer)
  return()
endif()

set(arguments -DHOW=${HOW} -DREPEL_SOURCE=${SOURCE} -DMAIN=${main} -DCMAKE_BUILD_TYPE=Release)
if(PROGRAM STREQUAL "benchmark")
  list(APPEND arguments -DBENCHMARK=ON)
endif()
if(prefix)
  list(APPEND arguments -DHOW=find_package -DCMAKE_PREFIX_PATH=${prefix} -DEXPECT_PREFIX=${prefix})
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${COMPILER} ${arguments})
run(${CMAKE_COMMAND} --build ${WORK}/build)
if(PROGRAM STREQUAL "benchmark")
  run(${WORK}/build/consumer --benchmark_min_time=0.01)
else()
  run(${WORK}/build/consumer)
endif()
