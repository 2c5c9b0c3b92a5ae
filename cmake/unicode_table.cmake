# SPDX-License-Identifier: MIT
# Writes include/gpt2ie/tokenizer/unicode_table.hpp: which code points are letters, numbers and white space.
#
#   cmake -D UCD=DerivedGeneralCategory.txt -D OUT=include/gpt2ie/tokenizer/unicode_table.hpp -P cmake/unicode_table.cmake
#
# UCD is a file of the Unicode Character Database (extracted/DerivedGeneralCategory.txt, any version from 5.0 on; its
# first line names the version). It is not part of the repository: https://www.unicode.org/Public/16.0.0/ucd/
cmake_minimum_required(VERSION 3.25)

if(NOT EXISTS "${UCD}" OR NOT OUT)
  message(FATAL_ERROR "unicode_table: give -DUCD=<DerivedGeneralCategory.txt> and -DOUT=<header to write>")
endif()

# Brackets and semicolons mean something in CMake lists, so they go before anything is split.
file(READ "${UCD}" text)
string(REPLACE ";" ":" text "${text}")
string(REGEX REPLACE "[][\\\\]" "" text "${text}")
if(NOT text MATCHES "^# DerivedGeneralCategory-([0-9]+\\.[0-9]+\\.[0-9]+)\\.txt")
  message(FATAL_ERROR "unicode_table: ${UCD} does not begin with '# DerivedGeneralCategory-<version>.txt'")
endif()
set(version "${CMAKE_MATCH_1}")

# Unicode's White_Space is the categories Z* and these six control characters. A leading newline marks a line's start.
string(APPEND text "\n0009..000D : Z\n0085 : Z\n")
string(REGEX MATCHALL "\n[0-9A-F]+(\\.\\.[0-9A-F]+)? *: *[LNZ]" lines "${text}")

# One entry a range, "first:last:class" in hexadecimal of one width: then sorting text sorts numbers.
set(ranges "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "([0-9A-F]+)(\\.\\.([0-9A-F]+))? *: *([LNZ])" _ "${line}")
  set(first "0000${CMAKE_MATCH_1}")
  set(last "0000${CMAKE_MATCH_3}")
  if(CMAKE_MATCH_3 STREQUAL "")
    set(last "${first}")
  endif()
  string(REPLACE "Z" "S" class "${CMAKE_MATCH_4}")
  string(REGEX REPLACE "^.*(......)$" "\\1" first "${first}")
  string(REGEX REPLACE "^.*(......)$" "\\1" last "${last}")
  list(APPEND ranges "${first}:${last}:${class}")
endforeach()
list(SORT ranges)

# A run begins where the class changes; what no range covers is "other".
set(runs "")
set(count 0)
set(current "")
set(next 0) # the first code point that no range has covered yet
macro(begin_run code_point class)
  if(NOT "${class}" STREQUAL "${current}")
    math(EXPR hex "${code_point}" OUTPUT_FORMAT HEXADECIMAL)
    math(EXPR column "${count} % 8")
    if(column EQUAL 0)
      string(APPEND runs "\n   ")
    endif()
    string(APPEND runs " {${hex}, '${class}'},")
    math(EXPR count "${count} + 1")
    set(current "${class}")
  endif()
endmacro()
foreach(range IN LISTS ranges)
  string(REGEX MATCH "^([0-9A-F]+):([0-9A-F]+):(.)$" _ "${range}")
  set(class "${CMAKE_MATCH_3}")
  math(EXPR first "0x${CMAKE_MATCH_1}")
  math(EXPR last "0x${CMAKE_MATCH_2}")
  if(first LESS next)
    message(FATAL_ERROR "unicode_table: U+${CMAKE_MATCH_1} is in two ranges of ${UCD}")
  elseif(first GREATER next)
    begin_run(${next} "-")
  endif()
  begin_run(${first} "${class}")
  math(EXPR next "${last} + 1")
endforeach()
begin_run(${next} "-")

file(WRITE "${OUT}" "// SPDX-License-Identifier: MIT
/// Classes of Unicode ${version}, written by cmake/unicode_table.cmake from DerivedGeneralCategory.txt. Do not edit.
///
/// The data is Unicode's, Copyright Unicode, Inc., used under the Unicode License V3
/// (https://www.unicode.org/license.txt).
#pragma once

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// The version of Unicode that the table below was made from.
inline constexpr char unicode_version[] = \"${version}\";

/// From `first` up to the next run's `first`, every code point has one class: 'L' a letter (general category L*), 'N' a
/// number (N*), 'S' white space (White_Space), '-' none of them.
struct UnicodeRun {
  char32_t first;
  char letter_of_class;
};

// clang-format off
inline constexpr UnicodeRun unicode_runs[] = {${runs}
};
// clang-format on

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
")
message(STATUS "unicode_table: ${count} runs of Unicode ${version}")
