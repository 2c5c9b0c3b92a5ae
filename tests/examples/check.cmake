# SPDX-License-Identifier: MIT
# What the checks of the programs share. PROGRAM: the program; MODELS: the bundled models; WORK: a folder to write in.
# A program that takes no model sets without_model before it includes this.
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY "${WORK}")
cmake_path(GET PROGRAM FILENAME program_name)

# run(<argument>...): the program's exit code, stdout and stderr, in status, out and err. Its stdin is WORK/input. The
# argument <empty> is the empty one, which CMake's lists lose.
function(run)
  if(NOT EXISTS "${WORK}/input")
    file(WRITE "${WORK}/input" "")
  endif()
  set(arguments "")
  foreach(argument IN LISTS ARGN)
    string(REGEX REPLACE "^<empty>$" "" argument "${argument}")
    string(APPEND arguments " [==[${argument}]==]")
  endforeach()
  cmake_language(
    EVAL CODE "execute_process(COMMAND [==[${PROGRAM}]==] ${arguments} INPUT_FILE [==[${WORK}/input]==]
               RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)")
  set(command "${ARGN}" PARENT_SCOPE)
  foreach(result IN ITEMS status out err)
    set(${result} "${${result}}" PARENT_SCOPE)
  endforeach()
endfunction()

# Fails the test, and goes on with it.
function(complain what)
  message(SEND_ERROR "${program_name} ${command}: ${what}\nstatus: ${status}\nstdout: ${out}\nstderr: ${err}")
endfunction()

function(expect_equal actual expected)
  if(NOT actual STREQUAL expected)
    complain("expected <${expected}>, found <${actual}>")
  endif()
endfunction()

function(expect_match actual pattern)
  if(NOT actual MATCHES "${pattern}")
    complain("expected a match of <${pattern}>, found <${actual}>")
  endif()
endfunction()

# succeeds(<argument>...): runs it; exit code 0.
macro(succeeds)
  run(${ARGN})
  expect_equal("${status}" 0)
endmacro()

# refuses(<code> <pattern> <argument>...): that exit code, one line on stderr that matches, nothing on stdout.
function(refuses code pattern)
  run(${ARGN})
  expect_equal("${status}" "${code}")
  expect_equal("${out}" "")
  expect_match("${err}" "^${program_name}: [^\n]+\n$")
  expect_match("${err}" "${pattern}")
endfunction()
# expect_json(<expected> <path>...): the value at that path of the JSON in `out`.
function(expect_json expected)
  string(JSON value ERROR_VARIABLE error GET "${out}" ${ARGN})
  if(error)
    complain("no JSON value at ${ARGN}: ${error}")
  endif()
  expect_equal("${value}" "${expected}")
endfunction()

# expect_json_match(<pattern> <path>...): the same for a pattern.
function(expect_json_match pattern)
  string(JSON value ERROR_VARIABLE error GET "${out}" ${ARGN})
  if(error)
    complain("no JSON value at ${ARGN}: ${error}")
  endif()
  expect_match("${value}" "${pattern}")
endfunction()

# Every program has these.
succeeds(--help)
expect_match("${out}" "Usage: ${program_name} ")
if(NOT without_model)
  expect_match("${out}" "--model DIR=")
endif()
succeeds(--version)
expect_match("${out}" "^gpt2ie [0-9]+\\.[0-9]+\\.[0-9]+\n$")
refuses(2 "--help lists the options" --nonsense)
if(EXISTS /dev/full)
  foreach(option IN ITEMS --help --version)
    execute_process(COMMAND "${PROGRAM}" ${option} OUTPUT_FILE /dev/full RESULT_VARIABLE status ERROR_VARIABLE err)
    expect_equal("${status}" 1)
    expect_match("${err}" "^${program_name}: can't write to standard output[^\n]*\n$")
  endforeach()
endif()
