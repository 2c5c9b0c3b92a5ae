// SPDX-License-Identifier: MIT
/// The product of backend::SimdCpu with integer weights for processors with AVX2, FMA and F16C.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <immintrin.h>

#include <gpt2ie/backend/group_product_args.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// The instruction for byte products takes unsigned by signed bytes and sums two of them in 16 bits.
///
/// int8: the weights' magnitudes by the activations with the weights' signs; 2 * 127 * 127 fits. int4: the weights with
/// 8 added by the activations; eight such sums, 16 * 15 * 127, still fit, so that they are widened once a group, and 8
/// times the sum of the activations is taken away.
template <GroupedElement W>
struct GroupProductAvx2 {
  using Args = GroupProductArgs<W>;

  __attribute__((target("avx2,fma,f16c"))) static void multiply(const Args& args) {
    const int rows = args.range.rows();
    if (rows == 1 && args.panels == 4) return multiply_row(args);
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * rows) * Args::width, 0.0f);
    // A slice of a panel stays in a first-level cache while all rows pass by.
    const int slice = group_slice(rows);
    for (int g = 0; g < args.x.groups; g += slice) {
      const int end = std::min(g + slice, args.x.groups);
      for (int p = 0; p < args.panels; ++p) {
        for (int block = args.range.first; block < args.range.end; ++block) {
          for_even_parts(args.range.size(block), most, [&](int /*part*/, int r, int count) {
            multiply_part(args, count, p, block, r, g, end, std::make_integer_sequence<int, most>{});
          });
        }
      }
    }
  }

 private:
  static constexpr int most = 4;

  struct Halves {
    __m256i low, high;  ///< columns 0 to 7, 8 to 15
  };

  __attribute__((target("avx2,fma,f16c"))) static __m256i load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  __attribute__((target("avx2,fma,f16c"))) static __m256i broadcast(const std::int8_t* four) {
    std::int32_t bits;
    std::memcpy(&bits, four, sizeof bits);
    return _mm256_set1_epi32(bits);
  }
  __attribute__((target("avx2,fma,f16c"))) static __m256i pairs(__m256i sums) {
    return _mm256_madd_epi16(sums, _mm256_set1_epi16(1));
  }

  /// One row by four panels at once: four streams of reads.
  __attribute__((target("avx2,fma,f16c"))) static void multiply_row(const Args& args) {
    __m256 low[4], high[4];
    for (int p = 0; p < 4; ++p) low[p] = high[p] = _mm256_setzero_ps();
    for (int g = 0; g < args.x.groups; ++g) {
      const std::int8_t* x = args.values(0, 0, g);
      const __m256 x_scale = _mm256_set1_ps(*args.scales(0, 0, g));
      const __m256i shift = _mm256_set1_epi32(8 * *args.negated_sums(0, 0, g));
      for (int p = 0; p < 4; ++p) {
        const PanelGroup<W>& group = args.group(p, g);
        Halves sums[] = {zero()};
        add_products(group, sums, x, 4, std::make_integer_sequence<int, 1>{});
        const Halves whole = finish(sums[0], shift);
        low[p] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(whole.low), _mm256_mul_ps(scales(group.scale), x_scale), low[p]);
        high[p] =
            _mm256_fmadd_ps(_mm256_cvtepi32_ps(whole.high), _mm256_mul_ps(scales(group.scale + 8), x_scale), high[p]);
      }
    }
    for (int p = 0; p < 4; ++p) {
      _mm256_storeu_ps(args.sums_of(p, 0), low[p]);
      _mm256_storeu_ps(args.sums_of(p, 0) + 8, high[p]);
    }
  }

  /// multiply_rows with a number of rows that the compiler knows.
  template <int... N>
  static void multiply_part(const Args& args, int count, int p, int block, int r, int g, int end,
                            std::integer_sequence<int, N...> /*counts*/) {
    ((count == N + 1 ? multiply_rows(args, p, block, r, g, end, std::make_integer_sequence<int, N + 1>{}) : void()),
     ...);
  }

  /// Adds sizeof...(I) rows of a block from r on, times groups [g, end) of panel p, to their sums.
  template <int... I>
  __attribute__((target("avx2,fma,f16c"))) static void multiply_rows(const Args& args, int p, int block, int r, int g,
                                                                     int end, std::integer_sequence<int, I...> rows) {
    const int size = args.range.size(block);
    const std::int8_t* x = args.values(block, r, g);
    const float* x_scale = args.scales(block, r, g);
    const std::int32_t* x_sum = args.negated_sums(block, r, g);
    float* to = args.sums_of(p, args.range.begin(block) + r);
    for (; g < end; ++g, x += group_size * size, x_scale += size, x_sum += size) {
      const PanelGroup<W>& group = args.group(p, g);
      Halves sums[] = {(static_cast<void>(I), zero())...};
      add_products(group, sums, x, 4 * size, rows);
      const __m256 low = scales(group.scale), high = scales(group.scale + 8);
      (add_scaled(finish(sums[I], _mm256_set1_epi32(8 * x_sum[I])), low, high, _mm256_set1_ps(x_scale[I]),
                  to + I * Args::width),
       ...);
    }
  }

  __attribute__((target("avx2,fma,f16c"))) static Halves zero() {
    return {_mm256_setzero_si256(), _mm256_setzero_si256()};
  }
  __attribute__((target("avx2,fma,f16c"))) static __m256 scales(const f16* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  __attribute__((target("avx2,fma,f16c"))) static void add_scaled(Halves sums, __m256 low, __m256 high, __m256 x_scale,
                                                                  float* to) {
    _mm256_storeu_ps(to,
                     _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums.low), _mm256_mul_ps(low, x_scale), _mm256_loadu_ps(to)));
    _mm256_storeu_ps(
        to + 8, _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums.high), _mm256_mul_ps(high, x_scale), _mm256_loadu_ps(to + 8)));
  }

  /// The sums of a group's products: of 16 bits and shifted for int4, as they are for int8.
  __attribute__((target("avx2,fma,f16c"))) static Halves finish(Halves sums, __m256i shift) {
    if constexpr (one_of<W, int8>) return sums;
    return {_mm256_add_epi32(pairs(sums.low), shift), _mm256_add_epi32(pairs(sums.high), shift)};
  }

  /// x: four values of each row; the next four are `step` further.
  template <int... I>
  __attribute__((target("avx2,fma,f16c"))) static void add_products(const PanelGroup<W>& group, Halves* sums,
                                                                    const std::int8_t* x, std::ptrdiff_t step,
                                                                    std::integer_sequence<int, I...> rows) {
    if constexpr (one_of<W, int8>) {
      for (int quad = 0; quad < 8; ++quad, x += step) {
        const __m256i low = load(group.value[quad]), high = load(group.value[quad][8]);
        const __m256i low_size = _mm256_abs_epi8(low), high_size = _mm256_abs_epi8(high);
        (add_signed(sums[I], broadcast(x + 4 * I), low, high, low_size, high_size), ...);
      }
    } else {
      const __m256i mask = _mm256_set1_epi8(15);
      for (int j = 0; j < 4; ++j) {
        const __m256i low = load(group.pair[j]), high = load(group.pair[j][8]);
        (add_unsigned(sums[I], broadcast(x + 4 * I), _mm256_and_si256(low, mask), _mm256_and_si256(high, mask)), ...);
        x += step;
        (add_unsigned(sums[I], broadcast(x + 4 * I), _mm256_and_si256(_mm256_srli_epi16(low, 4), mask),
                      _mm256_and_si256(_mm256_srli_epi16(high, 4), mask)),
         ...);
        x += step;
      }
    }
    static_cast<void>(rows);
  }

  __attribute__((target("avx2,fma,f16c"))) static void add_signed(Halves& sums, __m256i x, __m256i low, __m256i high,
                                                                  __m256i low_size, __m256i high_size) {
    sums.low = _mm256_add_epi32(sums.low, pairs(_mm256_maddubs_epi16(low_size, _mm256_sign_epi8(x, low))));
    sums.high = _mm256_add_epi32(sums.high, pairs(_mm256_maddubs_epi16(high_size, _mm256_sign_epi8(x, high))));
  }
  __attribute__((target("avx2,fma,f16c"))) static void add_unsigned(Halves& sums, __m256i x, __m256i low,
                                                                    __m256i high) {
    sums.low = _mm256_add_epi16(sums.low, _mm256_maddubs_epi16(low, x));
    sums.high = _mm256_add_epi16(sums.high, _mm256_maddubs_epi16(high, x));
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
