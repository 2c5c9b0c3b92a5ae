// SPDX-License-Identifier: MIT
/// The three loops of flash attention, in portable code and in an instruction set's own.
///
/// Each fixes the order of its sums by the size of the head and the number of keys alone, so a row has the same bits in
/// any company. Integers count as they are: who calls multiplies scores and weights with the rows' scales.
#pragma once

#include <cstddef>

#include <gpt2ie/attention/flash_math_avx2.hpp>
#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/math.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Host and device.
struct PortableFlashMath {
  /// Whether heads of sizes known when it is compiled are faster.
  static constexpr bool knows_head_dim = true;

  /// scores[i] = scale * q . k[i], for n keys of head_dim elements, `stride` apart.
  template <int HeadDim, class T>
  GPT2IE_HD void dots(const float* q, const T* k, std::ptrdiff_t stride, int n, int head_dim, float scale,
                      float* scores) const {
    for (int i = 0; i < n; ++i) scores[i] = scale * dot<HeadDim>(q, k + i * stride, head_dim);
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

  /// out += the sum over i of weight[i] * v[i].
  template <int HeadDim, class T>
  GPT2IE_HD void add_weighted(const float* weight, const T* v, std::ptrdiff_t stride, int n, int head_dim,
                              float* out) const {
    add_weighted_rows<HeadDim>(weight, v, stride, n, head_dim, out);
  }
};

/// The same through functions that were chosen when the program ran.
template <NumberElement T>
struct IsaFlashMath {
  static constexpr bool knows_head_dim = false;

  void (*dots_of)(const float* q, const T* k, std::ptrdiff_t stride, int n, int head_dim, float scale, float* scores);
  float (*exponentials_of)(float* scores, int n, float& largest);
  void (*add_weighted_of)(const float* weight, const T* v, std::ptrdiff_t stride, int n, int head_dim, float* out);

  template <int HeadDim>
  void dots(const float* q, const T* k, std::ptrdiff_t stride, int n, int head_dim, float scale, float* scores) const {
    dots_of(q, k, stride, n, head_dim, scale, scores);
  }
  float exponentials(float* scores, int n, float& largest) const { return exponentials_of(scores, n, largest); }
  template <int HeadDim>
  void add_weighted(const float* weight, const T* v, std::ptrdiff_t stride, int n, int head_dim, float* out) const {
    add_weighted_of(weight, v, stride, n, head_dim, out);
  }
};

/// Whether this instruction set has loops of its own for heads of this size.
[[nodiscard]] inline bool has_flash_math(Isa isa, int head_dim) { return isa != Isa::portable && head_dim % 16 == 0; }

/// Precondition: has_flash_math.
template <NumberElement T>
[[nodiscard]] IsaFlashMath<T> flash_math() {
#if GPT2IE_X86_KERNELS
  using Math = FlashMathAvx2<T>;
  return {&Math::dots, &Math::exponentials, &Math::add_weighted};
#else
  return {};
#endif
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
