// SPDX-License-Identifier: MIT
/// The end of a product on processors with AVX2, FMA and F16C.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <cstddef>

#include <immintrin.h>

#include <gpt2ie/backend/exp_avx2.hpp>
#include <gpt2ie/backend/finish_args.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/math.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

template <class Float>
struct FinishAvx2 {
  __attribute__((target("avx2,fma,f16c"))) static void finish(const FinishArgs& args) {
    for (int c = 0; c < args.columns; c += 8) {
      const __m256i used = first_lanes(args.columns - c);
      const __m256 bias = args.bias ? _mm256_maskload_ps(args.bias + c, used) : _mm256_setzero_ps();
      for (int r = 0; r < args.rows; ++r) {
        const std::ptrdiff_t at = r * args.stride + c;
        __m256 x = _mm256_add_ps(_mm256_loadu_ps(args.sums + r * FinishArgs::width + c), bias);
        x = activated(args.activation, x);
        if (args.residual) x = _mm256_add_ps(x, _mm256_maskload_ps(args.residual + at, used));
        _mm256_maskstore_ps(args.y + at, used, x);
      }
    }
  }

 private:
  /// All ones in the first `count` lanes.
  __attribute__((target("avx2,fma,f16c"))) static __m256i first_lanes(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }

  __attribute__((target("avx2,fma,f16c"))) static __m256 activated(Activation activation, __m256 x) {
    switch (activation) {
      case Activation::none:
        return x;
      case Activation::gelu_tanh: {
        const __m256 cubic = _mm256_fmadd_ps(_mm256_mul_ps(_mm256_set1_ps(0.044715f), x), x, _mm256_set1_ps(1.0f));
        return times_sigmoid(x, _mm256_mul_ps(_mm256_set1_ps(1.59576912f), _mm256_mul_ps(x, cubic)));
      }
      case Activation::quick_gelu:
        return times_sigmoid(x, _mm256_mul_ps(_mm256_set1_ps(1.702f), x));
      case Activation::silu:
        return times_sigmoid(x, x);
      case Activation::relu:
        return _mm256_and_ps(_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NLT_UQ), x);
      case Activation::gelu:
      case Activation::tanh:
        break;
    }
    Float values[8];
    _mm256_storeu_ps(values, x);
    activate(activation, values, 8);
    return _mm256_loadu_ps(values);
  }

  /// x / (1 + e^-u).
  __attribute__((target("avx2,fma,f16c"))) static __m256 times_sigmoid(__m256 x, __m256 u) {
    const __m256 one = _mm256_set1_ps(1.0f);
    return _mm256_div_ps(x, _mm256_add_ps(one, ExpAvx2<Float>::exp(_mm256_sub_ps(_mm256_setzero_ps(), u))));
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
