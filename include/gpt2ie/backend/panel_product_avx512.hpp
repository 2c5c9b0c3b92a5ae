// SPDX-License-Identifier: MIT
/// The product of backend::SimdCpu for processors with AVX-512: a row of a panel is one register.
#pragma once

#include <gpt2ie/backend/isa.hpp>

#if GPT2IE_X86_KERNELS

#include <algorithm>
#include <cstddef>
#include <utility>

#include <gpt2ie/backend/avx512.hpp>
#include <gpt2ie/backend/panel_product_args.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

template <PlainElement W>
struct PanelProductAvx512 {
  using Args = PanelProductArgs<W>;

  GPT2IE_TARGET_AVX512 static void multiply(const Args& args) {
    if (args.rows == 1 && args.panels == 4) return multiply_row(args, std::make_integer_sequence<int, 4>{});
    const int slice = panel_slice(args.rows, 32);
    const int parts = (args.rows + most - 1) / most;
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * args.rows) * Args::width, 0.0f);
    for (int k = 0; k < args.in; k += slice) {
      const int depth = std::min(slice, args.in - k);
      for (int p = 0; p < args.panels; ++p) {
        // Each part of the rows fetches its share of the slice that comes next.
        const char* next = reinterpret_cast<const char*>(args.after(p, k, slice));
        const int step = static_cast<int>(sizeof(W)) * Args::width / parts;
        for (int part = 0, r = 0; part < parts; ++part) {
          const int count = (args.rows - r + parts - part - 1) / (parts - part);
          multiply_part(args, count, p, r, k, depth, next, step, std::make_integer_sequence<int, most>{});
          next += depth * step;
          r += count;
        }
      }
    }
  }

 private:
  static constexpr int most = 14;

  /// One row by four panels at once: four streams of reads.
  template <int... P>
  GPT2IE_TARGET_AVX512 static void multiply_row(const Args& args, std::integer_sequence<int, P...> /*panels*/) {
    const W* w[] = {args.panel(P, 0)...};
    __m512 sum[] = {(static_cast<void>(P), _mm512_setzero_ps())...};
    for (int k = 0; k < args.in; ++k) {
      const __m512 factor = _mm512_set1_ps(args.x[k]);
      ((sum[P] = _mm512_fmadd_ps(factor, Avx512Load<W>::sixteen(w[P] + static_cast<std::ptrdiff_t>(k) * Args::width),
                                 sum[P])),
       ...);
    }
    (_mm512_storeu_ps(args.sums_of(P, 0), sum[P]), ...);
  }

  /// multiply_rows with a number of rows that the compiler knows.
  template <int... N>
  GPT2IE_TARGET_AVX512 static void multiply_part(const Args& args, int count, int p, int r, int k, int depth,
                                                 const char* next, int step,
                                                 std::integer_sequence<int, N...> /*counts*/) {
    ((count == N + 1 ? multiply_rows(args, p, r, k, depth, next, step, std::make_integer_sequence<int, N + 1>{})
                     : void()),
     ...);
  }

  /// Adds sizeof...(I) rows from r on, times `depth` rows of panel p from k on, to their sums.
  template <int... I>
  GPT2IE_TARGET_AVX512 static void multiply_rows(const Args& args, int p, int r, int k, int depth, const char* next,
                                                 int step, std::integer_sequence<int, I...> /*rows*/) {
    const float* x[] = {args.row(r + I) + k...};
    const W* w = args.panel(p, k);
    float* sums[] = {args.sums_of(p, r + I)...};
    __m512 sum[] = {_mm512_loadu_ps(sums[I])...};
    for (int j = 0; j < depth; ++j, w += Args::width, next += step) {
      _mm_prefetch(next, _MM_HINT_T0);
      const __m512 weights = Avx512Load<W>::sixteen(w);
      ((sum[I] = _mm512_fmadd_ps(_mm512_set1_ps(x[I][j]), weights, sum[I])), ...);
    }
    (_mm512_storeu_ps(sums[I], sum[I]), ...);
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
