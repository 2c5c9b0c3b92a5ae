// SPDX-License-Identifier: MIT
/// Every macro of the library. A program may define, before its first include:
///
/// - `GPT2IE_ASSERT(condition)`: checks a precondition. By default it throws `gpt2ie::Error` in builds without NDEBUG
/// and
///   is nothing in builds with it.
/// - `GPT2IE_ERROR_HANDLER(error)`: what a build without exceptions does with an `Error` instead of throwing it; it
/// must not
///   return. By default such a build ends the program with std::terminate.
///
/// The rest is set here:
///
/// - `GPT2IE_HD`: marks a function that runs on the host and, when compiled by nvcc, on the device as well.
/// - `GPT2IE_EXCEPTIONS`: 1 where the compiler has exceptions switched on, else 0.
/// - `GPT2IE_ABI`: the inline namespace of everything. It names the instruction set that the compiler may use, so that
/// two
///   translation units built with different -m flags never share one definition of a function.
#pragma once

#include <gpt2ie/version.hpp>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || defined(__ASSOCIATIVE_MATH__)
#error \
    "gpt2ie: -ffast-math removes the checks for NaN and reorders sums, so results would be silently wrong: build without it"
#endif

#if defined(__CUDACC__)
#define GPT2IE_HD __host__ __device__
#else
#define GPT2IE_HD
#endif

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define GPT2IE_EXCEPTIONS 1
#else
#define GPT2IE_EXCEPTIONS 0
#endif

#if defined(__AVX512F__)
#define GPT2IE_ABI v0_avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define GPT2IE_ABI v0_avx2
#elif defined(__AVX__)
#define GPT2IE_ABI v0_avx
#else
#define GPT2IE_ABI v0
#endif

#if !defined(GPT2IE_ASSERT)
#if defined(NDEBUG)
#define GPT2IE_ASSERT(condition) static_cast<void>(0)
#else
#define GPT2IE_ASSERT(condition)                                                                                \
  ((condition) ? static_cast<void>(0)                                                                           \
               : ::gpt2ie::fail(::gpt2ie::errc::broken_precondition, "the precondition " #condition " to hold", \
                                "that it does not"))
#endif
#endif
