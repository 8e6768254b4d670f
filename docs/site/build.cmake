# cmake -DOUT=… -DDOXYGEN=… -DDOXYFILE=… -DMATHJAX=… -P build.cmake
# Runs Doxygen, shows what it complains of, and puts the part of MathJax that the site uses beside the pages.
execute_process(COMMAND ${DOXYGEN} ${DOXYFILE} RESULT_VARIABLE failed ERROR_VARIABLE errors)
if(EXISTS ${OUT}/warnings.log)
  file(READ ${OUT}/warnings.log warnings)
  if(warnings)
    message("${warnings}")
    set(failed 1)
  endif()
endif()
if(failed)
  message(FATAL_ERROR "${errors}repel's documents have the faults above; nothing may be undocumented, and every link must lead somewhere")
endif()
foreach(part MathJax.js extensions jax/element jax/input/TeX jax/output/SVG)
  get_filename_component(folder ${part} DIRECTORY)
  file(COPY ${MATHJAX}/${part} DESTINATION ${OUT}/html/mathjax/${folder} FOLLOW_SYMLINK_CHAIN
    PATTERN "STIX-Web" EXCLUDE PATTERN "Asana-Math" EXCLUDE PATTERN "Gyre-*" EXCLUDE PATTERN "Latin-Modern" EXCLUDE PATTERN "Neo-Euler" EXCLUDE)
endforeach()
message("the site: ${OUT}/html/index.html")
