// SPDX-License-Identifier: MIT
// expect: gpt2ie: -ffast-math removes the checks for NaN and reorders sums, so results would be silently wrong
/// N-10: a build with -ffast-math, which GCC and Clang announce by this macro, stops at the first header.
#if defined(GPT2IE_MUST_FAIL)
#define __FAST_MATH__ 1
#endif
#include <gpt2ie/config.hpp>
