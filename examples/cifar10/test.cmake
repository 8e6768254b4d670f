# cmake -DEXAMPLE=program -DIMAGES=program -DWORK=folder -P test.cmake
# The example on a few made-up pictures: all methods, tables and pictures; a run that was killed and resumed must end with
# the same bits; what cannot be done is refused with a word.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
execute_process(COMMAND ${IMAGES} ${WORK} COMMAND_ERROR_IS_FATAL ANY)
set(sizes --members 2 --batch 20 --train 0 --test 0 --checkpoint-seconds 0)
set(common --data ${WORK}/cifar --ood ${WORK}/svhn.bin ${sizes})

function(run folder)
  execute_process(COMMAND ${EXAMPLE} ${common} --out ${WORK}/${folder} ${ARGN} COMMAND_ERROR_IS_FATAL ANY
    OUTPUT_VARIABLE output)
  if(output MATCHES "gnuplot failed")
    message(FATAL_ERROR "${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()
function(refused words)
  execute_process(COMMAND ${EXAMPLE} ${ARGN} RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE error)
  if(result EQUAL 0 OR NOT error MATCHES "${words}")
    message(FATAL_ERROR "cifar10 ${ARGN} was not refused with \"${words}\", but said: ${error}")
  endif()
endfunction()
# The table without its last column, the seconds; a checksum of all weights is the one before.
function(table folder out)
  file(STRINGS ${WORK}/${folder}/table.csv rows)
  list(TRANSFORM rows REPLACE ",[^,]*$" "")
  set(${out} "${rows}" PARENT_SCOPE)
endfunction()
function(same a b)
  table(${a} first)
  table(${b} second)
  if(NOT first STREQUAL second)
    message(FATAL_ERROR "${b} ended with another table than ${a}:\n${first}\n${second}")
  endif()
endfunction()

run(all --steps 5 --human ${WORK}/human.npy)
foreach(file table.md table.csv summary.csv roc.gp reliability.gp histograms.gp votes.gp checkpoints/DE-42)
  if(NOT EXISTS ${WORK}/all/${file})
    message(FATAL_ERROR "cifar10 wrote no ${file}")
  endif()
endforeach()
find_program(gnuplot gnuplot)
foreach(picture roc reliability histograms votes)
  if(gnuplot AND NOT EXISTS ${WORK}/all/${picture}.png)
    message(FATAL_ERROR "cifar10 drew no ${picture}.png")
  endif()
endforeach()
table(all rows)
list(LENGTH rows count)
if(NOT count EQUAL 11 OR NOT rows MATCHES "^method,seed,steps,AUROC\\(H\\),AUROC\\(MD\\),Accuracy,H_o/H_t,MD_o/MD_t,ECE,NLL,"
    OR NOT rows MATCHES ",CE\\(human\\),KL\\(human\\),T,weights;")
  message(FATAL_ERROR "table.csv is not as expected: ${rows}")
endif()

# Killed without a chance to say goodbye, and resumed with another number of threads: the same bits. In function space and
# in weight space, with augmentation.
set(methods --steps 40 --methods kde-fWGD,cal-kde-WGD@0.5)
set(killed ${methods} --augment flip,crop)
run(whole ${killed} --threads 2)
string(JOIN "' '" words ${EXAMPLE} ${common} --out ${WORK}/killed ${killed} --threads 1)
execute_process(COMMAND sh -c "'${words}' > '${WORK}/killed.txt' 2>&1 & pid=$!
  while [ ! -e '${WORK}/killed/checkpoints/kde-fWGD-42' ]; do kill -0 $pid || exit 1; sleep 0.02; done
  kill -9 $pid; wait $pid; test $? -eq 137" RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR EXISTS ${WORK}/killed/table.csv)
  message(FATAL_ERROR "the run was not killed in its first method")
endif()
run(killed ${killed} --threads 1 --resume)
same(whole killed)
refused("is of another run" ${common} --out ${WORK}/killed ${methods} --augment flip --resume)
refused("is of another run" ${common} --out ${WORK}/killed ${killed} --network resnet20 --resume)

# What the temperature of a calibrated method does.
run(tau --steps 5 --methods DE,cal-kde-WGD@0.1,cal-kde-WGD,cal-kde-WGD-layers@0.5,cal-kde-WGD-coordinates@1e-3)
if(NOT EXISTS ${WORK}/tau/temperature.gp OR (gnuplot AND NOT EXISTS ${WORK}/tau/temperature.png))
  message(FATAL_ERROR "cifar10 drew no temperature.png")
endif()
# No SVHN: said, and another set taken.
execute_process(COMMAND ${EXAMPLE} --data ${WORK}/cifar ${sizes} --out ${WORK}/other --steps 2 --methods DE
  COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE output)
if(NOT output MATCHES "no SVHN here|of SVHN")
  message(FATAL_ERROR "cifar10 did not say that SVHN is missing: ${output}")
endif()

refused("cmake/setup.sh --data|cannot be opened" --data ${WORK}/none --out ${WORK}/none)
refused("data_batch_3.bin: has 122919 bytes, but must have 3073" --data ${WORK}/damaged --ood ${WORK}/svhn.bin
  ${sizes} --out ${WORK}/none)
refused("nothing.bin: cannot be opened" --data ${WORK}/cifar --ood ${WORK}/nothing.bin --out ${WORK}/none)
refused("test_32x32.mat is a file of Matlab" --data ${WORK}/cifar --ood ${WORK}/test_32x32.mat --out ${WORK}/none)
refused("human_short.npy is 59x10, but must be 60x10" ${common} --human ${WORK}/human_short.npy --out ${WORK}/none)
refused("human_wrong.npy: row 0 is no distribution" ${common} --human ${WORK}/human_wrong.npy --out ${WORK}/none)
refused("--network: resnet9" ${common} --network resnet9 --out ${WORK}/none)
refused("--augment" ${common} --augment rotate --out ${WORK}/none)
refused("give --resume" ${common} --out ${WORK}/all --steps 5)
execute_process(COMMAND ${EXAMPLE} --help RESULT_VARIABLE result OUTPUT_VARIABLE help)
if(NOT result EQUAL 0 OR NOT help MATCHES "--network")
  message(FATAL_ERROR "cifar10 --help does not help")
endif()
