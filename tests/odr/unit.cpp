// SPDX-License-Identifier: MIT
/// H-1, H-2: one unit that includes every header. It is compiled several times (as .cpp, as .cu, with other instruction
/// sets), each time with another GPT2IE_ODR_UNIT, the name of the function that tells what this unit calls
/// gpt2ie::fail.
#include "all_headers.hpp"

const void* GPT2IE_ODR_UNIT() { return reinterpret_cast<const void*>(&gpt2ie::fail); }
