// SPDX-License-Identifier: MIT
/// Arithmetic whose rounding is spelled out, so that one binary gives one answer whatever path a value takes.
///
/// A compiler may contract `a * b + c` into one rounding in a vector body and not in its tail. Kernels therefore write
/// madd, never the plain form, and sums over an index run in one fixed order.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/bits.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/float4.hpp>
#include <gpt2ie/core/model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// a * b + c: rounded once where the target has a fused instruction, else twice; the same everywhere in one binary.
GPT2IE_HD inline float madd(float a, float b, float c) {
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__ARM_FEATURE_FMA) || defined(__CUDA_ARCH__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

/// condition ? a : b without a branch: compilers sink work into branches and then give up on vectors.
GPT2IE_HD inline float select(bool condition, float a, float b) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(condition);
  return bit_cast<float>((bit_cast<std::uint32_t>(a) & mask) | (bit_cast<std::uint32_t>(b) & ~mask));
}

/// e^x within 2 units in the last place; results below 2^-125 are 0, above the largest float infinity. NaN stays NaN.
///
/// Cody and Waite's reduction to [-ln2/2, ln2/2] ("Software Manual for the Elementary Functions", 1980, chapter 6),
/// then the Taylor polynomial of degree 7. Straight-line code, so that loops over it become vectors.
GPT2IE_HD inline float exp_float(float x) {
  constexpr float log2_e = 1.44269504f, ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  constexpr float to_integer = 0x1.8p23f;  // adding it leaves the nearest integer in the low bits
  const float clamped = select(x > 89.0f, 89.0f, select(x < -87.0f, -87.0f, x));
  const float biased = madd(clamped, log2_e, to_integer);
  const float n = biased - to_integer;
  const float r = madd(n, -ln2_low, madd(n, -ln2_high, clamped));
  float p = 1.0f / 5040.0f;
  p = madd(p, r, 1.0f / 720.0f);
  p = madd(p, r, 1.0f / 120.0f);
  p = madd(p, r, 1.0f / 24.0f);
  p = madd(p, r, 1.0f / 6.0f);
  p = madd(p, r, 0.5f);
  p = madd(p, r, 1.0f);
  p = madd(p, r, 1.0f);
  // 2^n as 2 * 2^(n - 1): n is at most 128 and the exponent field ends at 127.
  const std::uint32_t exponent = bit_cast<std::uint32_t>(biased) - bit_cast<std::uint32_t>(to_integer) + 126u;
  const float scaled = p * bit_cast<float>(exponent << 23) * 2.0f;
  return select(x < -87.0f, 0.0f, scaled);
}

/// The logistic function, 1 / (1 + e^-x).
GPT2IE_HD inline float sigmoid(float x) { return 1.0f / (1.0f + exp_float(-x)); }

/// GELU with the tanh approximation (Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2), written as
/// x * sigmoid(2u), which equals 0.5 x (1 + tanh(u)) and loses nothing to cancellation.
GPT2IE_HD inline float gelu_tanh(float x) {
  constexpr float twice_sqrt_2_over_pi = 1.59576912f;
  const float u = x * madd(0.044715f * x, x, 1.0f);
  return x * sigmoid(twice_sqrt_2_over_pi * u);
}

/// Exact GELU, x times the normal distribution function.
GPT2IE_HD inline float gelu_exact(float x) { return 0.5f * x * (1.0f + std::erf(x * 0.707106781f)); }

/// x * sigmoid(1.702 x).
GPT2IE_HD inline float quick_gelu(float x) { return x * sigmoid(1.702f * x); }

/// Applies an activation to n floats in place.
GPT2IE_HD inline void activate(Activation activation, float* x, std::size_t n) {
  switch (activation) {
    case Activation::none:
      break;
    case Activation::gelu_tanh:
      for (std::size_t i = 0; i < n; ++i) x[i] = gelu_tanh(x[i]);
      break;
    case Activation::gelu:
      for (std::size_t i = 0; i < n; ++i) x[i] = gelu_exact(x[i]);
      break;
    case Activation::quick_gelu:
      for (std::size_t i = 0; i < n; ++i) x[i] = quick_gelu(x[i]);
      break;
    case Activation::relu:
      for (std::size_t i = 0; i < n; ++i) x[i] = x[i] < 0.0f ? 0.0f : x[i];
      break;
    case Activation::silu:
      for (std::size_t i = 0; i < n; ++i) x[i] = x[i] * sigmoid(x[i]);
      break;
    case Activation::tanh:
      for (std::size_t i = 0; i < n; ++i) x[i] = std::tanh(x[i]);
      break;
  }
}

/// The dot product of a[n] and b[n], summed in 16 interleaved lanes that are folded in a fixed tree, multiplications
/// and additions as madd: an order that vectors of any width up to 16 can keep. A Size above 0 is a compile-time n.
template <int Size = 0, NumberElement T>
GPT2IE_HD inline float dot(const float* a, const T* b, int n) {
  const int size = Size > 0 ? Size : n;
  int i = 0;
#if defined(__CUDA_ARCH__)
  float lane[16] = {};
  for (; i + 16 <= size; i += 16) {
    for (int l = 0; l < 16; ++l) lane[l] = madd(a[i + l], to_float(b[i + l]), lane[l]);
  }
#else
  Float4 quarter[4] = {};
  for (; i + 16 <= size; i += 16) {
    for (int l = 0; l < 4; ++l) quarter[l] = madd4(load4(a + i + 4 * l), load4(b + i + 4 * l), quarter[l]);
  }
  float lane[16];
  for (int l = 0; l < 4; ++l) store4(lane + 4 * l, quarter[l]);
  if (i == size) {
    const Float4 folded = (quarter[0] + quarter[2]) + (quarter[1] + quarter[3]);
    return (folded[0] + folded[2]) + (folded[1] + folded[3]);
  }
#endif
  for (int l = 0; i + l < size; ++l) lane[l] = madd(a[i + l], to_float(b[i + l]), lane[l]);
  for (int half = 8; half > 0; half /= 2) {
    for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
  }
  return lane[0];
}

/// y[i] += a * x[i] for n elements.
template <int Size = 0, NumberElement T>
GPT2IE_HD inline void add_scaled(float a, const T* x, int n, float* y) {
  const int size = Size > 0 ? Size : n;
  int i = 0;
#if !defined(__CUDA_ARCH__)
  for (; i + 4 <= size; i += 4) store4(y + i, madd4(broadcast4(a), load4(x + i), load4(y + i)));
#endif
  for (; i < size; ++i) y[i] = madd(a, to_float(x[i]), y[i]);
}

/// y[i] += the sum over r of weight[r] * x[r * stride + i], for `rows` rows in ascending order and n elements.
template <int Size = 0, NumberElement T>
GPT2IE_HD inline void add_weighted_rows(const float* weight, const T* x, std::ptrdiff_t stride, int rows, int n,
                                        float* y) {
#if !defined(__CUDA_ARCH__)
  if constexpr (Size > 0 && Size % 32 == 0) {
    // Thirty-two sums fit in registers of any vector width.
    for (int part = 0; part < Size; part += 32) {
      Float4 sum[8];
      for (int l = 0; l < 8; ++l) sum[l] = load4(y + part + 4 * l);
      for (int r = 0; r < rows; ++r) {
        const Float4 factor = broadcast4(weight[r]);
        for (int l = 0; l < 8; ++l) sum[l] = madd4(factor, load4(x + r * stride + part + 4 * l), sum[l]);
      }
      for (int l = 0; l < 8; ++l) store4(y + part + 4 * l, sum[l]);
    }
    return;
  }
#endif
  for (int r = 0; r < rows; ++r) add_scaled<Size>(weight[r], x + r * stride, n, y);
}

/// y[i] *= a for n elements.
GPT2IE_HD inline void scale(float a, int n, float* y) {
  for (int i = 0; i < n; ++i) y[i] *= a;
}

}  // namespace gpt2ie::inline GPT2IE_ABI
