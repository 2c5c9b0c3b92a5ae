# SPDX-License-Identifier: MIT
# A document shows a file: cmake -DSHOWN=<extracted block> -DSOURCE=<the file> -P this file fails unless they are equal
# but for their first lines, which are the file's name and its licence.
cmake_minimum_required(VERSION 3.25)

foreach(name IN ITEMS SHOWN SOURCE)
  file(READ "${${name}}" text)
  string(FIND "${text}" "\n" end)
  string(SUBSTRING "${text}" ${end} -1 ${name}_text)
endforeach()
if(NOT SHOWN_text STREQUAL SOURCE_text)
  message(FATAL_ERROR "the document that shows ${SOURCE} shows something else: copy the file into it")
endif()
