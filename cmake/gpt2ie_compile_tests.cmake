# SPDX-License-Identifier: MIT
# Compilations as tests, see tests/support/check_compiles.cmake for what a source can ask for.
include_guard(GLOBAL)

string(STRIP "${CMAKE_CXX_FLAGS}" gpt2ie_compile_flags)
separate_arguments(gpt2ie_compile_flags UNIX_COMMAND "${gpt2ie_compile_flags}")
set(gpt2ie_compile_includes "$<TARGET_PROPERTY:gpt2ie_test_main,INCLUDE_DIRECTORIES>")

# The umbrella is parsed once, by the first of these tests, instead of once in each.
set(gpt2ie_compiled_umbrella "${PROJECT_BINARY_DIR}/compiled_umbrella/umbrella.hpp")
file(CONFIGURE OUTPUT "${gpt2ie_compiled_umbrella}" CONTENT "#include <gpt2ie/gpt2ie.hpp>\n")
add_test(NAME compile_fail.prepare
         COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 ${gpt2ie_compile_flags} "-I$<JOIN:${gpt2ie_compile_includes},;-I>" -x
                 c++-header "${gpt2ie_compiled_umbrella}" -o "${gpt2ie_compiled_umbrella}.gch"
         COMMAND_EXPAND_LISTS)
set_tests_properties(compile_fail.prepare PROPERTIES LABELS compile_fail TIMEOUT 300 FIXTURES_SETUP compiled_umbrella)

# gpt2ie_compile_test(<test name> <source> <label> [MUST_FAIL])
function(gpt2ie_compile_test name source label)
  cmake_parse_arguments(PARSE_ARGV 3 arg "MUST_FAIL" "" "")
  list(JOIN gpt2ie_compile_flags "|" flags)
  add_test(NAME ${name}
           COMMAND "${CMAKE_COMMAND}" -DCOMPILER=${CMAKE_CXX_COMPILER} -DSOURCE=${source}
                   "-DINCLUDES=$<JOIN:${gpt2ie_compile_includes},|>" "-DFLAGS=${flags}" -DMUST_FAIL=${arg_MUST_FAIL}
                   -DPRECOMPILED=${gpt2ie_compiled_umbrella} -P "${PROJECT_SOURCE_DIR}/tests/support/check_compiles.cmake")
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 300 FIXTURES_REQUIRED compiled_umbrella)
endfunction()
