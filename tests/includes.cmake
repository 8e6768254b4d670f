# cmake -DINCLUDE=… -P includes.cmake
# Every header includes what it uses of the standard library's large headers. The check that each compiles alone cannot tell:
# it reads those once for all. And MPI stays behind repel/mpi.hpp, and the first line names the licence.
set(uses
  "std::function<" functional "std::chrono::" chrono "std::(thread|this_thread)[^_]" thread "std::(mutex|lock_guard|unique_lock)" mutex
  "std::filesystem::" filesystem "std::(if|of|f)stream" fstream "std::[io]?stringstream" sstream "std::mt19937" random
  "std::vector<" vector "std::(unique_ptr|shared_ptr|make_shared|make_unique)" memory)
file(GLOB_RECURSE headers ${INCLUDE}/repel/*.hpp)
set(missing "")
foreach(header ${headers})
  file(READ ${header} text)
  if(NOT text MATCHES "^// SPDX-License-Identifier: MIT\n#pragma once\n\n")
    string(APPEND missing "  ${header} does not begin with the licence and #pragma once\n")
  endif()
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  if(text MATCHES "#include <mpi\\.h>|#include <repel/mpi" AND NOT header MATCHES "/repel/mpi(/|\\.hpp)")
    string(APPEND missing "  ${header} includes MPI, but only repel/mpi.hpp and repel/mpi/ may\n")
  endif()
  set(rest ${uses})
  while(rest)
    list(POP_FRONT rest pattern needed)
    if(text MATCHES "${pattern}" AND NOT text MATCHES "#include <${needed}>")
      string(APPEND missing "  ${header} uses ${CMAKE_MATCH_0}, but does not include <${needed}>\n")
    endif()
  endwhile()
endforeach()
if(missing)
  message(FATAL_ERROR "headers that rely on others' includes, or include what they must not:\n${missing}")
endif()
