# cmake -DSOURCE=… -DCOMPILER=… -DEIGEN=… -DWORK=… -P single_header.cmake
# Makes the single header, compiles it alone, and runs two of the README's programs (the core; a network) with nothing but it and Eigen.
# The second also includes repel/bnn.hpp, which is in the single header already.
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
set(header ${WORK}/include/repel/repel.hpp)
run(${CMAKE_COMMAND} -DOUT=${header} -P ${SOURCE}/cmake/single_header.cmake)
set(compile ${COMPILER} -std=c++20 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I ${WORK}/include)
foreach(folder ${EIGEN})
  list(APPEND compile -isystem ${folder})
endforeach()

file(WRITE ${WORK}/alone.cpp "#include <repel/repel.hpp>\n#include <repel/repel.hpp>\n")
run(${compile} -fsyntax-only ${WORK}/alone.cpp)

# The README's first program, and its first of a network.
set(found 0)
foreach(number RANGE 1 9)
  set(program ${WORK}/readme_${number})
  run(${CMAKE_COMMAND} -DDOCUMENT=${SOURCE}/README.md -DNUMBER=${number} -DOUT=${program}.cpp
    -P ${SOURCE}/tests/program.cmake)
  file(READ ${program}.cpp text)
  if(text MATCHES "repel/bnn\\.hpp")
    set(found 1)
  elseif(number GREATER 1)
    continue()
  endif()
  string(REGEX REPLACE "#include <repel/bnn\\.hpp>\n" "" text "${text}")
  file(WRITE ${program}.cpp "${text}")
  run(${compile} ${program}.cpp -o ${program} -pthread)
  run(${program})
  if(found)
    break()
  endif()
endforeach()
