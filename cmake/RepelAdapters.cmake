# Libraries behind opt-in headers. Each that is found has a target; the others have none, and repel::repel needs none.
#   repel::adolc   repel/adolc.hpp: gradients in reverse mode by ADOL-C
# Used by repel's own build and by find_package(repel).

find_path(ADOLC_INCLUDE_DIR adolc/adolc.h)
find_library(ADOLC_LIBRARY adolc)
mark_as_advanced(ADOLC_INCLUDE_DIR ADOLC_LIBRARY)
if(ADOLC_INCLUDE_DIR AND ADOLC_LIBRARY AND NOT TARGET repel::adolc)
  add_library(repel::adolc INTERFACE IMPORTED GLOBAL)
  target_include_directories(repel::adolc SYSTEM INTERFACE ${ADOLC_INCLUDE_DIR})
  target_link_libraries(repel::adolc INTERFACE repel::repel ${ADOLC_LIBRARY})
endif()
