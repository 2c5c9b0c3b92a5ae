# SPDX-License-Identifier: MIT
# Configures, builds and runs one consumer project:
#   cmake -DPROJECT=folder -DBUILD=folder -DCOMPILER=... -DARGUMENTS=a|b -P run.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message("${output}")
    message(FATAL_ERROR "'${command}' ended with ${status}, see above")
  endif()
endfunction()

string(REPLACE "|" ";" arguments "${ARGUMENTS}")
file(REMOVE_RECURSE "${BUILD}")
run("${CMAKE_COMMAND}" -S "${PROJECT}" -B "${BUILD}" "-DCMAKE_CXX_COMPILER=${COMPILER}" ${arguments})
run("${CMAKE_COMMAND}" --build "${BUILD}")
run("${BUILD}/consumer")

# No project of somebody else was downloaded, and nothing of gpt2ie but headers took part.
file(GLOB downloads "${BUILD}/_deps/*-subbuild")
if(downloads)
  message(FATAL_ERROR "the consumer downloaded ${downloads}")
endif()
