// SPDX-License-Identifier: MIT
/// The target of AVX-512 kernels, and loads for kernels of processors that have it.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <immintrin.h>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

#define GPT2IE_TARGET_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Sixteen elements as floats, see Avx2Load. Here and in the kernels some intrinsics come with a mask of ones: without
/// one they begin with an undefined register in GCC 12's header, which it then warns of (its bug 105593).
template <PlainElement T>
struct Avx512Load {
  static constexpr __mmask16 all16 = 0xffff;

  GPT2IE_TARGET_AVX512 static __m512 sixteen(const T* from) {
    if constexpr (one_of<T, float>) {
      return _mm512_loadu_ps(from);
    } else {
      const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      if constexpr (one_of<T, f16>) return _mm512_maskz_cvtph_ps(all16, halves);
      return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(all16, _mm512_maskz_cvtepu16_epi32(all16, halves), 16));
    }
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
