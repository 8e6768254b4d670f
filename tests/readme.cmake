# cmake -DREADME=… -DOUT=… -P readme.cmake
# Takes the whole program out of the README, so that it is compiled and run as it stands there.
file(READ ${README} text)
string(FIND "${text}" "```cpp\n#include" start)
if(start EQUAL -1)
  message(FATAL_ERROR "the README has no program")
endif()
math(EXPR start "${start} + 7")
string(SUBSTRING "${text}" ${start} -1 text)
string(FIND "${text}" "```" end)
string(SUBSTRING "${text}" 0 ${end} program)
file(CONFIGURE OUTPUT ${OUT} CONTENT "${program}" @ONLY)
