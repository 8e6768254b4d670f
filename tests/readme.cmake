# cmake -DREADME=… -DNUMBER=… -DOUT=… -P readme.cmake
# Takes a whole program out of the README, the first or the second, so that it is compiled and run as it stands there.
file(READ ${README} text)
foreach(number RANGE 1 ${NUMBER})
  string(FIND "${text}" "```cpp\n#include" start)
  if(start EQUAL -1)
    message(FATAL_ERROR "the README has no program ${number}")
  endif()
  math(EXPR start "${start} + 7")
  string(SUBSTRING "${text}" ${start} -1 text)
endforeach()
string(FIND "${text}" "```" end)
string(SUBSTRING "${text}" 0 ${end} program)
file(CONFIGURE OUTPUT ${OUT} CONTENT "${program}" @ONLY)
