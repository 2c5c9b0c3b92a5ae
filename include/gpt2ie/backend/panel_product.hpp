// SPDX-License-Identifier: MIT
/// The product of backend::SimdCpu: rows of activations times panels of weights, in portable code, and the choice of an
/// instruction set's own.
///
/// Every output element is summed over `in` in ascending order from zero with madd, whatever the number of rows, the
/// blocking or the thread: so a row has the same bits alone and in any batch. The idea of packed panels is Goto and van
/// de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), section 4; there the order of a sum may change
/// with the blocking, here it may not.
#pragma once

#include <algorithm>
#include <cstddef>

#include <gpt2ie/backend/isa.hpp>
#include <gpt2ie/backend/panel_product_args.hpp>
#include <gpt2ie/backend/panel_product_avx2.hpp>
#include <gpt2ie/backend/panel_product_avx512.hpp>
#include <gpt2ie/backend/panels.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/float4.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// For compilers and processors without a kernel of their own, and the oracle of those that have one.
template <PlainElement W>
struct PanelProductPortable {
  using Args = PanelProductArgs<W>;

  static void multiply(const Args& args) {
    const int slice = panel_slice(args.rows, 8);
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * args.rows) * Args::width, 0.0f);
    for (int k = 0; k < args.in; k += slice) {
      const int depth = std::min(slice, args.in - k);
      for (int p = 0; p < args.panels; ++p) {
        int r = 0;
        for (; r + 2 <= args.rows; r += 2) multiply_rows<2>(args, p, r, k, depth);
        if (r < args.rows) multiply_rows<1>(args, p, r, k, depth);
      }
    }
  }

 private:
  /// Adds Rows rows from r on, times `depth` rows of panel p from k on, to their sums.
  template <int Rows>
  static void multiply_rows(const Args& args, int p, int r, int k, int depth) {
    const float* x = args.row(r) + k;
    const W* panel = args.panel(p, k);
    float* sums = args.sums_of(p, r);
    Float4 sum[Rows][4];
    for (int i = 0; i < Rows; ++i) {
      for (int c = 0; c < 4; ++c) sum[i][c] = load4(sums + i * Args::width + 4 * c);
    }
    for (int j = 0; j < depth; ++j) {
      const W* w = panel + static_cast<std::ptrdiff_t>(j) * Args::width;
      for (int i = 0; i < Rows; ++i) {
        const Float4 factor = broadcast4(x[static_cast<std::ptrdiff_t>(i) * args.in + j]);
        for (int c = 0; c < 4; ++c) sum[i][c] = madd4(factor, load4(w + 4 * c), sum[i][c]);
      }
    }
    for (int i = 0; i < Rows; ++i) {
      for (int c = 0; c < 4; ++c) store4(sums + i * Args::width + 4 * c, sum[i][c]);
    }
  }
};

template <PlainElement W>
using PanelProduct = void (*)(const PanelProductArgs<W>&);

/// Precondition: has_isa(isa).
template <PlainElement W>
[[nodiscard]] PanelProduct<W> panel_product(Isa isa) {
#if GPT2IE_X86_KERNELS
  if (isa == Isa::avx2) return &PanelProductAvx2<W>::multiply;
  if (isa == Isa::avx512) return &PanelProductAvx512<W>::multiply;
#endif
  static_cast<void>(isa);
  return &PanelProductPortable<W>::multiply;
}

/// What SimdCpu<W> calls: the kernel's function, and what it is given of a matrix and of rows.
template <WeightElement W>
struct ProductOf {
  using Args = PanelProductArgs<W>;
  using Rows = const float*;  ///< [rows, in]

  [[nodiscard]] static PanelProduct<W> choose(Isa isa) { return panel_product<W>(isa); }

  [[nodiscard]] static Args args(const PanelMatrix<W>& w, int first_panel, int panels, Rows x, int first_row, int rows,
                                 float* sums) {
    return {.weights = w.panel(first_panel),
            .panels = panels,
            .in = w.in(),
            .x = x + static_cast<std::ptrdiff_t>(first_row) * w.in(),
            .rows = rows,
            .sums = sums};
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
