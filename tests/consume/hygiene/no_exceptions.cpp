// SPDX-License-Identifier: MIT
// flags: -fno-exceptions -fno-rtti -DJSON_NOEXCEPTION
/// H-4: a program without exceptions and run-time type information includes the umbrella, with its own error handler.
#include <cstdlib>

#define GPT2IE_ERROR_HANDLER(error) std::exit((error).what() != nullptr ? 1 : 2)
#include <gpt2ie/gpt2ie.hpp>
