// SPDX-License-Identifier: MIT
/// Eight elements as floats, for kernels of processors with AVX2, FMA and F16C.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <immintrin.h>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Static members of a class template, each with the attribute: the form that GCC, Clang and nvcc all compile for the
/// instruction set named, in a binary that is built for another.
template <PlainElement T>
struct Avx2Load {
  __attribute__((target("avx2,fma,f16c"))) static __m256 eight(const T* from) {
    if constexpr (one_of<T, float>) {
      return _mm256_loadu_ps(from);
    } else {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      if constexpr (one_of<T, f16>) return _mm256_cvtph_ps(halves);
      return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
    }
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
