// SPDX-License-Identifier: MIT
/// exp_float for eight lanes, on processors with AVX2, FMA and F16C.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <immintrin.h>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// The steps of exp_float, each product and sum fused. NaN stays NaN. A template for the sake of nvcc, see Avx2Load.
template <class Float>
struct ExpAvx2 {
  __attribute__((target("avx2,fma,f16c"))) static __m256 exp(__m256 x) {
    const __m256 lowest = _mm256_set1_ps(-87.0f), to_integer = _mm256_set1_ps(0x1.8p23f);
    // The second operand is returned where either is NaN.
    const __m256 clamped = _mm256_max_ps(lowest, _mm256_min_ps(_mm256_set1_ps(89.0f), x));
    const __m256 biased = _mm256_fmadd_ps(clamped, _mm256_set1_ps(1.44269504f), to_integer);
    const __m256 whole = _mm256_sub_ps(biased, to_integer);
    const __m256 r = _mm256_fmadd_ps(whole, _mm256_set1_ps(2.12194440e-4f),
                                     _mm256_fmadd_ps(whole, _mm256_set1_ps(-0.693359375f), clamped));
    __m256 p = _mm256_set1_ps(1.0f / 5040.0f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 720.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 120.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 24.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 6.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
    const __m256i exponent = _mm256_add_epi32(
        _mm256_sub_epi32(_mm256_castps_si256(biased), _mm256_castps_si256(to_integer)), _mm256_set1_epi32(126));
    const __m256 half = _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
    const __m256 scaled = _mm256_mul_ps(_mm256_mul_ps(p, half), _mm256_set1_ps(2.0f));
    return _mm256_andnot_ps(_mm256_cmp_ps(x, lowest, _CMP_LT_OQ), scaled);
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
