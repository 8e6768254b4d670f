# cmake -DEXAMPLE=program -DIMAGES=program -DMPIEXEC=… -DWORK=folder -P mpi_test.cmake
# The example under mpirun, on a few made-up pictures: the same table for any number of processes, and for a run that three
# have begun and two have ended.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${IMAGES} ${WORK} COMMAND_ERROR_IS_FATAL ANY)
set(common --data ${WORK}/fashion --ood ${WORK}/mnist --members 5 --batch 50 --checkpoint-seconds 0 --threads 1
  --methods DE,hyper-DE,SVGD,kde-fWGD,cal-kde-WGD-layers)

function(run processes folder)
  execute_process(COMMAND ${MPIEXEC} ${processes} ${EXAMPLE} ${common} --out ${WORK}/${folder} ${ARGN}
    TIMEOUT 300 RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${processes} processes, ${ARGN}: ${result}\n${output}")
  endif()
endfunction()
# The table without its last column, the seconds.
function(table folder out)
  file(STRINGS ${WORK}/${folder}/table.csv rows)
  list(TRANSFORM rows REPLACE ",[^,]*$" "")
  set(${out} "${rows}" PARENT_SCOPE)
endfunction()

foreach(processes 1 2 3)
  run(${processes} of-${processes} --steps 12)
  table(of-${processes} rows)
  list(LENGTH rows count)
  if(NOT count EQUAL 6)
    message(FATAL_ERROR "the table of ${processes} processes has ${count} rows, not 6")
  endif()
  if(processes EQUAL 1)
    set(of_one "${rows}")
  elseif(NOT rows STREQUAL of_one)
    message(FATAL_ERROR "${processes} processes end with another table than one:\n${rows}\n${of_one}")
  endif()
endforeach()
run(3 parts --steps 5 --search-steps 2)
run(2 parts --steps 12 --search-steps 2 --resume)
table(parts rows)
if(NOT rows STREQUAL of_one)
  message(FATAL_ERROR "a resumed run ended with another table:\n${rows}\n${of_one}")
endif()

# What one process refuses ends all of them, with its words.
execute_process(COMMAND ${MPIEXEC} 2 ${EXAMPLE} ${common} --out ${WORK}/parts --steps 12 TIMEOUT 60
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR result MATCHES "timeout" OR NOT output MATCHES "give --resume")
  message(FATAL_ERROR "an earlier run in the folder was not refused: ${result} ${output}")
endif()
