# SPDX-License-Identifier: MIT
# One compilation as a test:
#   cmake -DCOMPILER=... -DSOURCE=... -DINCLUDES=a|b -DFLAGS=a|b [-DMUST_FAIL=ON] [-DPRECOMPILED=header] -P this file
#
# Lines of the source speak to this script:
#   // expect: SENTENCE    with MUST_FAIL, GPT2IE_MUST_FAIL is defined, the compiler has to refuse the file, and the first
#                          error that it prints has to contain SENTENCE; nothing else may be called an error (of several
#                          such lines the others may come later, and as many errors are allowed)
#   // flags: OPTION...    more options for the compiler
# Without MUST_FAIL the file has to compile: the passing twin, which shows that nothing but the misuse was refused.
# PRECOMPILED is a header that has its compiled form beside it; sources that include the umbrella begin with it.
cmake_minimum_required(VERSION 3.25)

file(STRINGS "${SOURCE}" comments REGEX "^// (expect|flags): ")
file(STRINGS "${SOURCE}" umbrella REGEX "^#include <gpt2ie/gpt2ie\\.hpp>")
set(sentences)
set(own_flags)
set(command "${COMPILER}" -std=c++20 -fsyntax-only)
string(REPLACE "|" ";" flags "${FLAGS}")
string(REPLACE "|" ";" includes "${INCLUDES}")
list(TRANSFORM includes PREPEND -I)
list(APPEND command ${flags} ${includes})
foreach(line IN LISTS comments)
  if(line MATCHES "^// expect: (.+)$")
    list(APPEND sentences "${CMAKE_MATCH_1}")
  elseif(line MATCHES "^// flags: (.+)$")
    separate_arguments(more UNIX_COMMAND "${CMAKE_MATCH_1}")
    list(APPEND own_flags ${more})
  endif()
endforeach()
list(APPEND command ${own_flags})
if(PRECOMPILED AND umbrella AND NOT own_flags)
  list(APPEND command -include "${PRECOMPILED}")
endif()
if(MUST_FAIL)
  list(APPEND command -DGPT2IE_MUST_FAIL)
  if(NOT sentences)
    message(FATAL_ERROR "${SOURCE} has no line '// expect: SENTENCE'")
  endif()
endif()

set(ENV{LC_ALL} C)
execute_process(COMMAND ${command} "${SOURCE}" RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)

if(NOT MUST_FAIL)
  if(NOT status EQUAL 0)
    message("${output}")
    message(FATAL_ERROR "${SOURCE} has to compile, but does not, see above")
  endif()
  return()
endif()

if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles with GPT2IE_MUST_FAIL defined, and must not")
endif()
string(REGEX MATCH "error: [^\n]*" first_error "${output}")
list(GET sentences 0 sentence)
string(FIND "${first_error}" "${sentence}" place)
if(place EQUAL -1)
  message("${output}")
  message(FATAL_ERROR "${SOURCE}: the first error, see above, has to say\n  ${sentence}")
endif()
string(REGEX REPLACE "[][;]" "." lines "${output}")  # they would end or join elements of a list
string(REGEX MATCHALL "error: " errors "${lines}")
list(LENGTH errors errors)
list(LENGTH sentences allowed)
if(errors GREATER allowed)
  message("${output}")
  message(FATAL_ERROR "${SOURCE}: ${errors} errors, see above, where ${allowed} should say it all")
endif()
foreach(sentence IN LISTS sentences)
  string(FIND "${output}" "${sentence}" place)
  if(place EQUAL -1)
    message("${output}")
    message(FATAL_ERROR "${SOURCE}: the compiler, see above, has to say\n  ${sentence}")
  endif()
endforeach()
message("${first_error}")
