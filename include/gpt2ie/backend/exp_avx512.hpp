// SPDX-License-Identifier: MIT
/// exp_float for sixteen lanes, on processors with AVX-512.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <gpt2ie/backend/avx512.hpp>
#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// The steps of exp_float, each product and sum fused; 2^n comes from an instruction that also knows subnormals. NaN
/// stays NaN.
template <class Float>
struct ExpAvx512 {
  GPT2IE_TARGET_AVX512 static __m512 exp(__m512 x) {
    constexpr __mmask16 all = 0xffff;
    const __m512 lowest = _mm512_set1_ps(-87.0f), to_integer = _mm512_set1_ps(0x1.8p23f);
    // The second operand is returned where either is NaN.
    const __m512 clamped = _mm512_maskz_max_ps(all, lowest, _mm512_maskz_min_ps(all, _mm512_set1_ps(89.0f), x));
    const __m512 whole = _mm512_sub_ps(_mm512_fmadd_ps(clamped, _mm512_set1_ps(1.44269504f), to_integer), to_integer);
    const __m512 r = _mm512_fmadd_ps(whole, _mm512_set1_ps(2.12194440e-4f),
                                     _mm512_fmadd_ps(whole, _mm512_set1_ps(-0.693359375f), clamped));
    __m512 p = _mm512_set1_ps(1.0f / 5040.0f);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 720.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
    const __mmask16 counts = _mm512_cmp_ps_mask(x, lowest, _CMP_NLT_UQ);
    return _mm512_maskz_scalef_ps(counts, p, whole);
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
