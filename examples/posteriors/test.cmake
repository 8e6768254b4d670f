# cmake -DEXAMPLE=program -DWORK=folder -P test.cmake
# Eight schools with few gradients, a regression from files, costs and bad options.
file(REMOVE_RECURSE ${WORK})
set(few --gradients 20000 --particles 20 --threads 1)
execute_process(COMMAND ${EXAMPLE} --out ${WORK} ${few} RESULT_VARIABLE result OUTPUT_VARIABLE output)
if(NOT result EQUAL 0 OR NOT output MATCHES "--data DIR")
  message(FATAL_ERROR "posteriors ended with ${result}: ${output}")
endif()
foreach(file summary.csv posteriors.gp posteriors-data/method-1.txt)
  if(NOT EXISTS ${WORK}/${file})
    message(FATAL_ERROR "posteriors wrote no ${file}")
  endif()
endforeach()
file(STRINGS ${WORK}/summary.csv rows)
list(LENGTH rows count)
if(NOT count EQUAL 7) # a header and six methods
  message(FATAL_ERROR "summary.csv has ${count} rows, not 7")
endif()
foreach(method HMC NUTS) # they pass even with few gradients
  if(NOT rows MATCHES "eight_schools,${method},[^;]*,1/1,")
    message(FATAL_ERROR "${method} fails on eight schools: ${rows}")
  endif()
endforeach()
find_program(gnuplot gnuplot)
if(gnuplot AND NOT EXISTS ${WORK}/posteriors.png)
  message(FATAL_ERROR "posteriors drew no picture")
endif()

# y = 1 + 2 x with residuals of ±1: β is about N((1, 2), σ² (XᵀX)⁻¹), with 1/8 and 1/42 on the diagonal.
file(WRITE ${WORK}/data/kidscore_momiq.csv
  "y,-5,-5,-1,-1,1,5,5,9\nx0,1,1,1,1,1,1,1,1\nx1,-3.5,-2.5,-1.5,-0.5,0.5,1.5,2.5,3.5\n")
file(WRITE ${WORK}/data/kidscore_momiq.ref.csv "names,a,b,c\nmean,1,2,0\nsd,1,1,1\ndraw,1,2,0\n")
execute_process(COMMAND ${EXAMPLE} --out ${WORK}/cost --data ${WORK}/data --cost --threads 1
  RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(NOT result EQUAL 0 OR NOT EXISTS ${WORK}/cost/cost.csv)
  message(FATAL_ERROR "posteriors --cost ended with ${result}")
endif()

file(WRITE ${WORK}/bad/blr.csv "y,1,2,three\n")
foreach(bad --gradients=0 --methods=typo --nonsense --data=${WORK}/nowhere --data=${WORK}/bad)
  execute_process(COMMAND ${EXAMPLE} --out ${WORK} ${bad} RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE error)
  if(result EQUAL 0 OR error STREQUAL "")
    message(FATAL_ERROR "posteriors ${bad} was not refused with a word")
  endif()
endforeach()
execute_process(COMMAND ${EXAMPLE} --help RESULT_VARIABLE result OUTPUT_VARIABLE help)
if(NOT result EQUAL 0 OR NOT help MATCHES "--seeds")
  message(FATAL_ERROR "posteriors --help does not help")
endif()
