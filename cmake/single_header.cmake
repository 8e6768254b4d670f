# cmake [-DOUT=repel.hpp] [-DHEADERS="repel/repel.hpp;repel/bnn.hpp;…"] -P cmake/single_header.cmake
# Writes a single header that needs Eigen alone: the core, networks, HMC, metrics, diagnostics, data, checkpoints and predictors,
# or only the HEADERS given and what these include. The adapters to other libraries (repel/adolc.hpp, repel/torch.hpp,
# repel/mpi.hpp, repel/benchmark.hpp) are not in it. Include it once under any name; the includes of repel's other headers go away.
cmake_minimum_required(VERSION 3.22)

get_filename_component(include ${CMAKE_CURRENT_LIST_DIR}/../include ABSOLUTE)
if(NOT OUT)
  set(OUT repel.hpp)
endif()
if(NOT HEADERS)
  file(GLOB HEADERS RELATIVE ${include} ${include}/repel/*.hpp)
  list(FILTER HEADERS EXCLUDE REGEX "repel/(adolc|torch|mpi|benchmark)\\.hpp")
endif()

file(STRINGS ${include}/repel/version.hpp version REGEX "#define REPEL_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
string(REGEX REPLACE "[^0-9;]" "" version "${version}")
list(JOIN version "." version)
file(READ ${CMAKE_CURRENT_LIST_DIR}/../LICENSE licence)
string(STRIP "${licence}" licence)
string(REPLACE "\n" "\n// " licence "// ${licence}")
string(REPLACE "// \n" "//\n" licence "${licence}")

set(text "")
set(seen "")
# Appends a header to the text, after all that it includes.
function(add header)
  if(header IN_LIST seen)
    return()
  endif()
  list(APPEND seen ${header})
  if(NOT EXISTS ${include}/${header})
    message(FATAL_ERROR "single_header.cmake: no header ${include}/${header}")
  endif()
  file(READ ${include}/${header} content)
  string(REGEX REPLACE "^// SPDX[^\n]*\n#pragma once\n+" "" content "${content}")
  string(REGEX MATCHALL "\n#include <repel/[a-z0-9_/]+\\.hpp>" includes "\n${content}")
  foreach(line ${includes})
    string(REGEX REPLACE "\n#include <(.*)>" "\\1" name "${line}")
    add(${name})
  endforeach()
  string(REGEX REPLACE "\n(#include <repel/[a-z0-9_/]+\\.hpp>\n)+" "\n" content "\n${content}")
  if(content MATCHES "\n *# *include *[<\"]repel/")
    message(FATAL_ERROR "single_header.cmake: ${header} includes a header of repel in a way that this script does not know")
  endif()
  string(APPEND text "\n// ${header}\n\n${content}")
  set(text "${text}" PARENT_SCOPE)
  set(seen "${seen}" PARENT_SCOPE)
endfunction()

foreach(header ${HEADERS})
  add(${header})
endforeach()
string(REGEX REPLACE "\n\n\n+" "\n\n" text "${text}")
file(WRITE ${OUT} "// repel ${version}, all in one header: made by cmake/single_header.cmake, not for editing.
//
// SPDX-License-Identifier: MIT
//
${licence}

#pragma once
${text}")
