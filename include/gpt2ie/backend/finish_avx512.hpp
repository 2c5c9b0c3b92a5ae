// SPDX-License-Identifier: MIT
/// The end of a product on processors with AVX-512: a row of a panel is one register.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <gpt2ie/backend/avx512.hpp>
#include <gpt2ie/backend/exp_avx512.hpp>
#include <gpt2ie/backend/finish_args.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/math.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

template <class Float>
struct FinishAvx512 {
  GPT2IE_TARGET_AVX512 static void finish(const FinishArgs& args) {
    const auto used = static_cast<__mmask16>((1u << args.columns) - 1);
    const __m512 bias = args.bias ? _mm512_maskz_loadu_ps(used, args.bias) : _mm512_setzero_ps();
    const Float* sums = args.sums;
    const Float* residual = args.residual;
    Float* y = args.y;
    for (int r = 0; r < args.rows; ++r, sums += FinishArgs::width, y += args.stride) {
      __m512 x = activated(args.activation, _mm512_add_ps(_mm512_loadu_ps(sums), bias));
      if (residual) {
        x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(used, residual));
        residual += args.stride;
      }
      _mm512_mask_storeu_ps(y, used, x);
    }
  }

 private:
  GPT2IE_TARGET_AVX512 static __m512 activated(Activation activation, __m512 x) {
    switch (activation) {
      case Activation::none:
        return x;
      case Activation::gelu_tanh: {
        const __m512 cubic = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_set1_ps(0.044715f), x), x, _mm512_set1_ps(1.0f));
        return times_sigmoid(x, _mm512_mul_ps(_mm512_set1_ps(1.59576912f), _mm512_mul_ps(x, cubic)));
      }
      case Activation::quick_gelu:
        return times_sigmoid(x, _mm512_mul_ps(_mm512_set1_ps(1.702f), x));
      case Activation::silu:
        return times_sigmoid(x, x);
      case Activation::relu:
        return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_NLT_UQ), x);
      case Activation::gelu:
      case Activation::tanh:
        break;
    }
    Float values[FinishArgs::width];
    _mm512_storeu_ps(values, x);
    activate(activation, values, FinishArgs::width);
    return _mm512_loadu_ps(values);
  }

  /// x / (1 + e^-u).
  GPT2IE_TARGET_AVX512 static __m512 times_sigmoid(__m512 x, __m512 u) {
    const __m512 one = _mm512_set1_ps(1.0f);
    return _mm512_div_ps(x, _mm512_add_ps(one, ExpAvx512<Float>::exp(_mm512_sub_ps(_mm512_setzero_ps(), u))));
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
