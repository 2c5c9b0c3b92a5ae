// SPDX-License-Identifier: MIT
/// The three loops of flash attention for processors with AVX-512.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <cstddef>
#include <utility>

#include <gpt2ie/backend/avx512.hpp>
#include <gpt2ie/backend/exp_avx512.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// head_dim: a multiple of 16. See PortableFlashMath for what each does.
///
/// Up to four rows share what they load. A dot product is summed in sixteen lanes along the head and folded by halves
/// of the lanes; a weighted sum in ascending order of the keys: both whatever rows and keys are worked on together.
template <NumberElement T>
struct FlashMathAvx512 {
  static constexpr int most_rows = 4;

  GPT2IE_TARGET_AVX512 static void dots(const float* q, std::ptrdiff_t q_stride, int rows, const T* k,
                                        std::ptrdiff_t stride, int n, int head_dim, float scale, float* scores,
                                        std::ptrdiff_t scores_stride) {
    if (rows == most_rows) {
      for (int i = 0; i < n; i += 4) {
        four_by_four(q, q_stride, k + i * stride, stride, n - i, head_dim, scale, scores + i, scores_stride);
      }
      return;
    }
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < n; i += 16) {
        sixteen_keys(q + r * q_stride, k + i * stride, stride, n - i, head_dim, scale, scores + r * scores_stride + i);
      }
    }
  }

  /// Sixteen lanes by the index of the score.
  GPT2IE_TARGET_AVX512 static float exponentials(float* scores, int n, float& largest) {
    __m512 most = _mm512_set1_ps(largest);
    for (int i = 0; i < n; i += 16) {
      const __mmask16 mask = first_lanes(n - i);
      // The second operand is returned where either is NaN, and where the mask has no one.
      most = _mm512_mask_max_ps(most, mask, _mm512_maskz_loadu_ps(mask, scores + i), most);
    }
    most = _mm512_maskz_max_ps(all, most, _mm512_maskz_shuffle_f32x4(all, most, most, 0x4e));
    most = _mm512_maskz_max_ps(all, most, _mm512_maskz_shuffle_f32x4(all, most, most, 0xb1));
    most = _mm512_maskz_max_ps(all, most, _mm512_maskz_permute_ps(all, most, 0x4e));
    most = _mm512_maskz_max_ps(all, most, _mm512_maskz_permute_ps(all, most, 0xb1));
    largest = _mm512_cvtss_f32(most);

    __m512 sum = _mm512_setzero_ps();
    for (int i = 0; i < n; i += 16) {
      const __mmask16 mask = first_lanes(n - i);
      const __m512 e = ExpAvx512<float>::exp(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, scores + i), most));
      _mm512_mask_storeu_ps(scores + i, mask, e);
      sum = _mm512_mask_add_ps(sum, mask, sum, e);
    }
    return _mm512_cvtss_f32(fold_lanes(fold_quarters(sum, sum, sum, sum)));
  }

  GPT2IE_TARGET_AVX512 static void add_weighted(const float* weight, std::ptrdiff_t weight_stride, int rows, const T* v,
                                                std::ptrdiff_t stride, int n, int head_dim, float* out,
                                                std::ptrdiff_t out_stride) {
    int d = 0;
    for (; d + 64 <= head_dim; d += 64) {
      add_columns<4>(weight, weight_stride, rows, v + d, stride, n, out + d, out_stride);
    }
    for (; d < head_dim; d += 16) add_columns<1>(weight, weight_stride, rows, v + d, stride, n, out + d, out_stride);
  }

 private:
  static constexpr __mmask16 all = 0xffff;

  GPT2IE_TARGET_AVX512 static __mmask16 first_lanes(int count) {
    return count < 16 ? static_cast<__mmask16>((1u << count) - 1) : all;
  }

  /// Sixteen elements as floats.
  GPT2IE_TARGET_AVX512 static __m512 sixteen(const T* from) {
    if constexpr (PlainElement<T>) {
      return Avx512Load<T>::sixteen(from);
    } else {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
      return _mm512_maskz_cvtepi32_ps(all, _mm512_maskz_cvtepi8_epi32(all, bytes));
    }
  }

  /// Lane l of quarter i of the result: the sum of lanes l, l + 4, l + 8 and l + 12 of the i-th operand.
  GPT2IE_TARGET_AVX512 static __m512 fold_quarters(__m512 a, __m512 b, __m512 c, __m512 d) {
    const __m512 ab =
        _mm512_add_ps(_mm512_maskz_shuffle_f32x4(all, a, b, 0x44), _mm512_maskz_shuffle_f32x4(all, a, b, 0xee));
    const __m512 cd =
        _mm512_add_ps(_mm512_maskz_shuffle_f32x4(all, c, d, 0x44), _mm512_maskz_shuffle_f32x4(all, c, d, 0xee));
    return _mm512_add_ps(_mm512_maskz_shuffle_f32x4(all, ab, cd, 0x88), _mm512_maskz_shuffle_f32x4(all, ab, cd, 0xdd));
  }

  /// The sums of each quarter's four lanes, in all of them.
  GPT2IE_TARGET_AVX512 static __m512 fold_lanes(__m512 x) {
    x = _mm512_add_ps(x, _mm512_maskz_permute_ps(all, x, 0x4e));
    return _mm512_add_ps(x, _mm512_maskz_permute_ps(all, x, 0xb1));
  }

  /// Of four operands folded in quarters: lane 4 * i + j of the result is the sum of quarter j's lanes in the i-th.
  GPT2IE_TARGET_AVX512 static __m512 fold_all(const __m512 (&x)[4]) {
    const __m512 low =
        _mm512_add_ps(_mm512_maskz_unpacklo_ps(all, x[0], x[1]), _mm512_maskz_unpackhi_ps(all, x[0], x[1]));
    const __m512 high =
        _mm512_add_ps(_mm512_maskz_unpacklo_ps(all, x[2], x[3]), _mm512_maskz_unpackhi_ps(all, x[2], x[3]));
    const __m512 sums =
        _mm512_add_ps(_mm512_maskz_shuffle_ps(all, low, high, 0x44), _mm512_maskz_shuffle_ps(all, low, high, 0xee));
    const __m512i transposed = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_maskz_permutexvar_ps(all, transposed, sums);
  }

  /// Four rows with up to four keys.
  GPT2IE_TARGET_AVX512 static void four_by_four(const float* q, std::ptrdiff_t q_stride, const T* k,
                                                std::ptrdiff_t stride, int n, int head_dim, float scale, float* scores,
                                                std::ptrdiff_t scores_stride) {
    const T* const key[4] = {k, k + (n > 1 ? stride : 0), k + (n > 2 ? 2 * stride : 0), k + (n > 3 ? 3 * stride : 0)};
    __m512 sum[4][4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) sum[r][j] = _mm512_setzero_ps();
    }
    for (int d = 0; d < head_dim; d += 16) {
      const __m512 of_key[4] = {sixteen(key[0] + d), sixteen(key[1] + d), sixteen(key[2] + d), sixteen(key[3] + d)};
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        const __m512 of_row = _mm512_loadu_ps(q + r * q_stride + d);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) sum[r][j] = _mm512_fmadd_ps(of_row, of_key[j], sum[r][j]);
      }
    }
    const __m512 quarters[4] = {fold_quarters(sum[0][0], sum[0][1], sum[0][2], sum[0][3]),
                                fold_quarters(sum[1][0], sum[1][1], sum[1][2], sum[1][3]),
                                fold_quarters(sum[2][0], sum[2][1], sum[2][2], sum[2][3]),
                                fold_quarters(sum[3][0], sum[3][1], sum[3][2], sum[3][3])};
    const __m512 dot = _mm512_mul_ps(_mm512_set1_ps(scale), fold_all(quarters));
    const __mmask8 mask = static_cast<__mmask8>(first_lanes(n) & 0xf);
    _mm_mask_storeu_ps(scores, mask, _mm512_maskz_extractf32x4_ps(0xf, dot, 0));
    _mm_mask_storeu_ps(scores + scores_stride, mask, _mm512_maskz_extractf32x4_ps(0xf, dot, 1));
    _mm_mask_storeu_ps(scores + 2 * scores_stride, mask, _mm512_maskz_extractf32x4_ps(0xf, dot, 2));
    _mm_mask_storeu_ps(scores + 3 * scores_stride, mask, _mm512_maskz_extractf32x4_ps(0xf, dot, 3));
  }

  /// One row with up to sixteen keys.
  GPT2IE_TARGET_AVX512 static void sixteen_keys(const float* q, const T* k, std::ptrdiff_t stride, int n, int head_dim,
                                                float scale, float* scores) {
    __m512 quarters[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const int left = n - 4 * i;
      if (left <= 0) {
        quarters[i] = _mm512_setzero_ps();
        continue;
      }
      const T* const first = k + 4 * i * stride;
      const T* const key[4] = {first, first + (left > 1 ? stride : 0), first + (left > 2 ? 2 * stride : 0),
                               first + (left > 3 ? 3 * stride : 0)};
      __m512 sum[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) sum[j] = _mm512_setzero_ps();
      for (int d = 0; d < head_dim; d += 16) {
        const __m512 of_row = _mm512_loadu_ps(q + d);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) sum[j] = _mm512_fmadd_ps(of_row, sixteen(key[j] + d), sum[j]);
      }
      quarters[i] = fold_quarters(sum[0], sum[1], sum[2], sum[3]);
    }
    const __m512 dot = _mm512_mul_ps(_mm512_set1_ps(scale), fold_all(quarters));
    _mm512_mask_storeu_ps(scores, first_lanes(n), dot);
  }

  template <int Vectors>
  GPT2IE_TARGET_AVX512 static void add_columns(const float* weight, std::ptrdiff_t weight_stride, int rows, const T* v,
                                               std::ptrdiff_t stride, int n, float* out, std::ptrdiff_t out_stride) {
    if (rows == most_rows) return add_to_rows<Vectors, most_rows>(weight, weight_stride, v, stride, n, out, out_stride);
    for (int r = 0; r < rows; ++r) {
      add_to_rows<Vectors, 1>(weight + r * weight_stride, weight_stride, v, stride, n, out + r * out_stride,
                              out_stride);
    }
  }

  /// The sums stay in registers while the keys pass by.
  template <int Vectors, int Rows>
  GPT2IE_TARGET_AVX512 static void add_to_rows(const float* weight, std::ptrdiff_t weight_stride, const T* v,
                                               std::ptrdiff_t stride, int n, float* out, std::ptrdiff_t out_stride) {
    __m512 sum[Rows][Vectors];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < Vectors; ++c) sum[r][c] = _mm512_loadu_ps(out + r * out_stride + 16 * c);
    }
    for (int i = 0; i < n; ++i, v += stride) {
      __m512 value[Vectors];
#pragma GCC unroll 4
      for (int c = 0; c < Vectors; ++c) value[c] = sixteen(v + 16 * c);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        const __m512 factor = _mm512_set1_ps(weight[r * weight_stride + i]);
#pragma GCC unroll 4
        for (int c = 0; c < Vectors; ++c) sum[r][c] = _mm512_fmadd_ps(factor, value[c], sum[r][c]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int c = 0; c < Vectors; ++c) _mm512_storeu_ps(out + r * out_stride + 16 * c, sum[r][c]);
    }
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
