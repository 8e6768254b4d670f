# cmake -DPROGRAM=… -DOUT=folder -DDATA=folder -P gallery.cmake
# Runs the example on the sets that are there; at the full setting, which takes hours, only by hand.
if(NOT EXISTS ${DATA}/uci)
  message("uci is left out: its data are not here; cmake/setup.sh --data fetches one set of them")
  return()
endif()
file(REMOVE_RECURSE ${OUT})
execute_process(COMMAND ${PROGRAM} --out ${OUT} COMMAND_ERROR_IS_FATAL ANY)
