// SPDX-License-Identifier: MIT
/// What a product kernel for integer weights is given.
#pragma once

#include <cstddef>
#include <cstdint>

#include <gpt2ie/backend/group_panels.hpp>
#include <gpt2ie/backend/quantized_rows.hpp>
#include <gpt2ie/backend/row_blocks.hpp>
#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// sums[panels, rows, 16] = rows of x[32 * groups] times neighbouring panels of weights.
///
/// In every kernel the 32 products of a group are summed exactly, as integers, and the groups in ascending order from
/// zero: sum = madd(integer, scale of the column * scale of the row, sum).
template <GroupedElement W>
struct GroupProductArgs {
  static constexpr int width = 16;
  /// What a call takes at most: sums are the caller's scratch.
  static constexpr int most_blocks = 5, most_panels = 4;
  static constexpr int most_rows = most_blocks * RowBlocks::most_rows;

  const PanelGroup<W>* weights;  ///< the first panel; the others follow
  int panels;
  QuantizedRows x;
  BlockRange range;
  float* sums;

  [[nodiscard]] const PanelGroup<W>& group(int p, int g) const {
    return weights[static_cast<std::ptrdiff_t>(p) * x.groups + g];
  }
  /// What follows the slice of panel p from group g on, `slice` groups high: the same groups of the panel `step`
  /// further, or the next groups of the first.
  [[nodiscard]] const PanelGroup<W>* after(int p, int step, int g, int slice) const {
    return p + step < panels ? &group(p + step, g) : &group(p % step, g + slice < x.groups ? g + slice : g);
  }
  /// What row r of a block and those after it have in group g: four values, and those that come next are 4 * the rows
  /// of the block further; a scale; a sum.
  [[nodiscard]] const std::int8_t* values(int block, int r, int g) const {
    return x.value + first_of(block, g) * group_size + r * 4;
  }
  [[nodiscard]] const float* scales(int block, int r, int g) const { return x.scale + first_of(block, g) + r; }
  [[nodiscard]] const std::int32_t* negated_sums(int block, int r, int g) const {
    return x.negated_sum + first_of(block, g) + r;
  }
  /// Row r of the range.
  [[nodiscard]] float* sums_of(int p, int r) const {
    return sums + (static_cast<std::ptrdiff_t>(p) * range.rows() + r) * width;
  }

 private:
  [[nodiscard]] std::ptrdiff_t first_of(int block, int g) const {
    return static_cast<std::ptrdiff_t>(range.blocks.begin(block)) * x.groups +
           static_cast<std::ptrdiff_t>(range.size(block)) * g;
  }
};

/// How many groups of a panel are taken at a time, see panel_slice.
inline constexpr int group_slice(int rows) { return rows < 8 ? 1 : 16; }

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
