# cmake -DDOCUMENT=… -DNUMBER=… -DOUT=… -P program.cmake
# Takes a whole program out of a document, the first, the second …, so that it is compiled and run as it stands there.
file(READ ${DOCUMENT} text)
foreach(number RANGE 1 ${NUMBER})
  string(FIND "${text}" "```cpp\n#include" start)
  if(start EQUAL -1)
    message(FATAL_ERROR "${DOCUMENT} has no program ${number}")
  endif()
  math(EXPR start "${start} + 7")
  string(SUBSTRING "${text}" ${start} -1 text)
endforeach()
string(FIND "${text}" "```" end)
string(SUBSTRING "${text}" 0 ${end} program)
file(CONFIGURE OUTPUT ${OUT} CONTENT "${program}" @ONLY)
