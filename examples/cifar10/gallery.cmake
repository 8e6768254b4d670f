# cmake -DPROGRAM=… -DOUT=folder -DARGUMENTS=… -DDATA=folder -P gallery.cmake
# Runs the example where its data are; at the paper's setting, which takes months on a CPU, only by hand.
if(NOT EXISTS ${DATA}/cifar10/data_batch_1.bin)
  message("cifar10 is left out: its data are not here; cmake/setup.sh --data fetches them")
  return()
endif()
if(ARGUMENTS MATCHES "--paper")
  message("cifar10 --paper takes months on a CPU, and is to be started by hand: ${PROGRAM} --paper --out DIR")
  return()
endif()
file(REMOVE_RECURSE ${OUT})
execute_process(COMMAND ${PROGRAM} --out ${OUT} COMMAND_ERROR_IS_FATAL ANY)
