// SPDX-License-Identifier: MIT
/// Integer weights of backend::SimdCpu: panels of 16 columns in groups of 32 rows, one layout for every instruction
/// set.
///
/// Four neighbouring rows of a column lie together, which is what instructions for dot products of bytes want: AVX2
/// takes eight columns at a time, AVX-512 all sixteen, NEON four.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <gpt2ie/backend/panel_memory.hpp>
#include <gpt2ie/backend/panels.hpp>
#include <gpt2ie/backend/quantized_rows.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// 32 rows of one panel: a weight is its integer times the scale of its column.
template <GroupedElement W>
struct PanelGroup;

/// Integers from -127 to 127. 544 bytes.
template <>
struct PanelGroup<int8> {
  f16 scale[16];
  std::int8_t value[8][16][4];  ///< [row / 4][column][row % 4]

  static constexpr int lowest = -127, highest = 127;

  [[nodiscard]] int at(int row, int column) const { return value[row / 4][column][row % 4]; }
  void set(int row, int column, int integer) { value[row / 4][column][row % 4] = static_cast<std::int8_t>(integer); }
};

/// Integers from -8 to 7, stored with 8 added. 288 bytes.
template <>
struct PanelGroup<int4> {
  f16 scale[16];
  /// [row / 8][column][row % 4]: row 8j + i below, row 8j + 4 + i above.
  std::uint8_t pair[4][16][4];

  static constexpr int lowest = -8, highest = 7;

  [[nodiscard]] int at(int row, int column) const { return (pair[row / 8][column][row % 4] >> (row & 4) & 15) - 8; }
  void set(int row, int column, int integer) {
    std::uint8_t& both = pair[row / 8][column][row % 4];
    both = static_cast<std::uint8_t>((both & (0xf0 >> (row & 4))) | ((integer + 8) << (row & 4)));
  }
};

static_assert(sizeof(PanelGroup<int8>) == 544 && sizeof(PanelGroup<int4>) == 288);

/// The same in groups of 32 rows: each panel is [groups]. What is missing of the last group is zero.
template <GroupedElement W>
class PanelMatrix<W> {
 public:
  using element = PanelGroup<W>;
  static constexpr int width = 16;
  static constexpr int block_rows = detail::group_size;

  PanelMatrix() = default;
  PanelMatrix(int in, int out) : in_(in), out_(out), memory_(elements(in, out)) {}
  PanelMatrix(int in, int out, const element* data, std::shared_ptr<const void> owner)
      : in_(in), out_(out), memory_(data, elements(in, out), std::move(owner)) {}

  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] int panels() const { return panels_of(out_); }
  [[nodiscard]] int groups() const { return detail::groups_of(in_); }
  [[nodiscard]] const element* data() const { return memory_.data(); }
  [[nodiscard]] const element* panel(int p) const { return data() + offset(p); }

  [[nodiscard]] static constexpr int panels_of(int out) { return (out + width - 1) / width; }
  [[nodiscard]] static constexpr std::size_t elements(int in, int out) {
    return static_cast<std::size_t>(panels_of(out)) * static_cast<std::size_t>(detail::groups_of(in));
  }

  /// Quantises block[count][16] to rows [k, k + count) of panel p; k is a multiple of 32 and count is 32, or less at
  /// the end of the matrix. Threads may set different blocks at once.
  void set_block(int p, int k, int count, const float* block) {
    element& group = memory_.own()[offset(p) + static_cast<std::size_t>(k / block_rows)];
    group = {};
    for (int c = 0; c < width; ++c) {
      float column[block_rows] = {};
      for (int row = 0; row < count; ++row) column[row] = block[row * width + c];
      set_column(group, c, column);
    }
  }

  /// body(k, W[k, j]) for each row k.
  template <class Body>
  void for_column(int j, const Body& body) const {
    const element* groups = panel(j / width);
    const int c = j % width;
    for (int k = 0; k < in_; ++k) {
      const element& group = groups[k / block_rows];
      body(k, static_cast<float>(group.at(k % block_rows, c)) * to_float(group.scale[c]));
    }
  }

 private:
  [[nodiscard]] std::size_t offset(int p) const {
    return static_cast<std::size_t>(p) * static_cast<std::size_t>(groups());
  }

  /// The scale whose rounded integers lie nearest to the column in squares, among a few; a half, as it is stored.
  static void set_column(element& group, int c, const float* x) {
    float extreme = 0;
    for (int k = 0; k < block_rows; ++k) {
      if (std::fabs(x[k]) > std::fabs(extreme)) extreme = x[k];
    }
    f16 best = from_float<f16>(0.0f);
    float best_error = -1;
    for (const float steps : candidates) {
      const f16 half = from_float<f16>(extreme / steps);
      const float scale = to_float(half);
      float error = 0;
      for (int k = 0; k < block_rows; ++k) {
        const float off = x[k] - static_cast<float>(nearest(x[k], scale)) * scale;
        error += off * off;
      }
      if (best_error < 0 || error < best_error) best = half, best_error = error;
    }
    group.scale[c] = best;
    for (int k = 0; k < block_rows; ++k) {
      group.set(k, c, nearest(x[k], to_float(best)));
    }
  }

  static int nearest(float x, float scale) {
    if (!(scale != 0)) return 0;
    const float integer = std::nearbyint(x / scale);
    return static_cast<int>(
        std::clamp(integer, static_cast<float>(element::lowest), static_cast<float>(element::highest)));
  }

  /// Steps from zero to the largest magnitude. Four bits are so few that other steps than 8 often fit better.
  static constexpr auto candidates = [] {
    if constexpr (one_of<W, int8>) {
      return std::array{127.0f};
    } else {
      return std::array{-8.0f, -7.5f, -7.0f, -8.5f, -9.0f, 7.0f, 7.5f, 8.0f};
    }
  }();

  int in_ = 0, out_ = 0;
  detail::PanelMemory<element> memory_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
