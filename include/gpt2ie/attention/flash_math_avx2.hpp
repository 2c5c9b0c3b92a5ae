// SPDX-License-Identifier: MIT
/// The three loops of flash attention for processors with AVX2, FMA and F16C.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <cstddef>
#include <cstdint>
#include <utility>

#include <immintrin.h>

#include <gpt2ie/backend/avx2_load.hpp>
#include <gpt2ie/backend/exp_avx2.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// head_dim: a multiple of 16. See PortableFlashMath for what each does, a row at a time.
template <NumberElement T>
struct FlashMathAvx2 {
  static constexpr int most_rows = 1;

  /// Sixteen lanes a key, folded in one tree; four keys at a time share the query's loads.
  __attribute__((target("avx2,fma,f16c"))) static void dots(const float* q, std::ptrdiff_t q_stride, int rows,
                                                            const T* k, std::ptrdiff_t stride, int n, int head_dim,
                                                            float scale, float* scores, std::ptrdiff_t scores_stride) {
    for (int r = 0; r < rows; ++r)
      row_dots(q + r * q_stride, k, stride, n, head_dim, scale, scores + r * scores_stride);
  }

  /// Eight lanes by the index of the score.
  __attribute__((target("avx2,fma,f16c"))) static float exponentials(float* scores, int n, float& largest) {
    __m256 most = _mm256_set1_ps(largest);
    int i = 0;
    for (; i + 8 <= n; i += 8) most = _mm256_max_ps(_mm256_loadu_ps(scores + i), most);
    const __m256i rest = first_lanes(n - i);
    if (i < n) {
      const __m256 last = _mm256_maskload_ps(scores + i, rest);
      most = _mm256_max_ps(_mm256_blendv_ps(most, last, _mm256_castsi256_ps(rest)), most);
    }
    __m128 four = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    four = _mm_max_ss(four, _mm_movehdup_ps(four));
    largest = _mm_cvtss_f32(four);

    const __m256 all_largest = _mm256_set1_ps(largest);
    __m256 sum = _mm256_setzero_ps();
    for (i = 0; i + 8 <= n; i += 8) {
      const __m256 e = ExpAvx2<float>::exp(_mm256_sub_ps(_mm256_loadu_ps(scores + i), all_largest));
      _mm256_storeu_ps(scores + i, e);
      sum = _mm256_add_ps(sum, e);
    }
    if (i < n) {
      const __m256 e = ExpAvx2<float>::exp(_mm256_sub_ps(_mm256_maskload_ps(scores + i, rest), all_largest));
      _mm256_maskstore_ps(scores + i, rest, e);
      sum = _mm256_add_ps(sum, _mm256_and_ps(e, _mm256_castsi256_ps(rest)));
    }
    return _mm_cvtss_f32(fold(sum, sum, sum, sum));
  }

  /// Each element of `out` is summed over the keys in ascending order.
  __attribute__((target("avx2,fma,f16c"))) static void add_weighted(const float* weight, std::ptrdiff_t weight_stride,
                                                                    int rows, const T* v, std::ptrdiff_t stride, int n,
                                                                    int head_dim, float* out,
                                                                    std::ptrdiff_t out_stride) {
    for (int r = 0; r < rows; ++r) add_to_row(weight + r * weight_stride, v, stride, n, head_dim, out + r * out_stride);
  }

 private:
  __attribute__((target("avx2,fma,f16c"))) static void row_dots(const float* q, const T* k, std::ptrdiff_t stride,
                                                                int n, int head_dim, float scale, float* scores) {
    const __m128 factor = _mm_set1_ps(scale);
    int i = 0;
    for (; i + 4 <= n; i += 4, k += 4 * stride) {
      _mm_storeu_ps(scores + i,
                    _mm_mul_ps(factor, four_dots(q, k, k + stride, k + 2 * stride, k + 3 * stride, head_dim)));
    }
    for (; i < n; ++i, k += stride) {
      _mm_store_ss(scores + i, _mm_mul_ss(factor, four_dots(q, k, k, k, k, head_dim)));
    }
  }

  __attribute__((target("avx2,fma,f16c"))) static void add_to_row(const float* weight, const T* v,
                                                                  std::ptrdiff_t stride, int n, int head_dim,
                                                                  float* out) {
    int d = 0;
    for (; d + 64 <= head_dim; d += 64) {
      add_columns(weight, v + d, stride, n, out + d, std::make_integer_sequence<int, 8>{});
    }
    for (; d < head_dim; d += 16) {
      add_columns(weight, v + d, stride, n, out + d, std::make_integer_sequence<int, 2>{});
    }
  }

  /// Eight elements as floats.
  __attribute__((target("avx2,fma,f16c"))) static __m256 eight(const T* from) {
    if constexpr (PlainElement<T>) {
      return Avx2Load<T>::eight(from);
    } else {
      const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
      return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
    }
  }

  __attribute__((target("avx2,fma,f16c"))) static __m128 four_dots(const float* q, const T* a, const T* b, const T* c,
                                                                   const T* d, int head_dim) {
    __m256 a0 = _mm256_setzero_ps(), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
    for (int i = 0; i < head_dim; i += 16) {
      const __m256 q0 = _mm256_loadu_ps(q + i), q1 = _mm256_loadu_ps(q + i + 8);
      a0 = _mm256_fmadd_ps(q0, eight(a + i), a0);
      a1 = _mm256_fmadd_ps(q1, eight(a + i + 8), a1);
      b0 = _mm256_fmadd_ps(q0, eight(b + i), b0);
      b1 = _mm256_fmadd_ps(q1, eight(b + i + 8), b1);
      c0 = _mm256_fmadd_ps(q0, eight(c + i), c0);
      c1 = _mm256_fmadd_ps(q1, eight(c + i + 8), c1);
      d0 = _mm256_fmadd_ps(q0, eight(d + i), d0);
      d1 = _mm256_fmadd_ps(q1, eight(d + i + 8), d1);
    }
    return fold(_mm256_add_ps(a0, a1), _mm256_add_ps(b0, b1), _mm256_add_ps(c0, c1), _mm256_add_ps(d0, d1));
  }

  /// The sums of the eight lanes of each.
  __attribute__((target("avx2,fma,f16c"))) static __m128 fold(__m256 a, __m256 b, __m256 c, __m256 d) {
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
    return _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
  }

  /// All ones in the first `count` lanes.
  __attribute__((target("avx2,fma,f16c"))) static __m256i first_lanes(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }

  /// Eight columns for each I, held in registers while the rows pass by.
  template <int... I>
  __attribute__((target("avx2,fma,f16c"))) static void add_columns(const float* weight, const T* v,
                                                                   std::ptrdiff_t stride, int n, float* out,
                                                                   std::integer_sequence<int, I...> /*columns*/) {
    __m256 sum[] = {_mm256_loadu_ps(out + 8 * I)...};
    for (int i = 0; i < n; ++i, v += stride) {
      const __m256 factor = _mm256_broadcast_ss(weight + i);
      ((sum[I] = _mm256_fmadd_ps(factor, eight(v + 8 * I), sum[I])), ...);
    }
    (_mm256_storeu_ps(out + 8 * I, sum[I]), ...);
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
