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
/// (int8) or 8 (int4, as they are stored), and as many times the sum of the activations is taken away: sums begin with
/// it.
template <GroupedElement W>
struct GroupProductAvx512 {
  using Args = GroupProductArgs<W>;

  GPT2IE_TARGET_AVX512 static void multiply(const Args& args) {
    const int rows = args.range.rows();
    if (rows == 1 && args.panels == 4) return multiply_row(args, std::make_integer_sequence<int, 4>{});
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * rows) * Args::width, 0.0f);
    const int slice = group_slice(rows);
    int parts = 0;
    for (int block = args.range.first; block < args.range.end; ++block) {
      parts += (args.range.size(block) + most - 1) / most;
    }
    for (int g = 0; g < args.x.groups; g += slice) {
      const int end = std::min(g + slice, args.x.groups);
      for (int p = 0; p < args.panels; p += 2) {
        // Each part fetches its share of the slices that come next.
        Ahead next{{reinterpret_cast<const char*>(args.after(p, 2, g, slice)),
                    reinterpret_cast<const char*>(args.after(second(args, p), 2, g, slice))},
                   static_cast<int>(sizeof(PanelGroup<W>)) / parts};
        for (int block = args.range.first; block < args.range.end; ++block) {
          for_even_parts(args.range.size(block), most, [&](int /*part*/, int r, int count) {
            multiply_part(args, count, p, block, r, g, end, next, std::make_integer_sequence<int, most>{});
            for (const char*& address : next.address) address += static_cast<std::ptrdiff_t>(end - g) * next.step;
          });
        }
      }
    }
  }

 private:
  /// Rows by two panels, whose sums of integers and of floats all stay in registers.
  static constexpr int most = 6;
  /// What is added to the weights, as a power of two.
  static constexpr unsigned added = one_of<W, int8> ? 7 : 3;

  /// Weights to fetch meanwhile: `step` bytes of each panel for every group.
  struct Ahead {
    const char* address[2];
    int step;
  };

  /// The other panel of a pair: where there is none, p again, which does the same twice.
  static int second(const Args& args, int p) { return std::min(p + 1, args.panels - 1); }

  GPT2IE_TARGET_AVX512 static __m512i broadcast(const void* four) {
    std::int32_t bits;
    std::memcpy(&bits, four, sizeof bits);
    return _mm512_set1_epi32(bits);
  }
  GPT2IE_TARGET_AVX512 static __m512i first_sum(const std::int32_t* negated_sum) {
    return _mm512_maskz_slli_epi32(0xffff, broadcast(negated_sum), added);
  }
  GPT2IE_TARGET_AVX512 static __m512 scales(const f16* from) {
    return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  /// sum + integers * scale of the columns * scale of the row.
  GPT2IE_TARGET_AVX512 static __m512 add_scaled(__m512i integers, __m512 scale, __m512 x_scale, __m512 sum) {
    return _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(0xffff, integers), _mm512_mul_ps(scale, x_scale), sum);
  }

  /// One row by four panels at once: four streams of reads.
  template <int... P>
  GPT2IE_TARGET_AVX512 static void multiply_row(const Args& args, std::integer_sequence<int, P...> /*panels*/) {
    const std::int8_t* x = args.values(0, 0, 0);
    const float* x_scale = args.scales(0, 0, 0);
    const std::int32_t* x_sum = args.negated_sums(0, 0, 0);
    const PanelGroup<W>* group[] = {&args.group(P, 0)...};
    __m512 sum[] = {(static_cast<void>(P), _mm512_setzero_ps())...};
    for (int g = 0; g < args.x.groups; ++g, x += group_size) {
      const __m512i first = first_sum(x_sum + g);
      const __m512 factor = _mm512_set1_ps(x_scale[g]);
      ((sum[P] = add_scaled(one_row(group[P][g], x, first), scales(group[P][g].scale), factor, sum[P])), ...);
    }
    (_mm512_storeu_ps(args.sums_of(P, 0), sum[P]), ...);
  }
  GPT2IE_TARGET_AVX512 static __m512i one_row(const PanelGroup<W>& group, const std::int8_t* x, __m512i sum) {
    for (int quad = 0; quad < 8; ++quad) {
      sum = _mm512_dpbusd_epi32(sum, weights(group, quad), broadcast(x + 4 * quad));
    }
    return sum;
  }

  /// multiply_rows with a number of rows that the compiler knows.
  template <int... N>
  static void multiply_part(const Args& args, int count, int p, int block, int r, int g, int end, const Ahead& next,
                            std::integer_sequence<int, N...> /*counts*/) {
    ((count == N + 1 ? multiply_rows(args, p, block, r, g, end, next, std::make_integer_sequence<int, N + 1>{})
                     : void()),
     ...);
  }

  /// Adds sizeof...(I) rows of a block from r on, times groups [g, end) of panel p and its neighbour, to their sums.
  template <int... I>
  GPT2IE_TARGET_AVX512 static void multiply_rows(const Args& args, int p, int block, int r, int g, int end,
                                                 const Ahead& next, std::integer_sequence<int, I...> /*rows*/) {
    const int other = second(args, p), row = args.range.begin(block) + r;
    const std::ptrdiff_t size = args.range.size(block);
    const std::int8_t* x = args.values(block, r, g);
    const float* x_scale = args.scales(block, r, g);
    const std::int32_t* x_sum = args.negated_sums(block, r, g);
    const PanelGroup<W>*group0 = &args.group(p, g), *group1 = &args.group(other, g);
    float *to0 = args.sums_of(p, row), *to1 = args.sums_of(other, row);
    __m512 sum0[] = {_mm512_loadu_ps(to0 + I * Args::width)...}, sum1[] = {_mm512_loadu_ps(to1 + I * Args::width)...};
    const char *next0 = next.address[0], *next1 = next.address[1];
    for (; g < end; ++g, ++group0, ++group1, x_scale += size, x_sum += size, next0 += next.step, next1 += next.step) {
      for (int line = 0; line < next.step; line += 64) {
        _mm_prefetch(next0 + line, _MM_HINT_T0);
        _mm_prefetch(next1 + line, _MM_HINT_T0);
      }
      __m512i integers0[] = {first_sum(x_sum + I)...}, integers1[] = {integers0[I]...};
      for (int quad = 0; quad < 8; ++quad, x += 4 * size) {
        const __m512i weights0 = weights(*group0, quad), weights1 = weights(*group1, quad);
        (add_products(weights0, weights1, broadcast(x + 4 * I), integers0[I], integers1[I]), ...);
      }
      const __m512 scale0 = scales(group0->scale), scale1 = scales(group1->scale);
      ((sum0[I] = add_scaled(integers0[I], scale0, _mm512_set1_ps(x_scale[I]), sum0[I]),
        sum1[I] = add_scaled(integers1[I], scale1, _mm512_set1_ps(x_scale[I]), sum1[I])),
       ...);
    }
    (_mm512_storeu_ps(to0 + I * Args::width, sum0[I]), ...);
    (_mm512_storeu_ps(to1 + I * Args::width, sum1[I]), ...);
  }

  GPT2IE_TARGET_AVX512 static void add_products(__m512i weights0, __m512i weights1, __m512i x, __m512i& sum0,
                                                __m512i& sum1) {
    sum0 = _mm512_dpbusd_epi32(sum0, weights0, x);
    sum1 = _mm512_dpbusd_epi32(sum1, weights1, x);
  }

  /// Four rows of sixteen columns, made unsigned.
  GPT2IE_TARGET_AVX512 static __m512i weights(const PanelGroup<W>& group, int quad) {
    if constexpr (one_of<W, int8>) {
      return _mm512_xor_si512(_mm512_loadu_si512(group.value[quad]), _mm512_set1_epi8(static_cast<char>(0x80)));
    } else {
      const __m512i both = _mm512_loadu_si512(group.pair[quad / 2]);
      const __m512i four = quad % 2 == 0 ? both : _mm512_maskz_srli_epi16(0xffffffff, both, 4);
      return _mm512_and_si512(four, _mm512_set1_epi8(15));
    }
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
