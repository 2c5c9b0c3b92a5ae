# SPDX-License-Identifier: MIT
# all_headers_cuda: every header alone as a .cu file, and units of all headers as .cpp and as .cu in one program (H-1).
# nvcc is called directly: the project stays a C++ project, and a machine without nvcc builds everything else.
include_guard(GLOBAL)

find_program(GPT2IE_NVCC nvcc HINTS ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES bin DOC "The CUDA compiler, for checks")
mark_as_advanced(GPT2IE_NVCC)
if(NOT GPT2IE_NVCC)
  add_custom_target(all_headers_cuda COMMAND "${CMAKE_COMMAND}" -E echo "nvcc was not found: no header was compiled as .cu"
                    VERBATIM)
  return()
endif()

# Eigen's own device code is full of warnings under nvcc 13; without it only ours can stop the check.
set(gpt2ie_cuda_flags -std=c++20 -DEIGEN_NO_CUDA -Xcompiler=-Wall,-Wextra,-Wshadow)
if(GPT2IE_WARNINGS_AS_ERRORS)
  list(APPEND gpt2ie_cuda_flags -Werror all-warnings)
endif()

# The third-party headers are the system's, so that their warnings count for nothing; /usr/include must not be named.
set(gpt2ie_third_party
    "$<TARGET_PROPERTY:Eigen3::Eigen,INTERFACE_INCLUDE_DIRECTORIES>"
    "$<TARGET_PROPERTY:nlohmann_json::nlohmann_json,INTERFACE_INCLUDE_DIRECTORIES>")
set(gpt2ie_third_party "$<FILTER:${gpt2ie_third_party},EXCLUDE,^(/usr/include)?$>")

# gpt2ie_cuda_object(<source> <object> <options>...)
function(gpt2ie_cuda_object source object)
  add_custom_command(
    OUTPUT "${object}"
    COMMAND
      "${GPT2IE_NVCC}" ${gpt2ie_cuda_flags} ${ARGN} -I "${PROJECT_SOURCE_DIR}/include" -I "${PROJECT_BINARY_DIR}/tests/odr"
      "$<$<BOOL:${gpt2ie_third_party}>:-isystem;$<JOIN:${gpt2ie_third_party},;-isystem;>>" -MD -MF "${object}.d" -x cu -c
      "${source}" -o "${object}"
    DEPENDS "${source}"
    DEPFILE "${object}.d"
    COMMENT "Compiling ${object}"
    COMMAND_EXPAND_LISTS VERBATIM)
endfunction()

set(gpt2ie_cuda_folder "${PROJECT_BINARY_DIR}/cuda")
set(gpt2ie_cuda_objects)
foreach(header IN LISTS gpt2ie_headers)
  cmake_path(RELATIVE_PATH header BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/include" OUTPUT_VARIABLE name)
  set(source "${gpt2ie_cuda_folder}/${name}.cu")
  file(CONFIGURE OUTPUT "${source}" CONTENT "#include <@name@>\n" @ONLY)
  gpt2ie_cuda_object("${source}" "${source}.o")
  list(APPEND gpt2ie_cuda_objects "${source}.o")
endforeach()

set(gpt2ie_cuda_units)
foreach(unit IN ITEMS cuda_first cuda_second)
  gpt2ie_cuda_object("${PROJECT_SOURCE_DIR}/tests/odr/unit.cpp" "${gpt2ie_cuda_folder}/${unit}.o" -DGPT2IE_ODR_UNIT=${unit})
  list(APPEND gpt2ie_cuda_units "${gpt2ie_cuda_folder}/${unit}.o")
endforeach()
set(gpt2ie_cuda_program "${gpt2ie_cuda_folder}/odr_cuda")
add_custom_command(
  OUTPUT "${gpt2ie_cuda_program}"
  COMMAND "${GPT2IE_NVCC}" -std=c++20 -DGPT2IE_ODR_CUDA "${PROJECT_SOURCE_DIR}/tests/odr/main.cpp" ${gpt2ie_cuda_units}
          "$<TARGET_OBJECTS:gpt2ie_odr_plain_first>" "$<TARGET_OBJECTS:gpt2ie_odr_plain_second>" -o "${gpt2ie_cuda_program}"
  COMMAND "${gpt2ie_cuda_program}"
  DEPENDS "${PROJECT_SOURCE_DIR}/tests/odr/main.cpp" ${gpt2ie_cuda_units} $<TARGET_OBJECTS:gpt2ie_odr_plain_first>
          $<TARGET_OBJECTS:gpt2ie_odr_plain_second>
  COMMENT "Linking units compiled as .cpp and as .cu"
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(all_headers_cuda DEPENDS ${gpt2ie_cuda_objects} "${gpt2ie_cuda_program}")
