// SPDX-License-Identifier: MIT
/// Packed weights of backend::SimdCpu.
///
/// Layout: W[in, out] is cut into panels of 16 columns, each panel stored as [in][16] and the last one padded with
/// zeros. Integers with scales have a layout of their own, see group_panels.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include <gpt2ie/backend/panel_memory.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A weight matrix in panels of 16 columns, kept as W. Immutable once packed; safe to read from any thread.
template <WeightElement W>
class PanelMatrix {
 public:
  /// What the layout consists of.
  using element = W;
  static constexpr int width = 16;
  /// Rows that are packed at a time.
  static constexpr int block_rows = 32;

  PanelMatrix() = default;
  PanelMatrix(int in, int out) : in_(in), out_(out), memory_(elements(in, out)) {}
  /// A matrix that lies in this layout where `owner` keeps it, aligned to the element.
  PanelMatrix(int in, int out, const element* data, std::shared_ptr<const void> owner)
      : in_(in), out_(out), memory_(data, elements(in, out), std::move(owner)) {}

  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] int panels() const { return panels_of(out_); }
  [[nodiscard]] const element* data() const { return memory_.data(); }
  [[nodiscard]] const element* panel(int p) const { return data() + offset(p); }

  [[nodiscard]] static constexpr int panels_of(int out) { return (out + width - 1) / width; }
  /// Elements of a matrix of this size.
  [[nodiscard]] static constexpr std::size_t elements(int in, int out) {
    return static_cast<std::size_t>(panels_of(out)) * width * static_cast<std::size_t>(in);
  }

  /// Sets rows [k, k + count) of panel p from block[count][16], rounded to W; zero past the last column. Threads may
  /// set different blocks at once.
  void set_block(int p, int k, int count, const float* block) {
    element* to = memory_.own() + offset(p) + static_cast<std::size_t>(k) * width;
    for (int i = 0; i < count * width; ++i) to[i] = from_float<W>(block[i]);
  }

  /// body(k, W[k, j]) for each row k.
  template <class Body>
  void for_column(int j, const Body& body) const {
    const element* from = panel(j / width) + j % width;
    for (int k = 0; k < in_; ++k) body(k, to_float(from[static_cast<std::ptrdiff_t>(k) * width]));
  }

 private:
  [[nodiscard]] std::size_t offset(int p) const {
    return static_cast<std::size_t>(p) * width * static_cast<std::size_t>(in_);
  }

  int in_ = 0, out_ = 0;
  detail::PanelMemory<element> memory_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
