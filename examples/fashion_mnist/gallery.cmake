# cmake -DPROGRAM=… -DOUT=folder -DARGUMENTS=… -DDATA=folder -P gallery.cmake
# Runs the example where its data are; at the paper's setting, which takes many hours, only by hand.
if(NOT EXISTS ${DATA}/mnist OR NOT (EXISTS ${DATA}/fashion-mnist OR EXISTS /usr/share/datasets/fashion-mnist))
  message("fashion_mnist is left out: its data are not here; cmake/setup.sh --data fetches them")
  return()
endif()
if(ARGUMENTS MATCHES "--paper")
  message("fashion_mnist --paper takes many hours, and is to be started by hand: ${PROGRAM} --paper --out DIR")
  return()
endif()
file(REMOVE_RECURSE ${OUT})
execute_process(COMMAND ${PROGRAM} --out ${OUT} COMMAND_ERROR_IS_FATAL ANY)
