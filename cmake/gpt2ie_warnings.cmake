# SPDX-License-Identifier: MIT
# The warnings that the project's own tests, examples and benchmarks are held to. Nothing here reaches a consumer.
include_guard(GLOBAL)

add_library(gpt2ie_warnings INTERFACE)
target_compile_options(
  gpt2ie_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow $<$<BOOL:${GPT2IE_WARNINGS_AS_ERRORS}>:-Werror>)
