// SPDX-License-Identifier: MIT
/// Activations to integers on processors with AVX2: to the bit what quantize_group gives.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <cstdint>

#include <immintrin.h>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// A template for the sake of nvcc, see Avx2Load.
template <class Float>
struct QuantizeAvx2 {
  /// x[32].
  __attribute__((target("avx2,fma,f16c"))) static void group(const Float* x, std::int8_t* value, Float& scale,
                                                             std::int32_t& sum) {
    const __m256 a = _mm256_loadu_ps(x), b = _mm256_loadu_ps(x + 8), c = _mm256_loadu_ps(x + 16),
                 d = _mm256_loadu_ps(x + 24);
    // 0 for what is finite, else NaN.
    const __m256 zero = _mm256_setzero_ps();
    const __m256 spoilt = _mm256_add_ps(_mm256_add_ps(_mm256_mul_ps(a, zero), _mm256_mul_ps(b, zero)),
                                        _mm256_add_ps(_mm256_mul_ps(c, zero), _mm256_mul_ps(d, zero)));
    const bool finite = _mm256_movemask_ps(_mm256_cmp_ps(spoilt, zero, _CMP_EQ_OQ)) == 0xff;
    const __m256 largest = _mm256_max_ps(_mm256_max_ps(size(a), size(b)), _mm256_max_ps(size(c), size(d)));
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(largest), _mm256_extractf128_ps(largest, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    const Float most = _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
    const Float factor = finite && most > 0 ? 127.0f / most : 0.0f;
    const bool usable = factor > 0 && factor <= 3e38f;

    const __m256 by = _mm256_set1_ps(usable ? factor : 0.0f);
    const __m256i i = integers(a, by), j = integers(b, by), k = integers(c, by), l = integers(d, by);
    const __m256i pairs = _mm256_add_epi32(_mm256_add_epi32(i, j), _mm256_add_epi32(k, l));
    __m128i total = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
    total = _mm_add_epi32(total, _mm_shuffle_epi32(total, 0x4e));
    total = _mm_add_epi32(total, _mm_shuffle_epi32(total, 0xb1));
    // Packing works within halves: four bytes of each of the eight quads end up in another order.
    const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(i, j), _mm256_packs_epi32(k, l));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(value),
                        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    scale = finite ? (usable ? most / 127.0f : 0.0f) : not_a_number();
    sum = finite ? _mm_cvtsi128_si32(total) : 0;
    if (!finite) _mm256_storeu_si256(reinterpret_cast<__m256i*>(value), _mm256_setzero_si256());
  }

 private:
  __attribute__((target("avx2,fma,f16c"))) static __m256 size(__m256 x) {
    return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
  }
  __attribute__((target("avx2,fma,f16c"))) static __m256i integers(__m256 x, __m256 factor) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(x, factor));
  }
  __attribute__((target("avx2,fma,f16c"))) static Float not_a_number() { return __builtin_nanf(""); }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
