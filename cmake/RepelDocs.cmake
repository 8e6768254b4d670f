# The target `docs`: the site and its API reference, in build/docs/html. cmake --workflow --preset docs
find_package(Doxygen 1.9.4 QUIET)
find_package(Python3 QUIET COMPONENTS Interpreter)
find_path(REPEL_DOCS_THEME doxygen-awesome.css PATHS /usr/share/doxygen-awesome-css
  DOC "Folder of doxygen-awesome-css, the site's theme")
find_path(REPEL_DOCS_MATHJAX MathJax.js PATHS /usr/share/javascript/mathjax DOC "Folder of MathJax 2")
if(NOT DOXYGEN_FOUND OR NOT Python3_FOUND OR NOT REPEL_DOCS_THEME OR NOT REPEL_DOCS_MATHJAX)
  message(FATAL_ERROR "repel's site needs Doxygen (1.9.4 or later), Python 3, doxygen-awesome-css and MathJax 2; "
    "cmake/setup.sh --with docs installs them. Elsewhere, set REPEL_DOCS_THEME and REPEL_DOCS_MATHJAX to their folders.")
endif()

set(REPEL_DOCS_OUT ${PROJECT_BINARY_DIR}/site)
file(GLOB pictures CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.png ${PROJECT_SOURCE_DIR}/examples/*/*.png
  ${PROJECT_SOURCE_DIR}/bench/*.png ${PROJECT_SOURCE_DIR}/docs/*.png)
file(GLOB scripts ${REPEL_DOCS_THEME}/*.js)
list(JOIN pictures " " pictures)
list(JOIN scripts " " scripts)
set(REPEL_DOCS_FILES "${scripts} ${PROJECT_SOURCE_DIR}/docs/site/repel.js ${pictures}")
configure_file(${PROJECT_SOURCE_DIR}/docs/site/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)

add_custom_target(docs
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${REPEL_DOCS_OUT}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${REPEL_DOCS_OUT}
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/docs/site/stage.py ${REPEL_DOCS_OUT}
  COMMAND ${CMAKE_COMMAND} -DOUT=${REPEL_DOCS_OUT} -DDOXYGEN=${DOXYGEN_EXECUTABLE} -DDOXYFILE=${PROJECT_BINARY_DIR}/Doxyfile
    -DMATHJAX=${REPEL_DOCS_MATHJAX} -P ${PROJECT_SOURCE_DIR}/docs/site/build.cmake
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/docs/site/check.py ${REPEL_DOCS_OUT}/html
  COMMENT "The site: ${REPEL_DOCS_OUT}/html/index.html" VERBATIM)
