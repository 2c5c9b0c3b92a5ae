// SPDX-License-Identifier: MIT
/// The three loops of flash attention, in portable code and in an instruction set's own.
///
/// Each fixes the order of its sums by the size of the head and the number of keys alone, so a row has the same bits in
/// any company. Neighbouring rows of queries can go through the loops together and share what is loaded. Integers count
/// as they are: who calls multiplies scores and weights with the rows' scales.
#pragma once

#include <cstddef>

#include <gpt2ie/attention/flash_math_avx2.hpp>
#include <gpt2ie/attention/flash_math_avx512.hpp>
#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/math.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Host and device.
struct PortableFlashMath {
  /// Whether heads of sizes known when it is compiled are faster.
  static constexpr bool knows_head_dim = true;
  /// How many rows are best worked on together: dots and add_weighted take any number up to this.
  static constexpr int most_rows = 1;

  /// scores[r][i] = scale * q[r] . k[i], for `rows` rows and n keys of head_dim elements, `stride` apart.
  template <int HeadDim, class T>
  GPT2IE_HD void dots(const float* q, std::ptrdiff_t q_stride, int rows, const T* k, std::ptrdiff_t stride, int n,
                      int head_dim, float scale, float* scores, std::ptrdiff_t scores_stride) const {
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < n; ++i) {
        scores[r * scores_stride + i] = scale * dot<HeadDim>(q + r * q_stride, k + i * stride, head_dim);
      }
    }
  }

  /// scores[i] = exp(scores[i] - largest), where `largest` becomes the larger of itself and all scores. Returns their
  /// sum.
  GPT2IE_HD float exponentials(float* scores, int n, float& largest) const {
    for (int i = 0; i < n; ++i) largest = scores[i] > largest ? scores[i] : largest;
    for (int i = 0; i < n; ++i) scores[i] = exp_float(scores[i] - largest);
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += scores[i];
    return sum;
  }

  /// out[r] += the sum over i of weight[r][i] * v[i].
  template <int HeadDim, class T>
  GPT2IE_HD void add_weighted(const float* weight, std::ptrdiff_t weight_stride, int rows, const T* v,
                              std::ptrdiff_t stride, int n, int head_dim, float* out, std::ptrdiff_t out_stride) const {
    for (int r = 0; r < rows; ++r) {
      add_weighted_rows<HeadDim>(weight + r * weight_stride, v, stride, n, head_dim, out + r * out_stride);
    }
  }
};

/// The same through functions that were chosen when the program ran.
template <NumberElement T>
struct IsaFlashMath {
  static constexpr bool knows_head_dim = false;
  static constexpr int most_rows = 4;

  void (*dots_of)(const float* q, std::ptrdiff_t q_stride, int rows, const T* k, std::ptrdiff_t stride, int n,
                  int head_dim, float scale, float* scores, std::ptrdiff_t scores_stride);
  float (*exponentials_of)(float* scores, int n, float& largest);
  void (*add_weighted_of)(const float* weight, std::ptrdiff_t weight_stride, int rows, const T* v,
                          std::ptrdiff_t stride, int n, int head_dim, float* out, std::ptrdiff_t out_stride);

  template <int HeadDim>
  void dots(const float* q, std::ptrdiff_t q_stride, int rows, const T* k, std::ptrdiff_t stride, int n, int head_dim,
            float scale, float* scores, std::ptrdiff_t scores_stride) const {
    dots_of(q, q_stride, rows, k, stride, n, head_dim, scale, scores, scores_stride);
  }
  float exponentials(float* scores, int n, float& largest) const { return exponentials_of(scores, n, largest); }
  template <int HeadDim>
  void add_weighted(const float* weight, std::ptrdiff_t weight_stride, int rows, const T* v, std::ptrdiff_t stride,
                    int n, int head_dim, float* out, std::ptrdiff_t out_stride) const {
    add_weighted_of(weight, weight_stride, rows, v, stride, n, head_dim, out, out_stride);
  }
};

/// Whether this instruction set has loops of its own for heads of this size.
[[nodiscard]] inline bool has_flash_math(Isa isa, int head_dim) { return isa != Isa::portable && head_dim % 16 == 0; }

/// Precondition: has_flash_math.
template <NumberElement T>
[[nodiscard]] IsaFlashMath<T> flash_math([[maybe_unused]] Isa isa) {
#if GPT2IE_X86_KERNELS
  if (isa == Isa::avx512) {
    using Math = FlashMathAvx512<T>;
    return {&Math::dots, &Math::exponentials, &Math::add_weighted};
  }
  using Math = FlashMathAvx2<T>;
  return {&Math::dots, &Math::exponentials, &Math::add_weighted};
#else
  return {};
#endif
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
