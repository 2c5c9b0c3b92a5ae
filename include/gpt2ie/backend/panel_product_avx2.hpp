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
    if (args.rows == 1 && args.panels == 4) return multiply_row(args);
    const int slice = panel_slice(args.rows, 32);
    // Groups of up to six rows, as even as can be: twelve sums of eight lanes each keep both units for FMA busy.
    const int groups = (args.rows + most - 1) / most;
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * args.rows) * Args::width, 0.0f);
    for (int k = 0; k < args.in; k += slice) {
      const int depth = std::min(slice, args.in - k);
      for (int p = 0; p < args.panels; ++p) {
        // Each group of rows fetches its share of the slice that comes next.
        const char* next = reinterpret_cast<const char*>(args.after(p, k, slice));
        const int step = static_cast<int>(sizeof(W)) * Args::width / groups;
        for (int group = 0, r = 0; group < groups; ++group) {
          const int count = (args.rows - r + groups - group - 1) / (groups - group);
          multiply_group(args, count, p, r, k, depth, next, step);
          next += depth * step;
          r += count;
        }
      }
    }
  }

 private:
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

  __attribute__((target("avx2,fma,f16c"))) static void multiply_group(const Args& args, int count, int p, int r, int k,
                                                                      int depth, const char* next, int step) {
    switch (count) {
      case 1:
        return multiply_rows(args, p, r, k, depth, next, step, std::make_integer_sequence<int, 1>{});
      case 2:
        return multiply_rows(args, p, r, k, depth, next, step, std::make_integer_sequence<int, 2>{});
      case 3:
        return multiply_rows(args, p, r, k, depth, next, step, std::make_integer_sequence<int, 3>{});
      case 4:
        return multiply_rows(args, p, r, k, depth, next, step, std::make_integer_sequence<int, 4>{});
      case 5:
        return multiply_rows(args, p, r, k, depth, next, step, std::make_integer_sequence<int, 5>{});
      default:
        return multiply_rows(args, p, r, k, depth, next, step, std::make_integer_sequence<int, 6>{});
    }
  }

  /// Adds sizeof...(I) rows from r on, times `depth` rows of panel p from k on, to their sums. Folds in place of loops:
  /// a compiler that leaves one of these loops standing keeps the sums in memory, at a third of the speed.
  template <int... I>
  __attribute__((target("avx2,fma,f16c"))) static void multiply_rows(const Args& args, int p, int r, int k, int depth,
                                                                     const char* next, int step,
                                                                     std::integer_sequence<int, I...> /*rows*/) {
    const float* x[] = {args.row(r + I) + k...};
    const W* w = args.panel(p, k);
    float* sums[] = {args.sums_of(p, r + I)...};
    __m256 low[] = {_mm256_loadu_ps(sums[I])...}, high[] = {_mm256_loadu_ps(sums[I] + 8)...};
    for (int j = 0; j < depth; ++j, w += Args::width, next += step) {
      _mm_prefetch(next, _MM_HINT_T0);
      const __m256 w_low = Avx2Load<W>::eight(w), w_high = Avx2Load<W>::eight(w + 8);
      ((low[I] = _mm256_fmadd_ps(_mm256_broadcast_ss(x[I] + j), w_low, low[I]),
        high[I] = _mm256_fmadd_ps(_mm256_broadcast_ss(x[I] + j), w_high, high[I])),
       ...);
    }
    ((_mm256_storeu_ps(sums[I], low[I]), _mm256_storeu_ps(sums[I] + 8, high[I])), ...);
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
