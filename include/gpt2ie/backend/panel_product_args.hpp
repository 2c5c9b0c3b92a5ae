// SPDX-License-Identifier: MIT
/// What a product kernel is given.
#pragma once

#include <cstddef>

#include <gpt2ie/backend/row_blocks.hpp>
#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// sums[panels, rows, 16] = rows of x[in] times neighbouring panels of weights, each [in][16].
template <class W>
struct PanelProductArgs {
  static constexpr int width = 16;
  /// What a call takes at most: sums are the caller's scratch.
  static constexpr int most_blocks = 5, most_panels = 4;
  static constexpr int most_rows = most_blocks * RowBlocks::most_rows;

  const W* weights;  ///< the first panel; the others follow
  int panels, in;
  const float* x;  ///< all blocks, [block][in][rows of the block]
  BlockRange range;
  float* sums;

  /// The elements of a block from k on, of the block's row r and those after it.
  [[nodiscard]] const float* elements(int block, int r, int k) const {
    return x + static_cast<std::ptrdiff_t>(range.blocks.begin(block)) * in +
           static_cast<std::ptrdiff_t>(range.size(block)) * k + r;
  }
  [[nodiscard]] const W* panel(int p, int k) const {
    return weights + (static_cast<std::ptrdiff_t>(p) * in + k) * width;
  }
  /// Row r of the range.
  [[nodiscard]] float* sums_of(int p, int r) const {
    return sums + (static_cast<std::ptrdiff_t>(p) * range.rows() + r) * width;
  }
  /// What follows the slice of panel p from row k on, `slice` rows high: the same rows of the panel `step` further, or
  /// the next rows of the first.
  [[nodiscard]] const W* after(int p, int step, int k, int slice) const {
    return p + step < panels ? panel(p + step, k) : panel(p % step, k + slice < in ? k + slice : k);
  }
};

/// How many rows of a panel are taken at a time. Few rows of activations wait for memory: short slices of several
/// panels in turn keep several streams of reads going, which a core prefetches half as fast again as one. Many rows
/// compute: a slice [128][16] and the one after it, which is fetched meanwhile, stay in a first-level cache while they
/// pass by.
inline constexpr int panel_slice(int rows, int slice_of_few) { return rows < 8 ? slice_of_few : 128; }

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
