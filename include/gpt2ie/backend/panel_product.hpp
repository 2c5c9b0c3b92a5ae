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
#include <gpt2ie/backend/row_blocks.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/float4.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// For compilers and processors without a kernel of their own, and the oracle of those that have one.
template <PlainElement W>
struct PanelProductPortable {
  using Args = PanelProductArgs<W>;

  static void multiply(const Args& args) {
    const int rows = args.range.rows(), slice = panel_slice(rows, 8);
    std::fill_n(args.sums, static_cast<std::size_t>(args.panels * rows) * Args::width, 0.0f);
    for (int k = 0; k < args.in; k += slice) {
      const int depth = std::min(slice, args.in - k);
      for (int p = 0; p < args.panels; ++p) {
        for (int block = args.range.first; block < args.range.end; ++block) {
          const int size = args.range.size(block);
          int r = 0;
          for (; r + 2 <= size; r += 2) multiply_rows<2>(args, p, block, r, k, depth);
          if (r < size) multiply_rows<1>(args, p, block, r, k, depth);
        }
      }
    }
  }

 private:
  /// Adds Rows rows of a block from r on, times `depth` rows of panel p from k on, to their sums.
  template <int Rows>
  static void multiply_rows(const Args& args, int p, int block, int r, int k, int depth) {
    const float* x = args.elements(block, r, k);
    const int size = args.range.size(block);
    const W* w = args.panel(p, k);
    float* sums = args.sums_of(p, args.range.begin(block) + r);
    Float4 sum[Rows][4];
    for (int i = 0; i < Rows; ++i) {
      for (int c = 0; c < 4; ++c) sum[i][c] = load4(sums + i * Args::width + 4 * c);
    }
    for (int j = 0; j < depth; ++j, x += size, w += Args::width) {
      for (int i = 0; i < Rows; ++i) {
        const Float4 factor = broadcast4(x[i]);
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

/// What SimdCpu<W> calls: the kernel's function, how rows come to lie as it wants them, and what it is given.
template <WeightElement W>
class ProductOf {
 public:
  using Args = PanelProductArgs<W>;

  explicit ProductOf(Isa isa) : multiply_(panel_product<W>(isa)) {}

  void reserve(int rows, int elements) { packed_.reserve(rows, elements); }

  /// One block of the x[rows, in] of the product to come. Blocks may be packed by several threads.
  void pack(const RowBlocks& blocks, int block, const float* x, int in) {
    if (blocks.rows() > 1) packed_.fill(blocks, block, x, in);
  }

  /// The sums of some blocks of rows and some panels. x: as pack had it. From any thread.
  void multiply(const PanelMatrix<W>& w, int first_panel, int panels, const float* x, const BlockRange& range,
                float* sums) const {
    multiply_({.weights = w.panel(first_panel),
               .panels = panels,
               .in = w.in(),
               .x = range.blocks.rows() > 1 ? packed_.data() : x,
               .range = range,
               .sums = sums});
  }

 private:
  PanelProduct<W> multiply_;
  RowBlockBuffer packed_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
