# SPDX-License-Identifier: MIT
# The programs that the documentation shows are compiled and run as they stand there. A fenced ```cpp block that begins
# with the name of a file in a comment, as in `// my_storage.hpp`, is that file; blocks that begin otherwise are only read.
# The files of one document lie together, and each .cpp among them is a program and a test. A block that names a file of
# this repository has to be equal to it, but for the first lines.
include_guard(GLOBAL)

# gpt2ie_document_examples(<document>)
function(gpt2ie_document_examples document)
  cmake_path(GET document STEM stem)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/docs/${stem}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${document}")
  file(READ "${document}" rest)
  set(fence "```cpp\n")
  while(TRUE)
    string(FIND "${rest}" "${fence}" begin)
    if(begin EQUAL -1)
      break()
    endif()
    string(SUBSTRING "${rest}" ${begin} -1 rest)
    string(SUBSTRING "${rest}" 7 -1 rest)
    string(FIND "${rest}" "\n```" end)
    string(SUBSTRING "${rest}" 0 ${end} block)
    string(SUBSTRING "${rest}" ${end} -1 rest)
    if(NOT block MATCHES "^// ([a-z0-9_/]+\\.[ch]pp)\n")
      continue()
    endif()
    set(name "${CMAKE_MATCH_1}")
    file(CONFIGURE OUTPUT "${folder}/${name}" CONTENT "${block}\n" @ONLY)
    if(EXISTS "${PROJECT_SOURCE_DIR}/${name}")
      string(REPLACE "/" "." test "${name}")
      add_test(NAME docs.${stem}.shows.${test}
               COMMAND "${CMAKE_COMMAND}" "-DSHOWN=${folder}/${name}" "-DSOURCE=${PROJECT_SOURCE_DIR}/${name}" -P
                       "${PROJECT_SOURCE_DIR}/tests/support/check_shown.cmake")
      set_tests_properties(docs.${stem}.shows.${test} PROPERTIES LABELS docs)
    endif()
    if(name MATCHES "^([a-z0-9_/]+)\\.cpp$")
      string(REPLACE "/" "." target "docs.${stem}.${CMAKE_MATCH_1}")
      add_executable(${target} "${folder}/${name}")
      target_link_libraries(${target} PRIVATE gpt2ie::gpt2ie gpt2ie_warnings)
      target_include_directories(${target} PRIVATE "${folder}")
      add_test(NAME ${target} COMMAND ${target} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
      set_tests_properties(${target} PROPERTIES LABELS docs)
    endif()
  endwhile()
endfunction()

file(GLOB documents CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/*.md")
foreach(document IN LISTS documents)
  gpt2ie_document_examples("${document}")
endforeach()

add_test(NAME docs.anchors COMMAND "${CMAKE_COMMAND}" "-DROOT=${PROJECT_SOURCE_DIR}" -P
                                   "${PROJECT_SOURCE_DIR}/tests/support/check_anchors.cmake")
set_tests_properties(docs.anchors PROPERTIES LABELS docs)
