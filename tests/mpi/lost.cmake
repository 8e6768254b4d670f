# cmake -DPROGRAM=… -DMPIEXEC=… -DWORK=… -P lost.cmake
# One of three processes is killed, or hangs: the others end, with a message; the run is resumed by two, and ends with the
# same bits as one that was never interrupted.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})

function(run processes path) # and further arguments; sets output and result
  execute_process(COMMAND ${MPIEXEC} ${processes} ${PROGRAM} ${WORK}/${path} 60 ${ARGN}
    TIMEOUT 60 OUTPUT_VARIABLE out ERROR_VARIABLE out RESULT_VARIABLE code)
  message(STATUS "${processes} processes, ${ARGN}: ${code}\n${out}")
  set(output "${out}" PARENT_SCOPE)
  set(result "${code}" PARENT_SCOPE)
endfunction()

run(3 whole)
if(NOT result EQUAL 0 OR NOT output MATCHES "finished after step 60.*checksum ([0-9a-f]+)")
  message(FATAL_ERROR "the run that is not interrupted does not end")
endif()
set(checksum ${CMAKE_MATCH_1})

foreach(how kill stop)
  run(3 ${how} ${how} 30)
  if(result MATCHES "timeout" OR result EQUAL 0)
    message(FATAL_ERROR "${how}: the others do not end, or do not say that they failed")
  endif()
  if(how STREQUAL "stop" AND NOT output MATCHES "has waited 3[.0-9]* seconds for the others")
    message(FATAL_ERROR "stop: no message")
  endif()
  run(2 ${how})
  if(NOT output MATCHES "resumed at step (29|30)")
    message(FATAL_ERROR "${how}: the run is not resumed from its last checkpoint")
  endif()
  if(NOT output MATCHES "checksum ${checksum}")
    message(FATAL_ERROR "${how}: other bits than ${checksum}")
  endif()
endforeach()
