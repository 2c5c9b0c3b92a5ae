// SPDX-License-Identifier: MIT
/// What a product kernel for integer weights is given.
#pragma once

#include <cstddef>

#include <gpt2ie/backend/group_panels.hpp>
#include <gpt2ie/backend/quantized_rows.hpp>
#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// sums[panels, rows, 16] = x[rows, 32 * groups] times neighbouring panels of weights.
///
/// In every kernel the 32 products of a group are summed exactly, as integers, and the groups in ascending order from
/// zero: sum = madd(integer, scale of the column * scale of the row, sum).
template <GroupedElement W>
struct GroupProductArgs {
  static constexpr int width = 16;
  /// What a call takes at most: sums are the caller's scratch.
  static constexpr int most_rows = 64, most_panels = 4;

  const PanelGroup<W>* weights;  ///< the first panel; the others follow
  int panels;
  QuantizedRows x;
  int rows;
  float* sums;

  [[nodiscard]] const PanelGroup<W>& group(int p, int g) const {
    return weights[static_cast<std::ptrdiff_t>(p) * x.groups + g];
  }
  [[nodiscard]] float* sums_of(int p, int r) const {
    return sums + (static_cast<std::ptrdiff_t>(p) * rows + r) * width;
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
