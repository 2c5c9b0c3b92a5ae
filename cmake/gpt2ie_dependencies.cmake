# SPDX-License-Identifier: MIT
# Dependencies: an installed package first, else a download at a pinned version and hash, else one sentence.
include_guard(GLOBAL)

# gpt2ie_require_headers(<package> <minimum version> <target> <Debian package> <url> <sha256> <include folder>)
#
# Afterwards the header-only <target> exists. Of a download only the headers are taken: the CMake code of the fetched
# project never runs, so it can add no targets, options or flags.
function(gpt2ie_require_headers package minimum target debian_package url hash include_folder)
  if(TARGET ${target})
    return()
  endif()
  find_package(${package} ${minimum} QUIET GLOBAL)
  if(TARGET ${target})
    return()
  endif()
  if(NOT GPT2IE_FETCH_DEPENDENCIES)
    message(FATAL_ERROR "gpt2ie needs ${package} ${minimum} or newer: install it (on Debian and Ubuntu: apt install "
                        "${debian_package}) or configure with -DGPT2IE_FETCH_DEPENDENCIES=ON to download it.")
  endif()

  message(STATUS "gpt2ie: ${package} ${minimum} is not installed, downloading ${url}")
  include(FetchContent)
  string(TOLOWER "gpt2ie_${package}" name)
  FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${hash} DOWNLOAD_EXTRACT_TIMESTAMP OFF SOURCE_SUBDIR headers_only)
  FetchContent_MakeAvailable(${name})
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} INTERFACE "${${name}_SOURCE_DIR}/${include_folder}")
endfunction()

# What the library itself links. A macro, so that Threads is found in the project's own scope.
macro(gpt2ie_require_library_dependencies)
  gpt2ie_require_headers(
    Eigen3 3.4 Eigen3::Eigen libeigen3-dev https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.gz
    8586084f71f9bde545ee7fa6d00288b264a2b7ac3607b974e54d13e7162c1c72 .)
  gpt2ie_require_headers(
    nlohmann_json 3.10 nlohmann_json::nlohmann_json nlohmann-json3-dev
    https://github.com/nlohmann/json/releases/download/v3.11.3/json.tar.xz
    d6c65aca6b1ed68e7a182f4757257b107ae403032760ed6ef121c9d55e81757d include)
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED GLOBAL)
endmacro()
