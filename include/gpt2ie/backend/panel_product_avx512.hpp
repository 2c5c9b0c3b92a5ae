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

/// A block of rows by two panels at a time: up to 24 sums, and an element of x serves two of them.
template <PlainElement W>
struct PanelProductAvx512 {
  using Args = PanelProductArgs<W>;

  GPT2IE_TARGET_AVX512 static void multiply(const Args& args) {
    const int rows = args.range.rows();
    if (rows == 1 && args.panels == 4) return multiply_row(args, std::make_integer_sequence<int, 4>{});
    const int slice = panel_slice(rows, 32), blocks = args.range.end - args.range.first;
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * rows) * Args::width, 0.0f);
    for (int k = 0; k < args.in; k += slice) {
      const int depth = std::min(slice, args.in - k);
      for (int p = 0; p < args.panels; p += 2) {
        const Panels pair{.p = p, .k = k, .depth = depth};
        // Each block fetches its share of the slices that come next.
        const char* next[] = {reinterpret_cast<const char*>(args.after(p, 2, k, slice)),
                              reinterpret_cast<const char*>(args.after(second(args, p), 2, k, slice))};
        const int step = static_cast<int>(sizeof(W)) * Args::width / blocks;
        for (int block = args.range.first; block < args.range.end; ++block) {
          multiply_block(args, pair, block, next, step, std::make_integer_sequence<int, RowBlocks::most_rows>{});
          for (const char*& address : next) address += static_cast<std::ptrdiff_t>(depth) * step;
        }
      }
    }
  }

 private:
  /// Rows [k, k + depth) of panel p and its neighbour.
  struct Panels {
    int p, k, depth;
  };

  /// The other panel of a pair: where there is none, p again, which does the same twice.
  static int second(const Args& args, int p) { return std::min(p + 1, args.panels - 1); }

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
  GPT2IE_TARGET_AVX512 static void multiply_block(const Args& args, const Panels& pair, int block,
                                                  const char* const* next, int step,
                                                  std::integer_sequence<int, N...> /*counts*/) {
    const int size = args.range.size(block);
    ((size == N + 1 ? multiply_rows(args, pair, block, next, step, std::make_integer_sequence<int, N + 1>{}) : void()),
     ...);
  }

  /// Adds the sizeof...(I) rows of a block, times a pair of panels, to their sums.
  template <int... I>
  GPT2IE_TARGET_AVX512 static void multiply_rows(const Args& args, const Panels& pair, int block,
                                                 const char* const* next, int step,
                                                 std::integer_sequence<int, I...> /*rows*/) {
    constexpr std::ptrdiff_t rows = sizeof...(I);
    const int other = second(args, pair.p), row = args.range.begin(block);
    const float* x = args.elements(block, 0, pair.k);
    const W *w0 = args.panel(pair.p, pair.k), *w1 = args.panel(other, pair.k);
    float *to0 = args.sums_of(pair.p, row), *to1 = args.sums_of(other, row);
    const char *next0 = next[0], *next1 = next[1];
    __m512 sum0[] = {_mm512_loadu_ps(to0 + I * Args::width)...}, sum1[] = {_mm512_loadu_ps(to1 + I * Args::width)...};
    for (int j = 0; j < pair.depth; ++j) {
      _mm_prefetch(next0, _MM_HINT_T0);
      _mm_prefetch(next1, _MM_HINT_T0);
      const __m512 weights0 = Avx512Load<W>::sixteen(w0), weights1 = Avx512Load<W>::sixteen(w1);
      (add(_mm512_set1_ps(x[I]), weights0, weights1, sum0[I], sum1[I]), ...);
      x += rows, w0 += Args::width, w1 += Args::width, next0 += step, next1 += step;
    }
    (_mm512_storeu_ps(to0 + I * Args::width, sum0[I]), ...);
    (_mm512_storeu_ps(to1 + I * Args::width, sum1[I]), ...);
  }

  GPT2IE_TARGET_AVX512 static void add(__m512 factor, __m512 weights0, __m512 weights1, __m512& sum0, __m512& sum1) {
    sum0 = _mm512_fmadd_ps(factor, weights0, sum0);
    sum1 = _mm512_fmadd_ps(factor, weights1, sum1);
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail

#endif
