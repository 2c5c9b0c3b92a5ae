# SPDX-License-Identifier: MIT
# Compilations as tests, see tests/support/check_compiles.cmake for what a source can ask for.
include_guard(GLOBAL)

# gpt2ie_compile_test(<test name> <source> <label> [MUST_FAIL])
function(gpt2ie_compile_test name source label)
  cmake_parse_arguments(PARSE_ARGV 3 arg "MUST_FAIL" "" "")
  string(STRIP "${CMAKE_CXX_FLAGS}" flags)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  list(JOIN flags "|" flags)
  add_test(NAME ${name}
           COMMAND "${CMAKE_COMMAND}" -DCOMPILER=${CMAKE_CXX_COMPILER} -DSOURCE=${source}
                   "-DINCLUDES=$<JOIN:$<TARGET_PROPERTY:gpt2ie_test_pch,INCLUDE_DIRECTORIES>,|>" "-DFLAGS=${flags}"
                   -DMUST_FAIL=${arg_MUST_FAIL} -P "${PROJECT_SOURCE_DIR}/tests/support/check_compiles.cmake")
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 300)
endfunction()
