# cmake -DHOW=… -DSOURCE=… -DBUILD=… -DWORK=… -DGENERATOR=… -DCOMPILER=… -P run.cmake
# Configures, builds and runs the consumer project in WORK, from nothing.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
set(main ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
if(HOW STREQUAL "add_subdirectory") # where the headers are not a system's, and all warnings show
  set(main ${WORK}/readme.cpp)
  run(${CMAKE_COMMAND} -DDOCUMENT=${SOURCE}/README.md -DNUMBER=1 -DOUT=${main} -P ${CMAKE_CURRENT_LIST_DIR}/../program.cmake)
endif()
set(arguments -DHOW=${HOW} -DREPEL_SOURCE=${SOURCE} -DMAIN=${main} -DCMAKE_BUILD_TYPE=Release)
if(HOW STREQUAL "find_package")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  list(APPEND arguments -DCMAKE_PREFIX_PATH=${WORK}/prefix)
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -G ${GENERATOR}
  -DCMAKE_CXX_COMPILER=${COMPILER} ${arguments})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
