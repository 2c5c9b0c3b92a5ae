// SPDX-License-Identifier: MIT
/// The product of backend::SimdCpu for processors with AVX2 and FMA.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <algorithm>
#include <cstddef>
#include <utility>

#include <immintrin.h>

#include <gpt2ie/backend/avx2_load.hpp>
#include <gpt2ie/backend/panel_product_args.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

template <PlainElement W>
struct PanelProductAvx2 {
  using Args = PanelProductArgs<W>;

  __attribute__((target("avx2,fma,f16c"))) static void multiply(const Args& args) {
    const int rows = args.range.rows();
    if (rows == 1 && args.panels == 4) return multiply_row(args);
    const int slice = panel_slice(rows, 32);
    const int parts = args.range.end - args.range.first;
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * rows) * Args::width, 0.0f);
    for (int k = 0; k < args.in; k += slice) {
      const int depth = std::min(slice, args.in - k);
      for (int p = 0; p < args.panels; ++p) {
        // Each block of rows fetches its share of the slice that comes next.
        const char* next = reinterpret_cast<const char*>(args.after(p, 1, k, slice));
        const int step = static_cast<int>(sizeof(W)) * Args::width / parts;
        for (int block = args.range.first; block < args.range.end; ++block, next += depth * step) {
          multiply_block(args, p, block, k, depth, next, step);
        }
      }
    }
  }

 private:
  /// Twelve sums of eight lanes keep both units for FMA busy.
  static constexpr int most = 6;

  /// One row by four panels at once: four streams of reads.
  __attribute__((target("avx2,fma,f16c"))) static void multiply_row(const Args& args) {
    __m256 low[4], high[4];
    for (int p = 0; p < 4; ++p) low[p] = high[p] = _mm256_setzero_ps();
    for (int k = 0; k < args.in; ++k) {
      const __m256 factor = _mm256_broadcast_ss(args.x + k);
      for (int p = 0; p < 4; ++p) {
        const W* w = args.panel(p, k);
        low[p] = _mm256_fmadd_ps(factor, Avx2Load<W>::eight(w), low[p]);
        high[p] = _mm256_fmadd_ps(factor, Avx2Load<W>::eight(w + 8), high[p]);
      }
    }
    for (int p = 0; p < 4; ++p) {
      _mm256_storeu_ps(args.sums_of(p, 0), low[p]);
      _mm256_storeu_ps(args.sums_of(p, 0) + 8, high[p]);
    }
  }

  __attribute__((target("avx2,fma,f16c"))) static void multiply_block(const Args& args, int p, int block, int k,
                                                                      int depth, const char* next, int step) {
    for_even_parts(args.range.size(block), most, [&](int /*part*/, int r, int count) {
      multiply_part(args, count, p, block, r, k, depth, next, step, std::make_integer_sequence<int, most>{});
    });
  }

  /// multiply_rows with a number of rows that the compiler knows.
  template <int... N>
  static void multiply_part(const Args& args, int count, int p, int block, int r, int k, int depth, const char* next,
                            int step, std::integer_sequence<int, N...> /*counts*/) {
    ((count == N + 1 ? multiply_rows(args, p, block, r, k, depth, next, step, std::make_integer_sequence<int, N + 1>{})
                     : void()),
     ...);
  }

  /// Adds sizeof...(I) rows of a block from r on, times `depth` rows of panel p from k on, to their sums. Folds in
  /// place of loops: a compiler that leaves one of these loops standing keeps the sums in memory, at a third of the
  /// speed.
  template <int... I>
  __attribute__((target("avx2,fma,f16c"))) static void multiply_rows(const Args& args, int p, int block, int r, int k,
                                                                     int depth, const char* next, int step,
                                                                     std::integer_sequence<int, I...> /*rows*/) {
    const float* x = args.elements(block, r, k);
    const std::ptrdiff_t size = args.range.size(block);
    const W* w = args.panel(p, k);
    float* sums = args.sums_of(p, args.range.begin(block) + r);
    __m256 low[] = {_mm256_loadu_ps(sums + I * Args::width)...},
           high[] = {_mm256_loadu_ps(sums + I * Args::width + 8)...};
    for (int j = 0; j < depth; ++j, x += size, w += Args::width, next += step) {
      _mm_prefetch(next, _MM_HINT_T0);
      const __m256 w_low = Avx2Load<W>::eight(w), w_high = Avx2Load<W>::eight(w + 8);
      ((low[I] = _mm256_fmadd_ps(_mm256_broadcast_ss(x + I), w_low, low[I]),
        high[I] = _mm256_fmadd_ps(_mm256_broadcast_ss(x + I), w_high, high[I])),
       ...);
    }
    ((_mm256_storeu_ps(sums + I * Args::width, low[I]), _mm256_storeu_ps(sums + I * Args::width + 8, high[I])), ...);
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
