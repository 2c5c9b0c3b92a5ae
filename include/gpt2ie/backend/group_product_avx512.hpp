// SPDX-License-Identifier: MIT
/// The product of backend::SimdCpu with integer weights for processors with AVX-512 and VNNI.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <gpt2ie/backend/avx512.hpp>
#include <gpt2ie/backend/group_product_args.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// VNNI multiplies unsigned by signed bytes and sums four products in 32 bits. Weights are made unsigned by adding 128
/// (int8) or 8 (int4, as they are stored), and as many times the sum of the activations is taken away.
template <GroupedElement W>
struct GroupProductAvx512 {
  using Args = GroupProductArgs<W>;

  GPT2IE_TARGET_AVX512 static void multiply(const Args& args) {
    if (args.rows == 1 && args.panels == 4) return multiply_row(args, std::make_integer_sequence<int, 4>{});
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * args.rows) * Args::width, 0.0f);
    const int slice = args.rows < 8 ? 1 : 16, parts = (args.rows + most - 1) / most;
    for (int g = 0; g < args.x.groups; g += slice) {
      const int end = std::min(g + slice, args.x.groups);
      for (int p = 0; p < args.panels; ++p) {
        for (int part = 0, r = 0; part < parts; ++part) {
          const int count = (args.rows - r + parts - part - 1) / (parts - part);
          multiply_part(args, count, p, r, g, end, std::make_integer_sequence<int, most>{});
          r += count;
        }
      }
    }
  }

 private:
  static constexpr int most = 14;
  static constexpr int added = one_of<W, int8> ? 128 : 8;

  GPT2IE_TARGET_AVX512 static __m512i broadcast(const std::int8_t* four) {
    std::int32_t bits;
    std::memcpy(&bits, four, sizeof bits);
    return _mm512_set1_epi32(bits);
  }
  GPT2IE_TARGET_AVX512 static __m512 scales(const f16* from) {
    return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  /// sum + the integers' sum * scale.
  GPT2IE_TARGET_AVX512 static __m512 add_scaled(__m512i integers, const QuantizedRows& x, int row, int group,
                                                __m512 scale, __m512 sum) {
    const __m512i exact = _mm512_sub_epi32(integers, _mm512_set1_epi32(added * x.sum_of(row, group)));
    return _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(0xffff, exact),
                           _mm512_mul_ps(scale, _mm512_set1_ps(x.scale_of(row, group))), sum);
  }

  /// One row by four panels at once: four streams of reads.
  template <int... P>
  GPT2IE_TARGET_AVX512 static void multiply_row(const Args& args, std::integer_sequence<int, P...> /*panels*/) {
    __m512 sum[] = {(static_cast<void>(P), _mm512_setzero_ps())...};
    for (int g = 0; g < args.x.groups; ++g) {
      const std::int8_t* x = args.x.values_of(0, g);
      ((sum[P] = add_scaled(one_row(args.group(P, g), x), args.x, 0, g, scales(args.group(P, g).scale), sum[P])), ...);
    }
    (_mm512_storeu_ps(args.sums_of(P, 0), sum[P]), ...);
  }
  GPT2IE_TARGET_AVX512 static __m512i one_row(const PanelGroup<W>& group, const std::int8_t* x) {
    __m512i sums[] = {_mm512_setzero_si512()};
    add_products(group, sums, &x, std::make_integer_sequence<int, 1>{});
    return sums[0];
  }

  template <int... N>
  GPT2IE_TARGET_AVX512 static void multiply_part(const Args& args, int count, int p, int r, int g, int end,
                                                 std::integer_sequence<int, N...> /*counts*/) {
    ((count == N + 1 ? multiply_rows(args, p, r, g, end, std::make_integer_sequence<int, N + 1>{}) : void()), ...);
  }

  /// Adds sizeof...(I) rows from r on, times groups [g, end) of panel p, to their sums.
  template <int... I>
  GPT2IE_TARGET_AVX512 static void multiply_rows(const Args& args, int p, int r, int g, int end,
                                                 std::integer_sequence<int, I...> rows) {
    float* to[] = {args.sums_of(p, r + I)...};
    for (; g < end; ++g) {
      const PanelGroup<W>& group = args.group(p, g);
      const std::int8_t* x[] = {args.x.values_of(r + I, g)...};
      __m512i sums[] = {(static_cast<void>(I), _mm512_setzero_si512())...};
      add_products(group, sums, x, rows);
      const __m512 scale = scales(group.scale);
      (_mm512_storeu_ps(to[I], add_scaled(sums[I], args.x, r + I, g, scale, _mm512_loadu_ps(to[I]))), ...);
    }
  }

  template <int... I>
  GPT2IE_TARGET_AVX512 static void add_products(const PanelGroup<W>& group, __m512i* sums, const std::int8_t* const* x,
                                                std::integer_sequence<int, I...> /*rows*/) {
    if constexpr (one_of<W, int8>) {
      const __m512i flip = _mm512_set1_epi8(static_cast<char>(0x80));
      for (int quad = 0; quad < 8; ++quad) {
        const __m512i weights = _mm512_xor_si512(_mm512_loadu_si512(group.value[quad]), flip);
        ((sums[I] = _mm512_dpbusd_epi32(sums[I], weights, broadcast(x[I] + 4 * quad))), ...);
      }
    } else {
      const __m512i mask = _mm512_set1_epi8(15);
      for (int j = 0; j < 4; ++j) {
        const __m512i both = _mm512_loadu_si512(group.pair[j]);
        const __m512i low = _mm512_and_si512(both, mask),
                      high = _mm512_and_si512(_mm512_maskz_srli_epi16(0xffffffff, both, 4), mask);
        ((sums[I] = _mm512_dpbusd_epi32(sums[I], low, broadcast(x[I] + 8 * j))), ...);
        ((sums[I] = _mm512_dpbusd_epi32(sums[I], high, broadcast(x[I] + 8 * j + 4))), ...);
      }
    }
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
