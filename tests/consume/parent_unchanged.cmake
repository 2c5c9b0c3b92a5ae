# SPDX-License-Identifier: MIT
# Shows that gpt2ie as a sub-project leaves its parent as it was:
#   remember_parent()  before it is added, and  check_parent_unchanged(<its source folder>)  after.

set(parent_directory_properties COMPILE_DEFINITIONS COMPILE_FEATURES COMPILE_OPTIONS INCLUDE_DIRECTORIES LINK_DIRECTORIES
                                LINK_LIBRARIES LINK_OPTIONS TESTS BUILDSYSTEM_TARGETS)

# Variables that the calls themselves set; everything else that a project could change is compared.
set(parent_ignored "^(remembered_|parent_|name$|names$|value$|ARG[CNV0-9]*$|CMAKE_(CURRENT_FUNCTION|MATCH|PARENT_LIST|PROJECT_VERSION)|FETCHCONTENT_|_|gpt2ie_(SOURCE|BINARY)_DIR$|gpt2ie_(POPULATED|IS_TOP_LEVEL)$)")

# Cache entries that may appear: gpt2ie's own options, and what find_package and project leave.
set(parent_allowed_cache "^(GPT2IE_|gpt2ie_|FETCHCONTENT_|Eigen3_DIR$|nlohmann_json_DIR$|CMAKE_HAVE_LIBC_PTHREAD|CMAKE_PROJECT_VERSION|FIND_PACKAGE_MESSAGE_DETAILS_)")

macro(remember_parent)
  get_cmake_property(remembered_cache CACHE_VARIABLES)
  get_cmake_property(remembered_names VARIABLES)
  foreach(name IN LISTS remembered_names)
    if(NOT name MATCHES "${parent_ignored}")
      set(remembered_value_${name} "${${name}}")
    endif()
  endforeach()
  foreach(name IN LISTS parent_directory_properties)
    get_directory_property(remembered_property_${name} ${name})
  endforeach()
endmacro()

macro(check_parent_unchanged source_dir)
  get_cmake_property(parent_names VARIABLES)
  get_cmake_property(parent_cache CACHE_VARIABLES)
  foreach(name IN LISTS parent_names)
    if(name MATCHES "${parent_ignored}" OR name MATCHES "${parent_allowed_cache}")
      continue()
    endif()
    if(NOT DEFINED remembered_value_${name})
      message(FATAL_ERROR "adding gpt2ie set ${name} to '${${name}}' in its parent")
    elseif(NOT "${remembered_value_${name}}" STREQUAL "${${name}}")
      message(FATAL_ERROR "adding gpt2ie changed ${name} from '${remembered_value_${name}}' to '${${name}}'")
    endif()
  endforeach()
  foreach(name IN LISTS parent_cache)
    if(NOT name IN_LIST remembered_cache AND NOT name MATCHES "${parent_allowed_cache}")
      message(FATAL_ERROR "adding gpt2ie put ${name} into the cache")
    endif()
  endforeach()
  foreach(name IN LISTS parent_directory_properties)
    get_directory_property(value ${name})
    if(NOT "${remembered_property_${name}}" STREQUAL "${value}")
      message(FATAL_ERROR "adding gpt2ie changed the parent's ${name} from '${remembered_property_${name}}' to '${value}'")
    endif()
  endforeach()

  # Of gpt2ie itself: the one target, which builds nothing, and no folder or test.
  foreach(name IN ITEMS "BUILDSYSTEM_TARGETS=gpt2ie" "SUBDIRECTORIES=" "TESTS=" "COMPILE_OPTIONS=")
    string(REGEX MATCH "^([A-Z_]+)=(.*)$" parent_match "${name}")
    set(parent_expected "${CMAKE_MATCH_2}")
    get_directory_property(value DIRECTORY "${source_dir}" "${CMAKE_MATCH_1}")
    if(NOT "${value}" STREQUAL "${parent_expected}")
      message(FATAL_ERROR "gpt2ie as a sub-project has ${CMAKE_MATCH_1} '${value}', expected '${parent_expected}'")
    endif()
  endforeach()
endmacro()
