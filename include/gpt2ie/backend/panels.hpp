// SPDX-License-Identifier: MIT
/// Packed weights of backend::SimdCpu.
///
/// Layout: W[in, out] is cut into panels of 16 columns, each panel stored as [in][16] and the last one padded with
/// zeros.
#pragma once

#include <algorithm>
#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/host_buffer.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A weight matrix in panels of 16 columns, kept as W. Immutable once packed; safe to read from any thread.
template <PlainElement W>
class PanelMatrix {
 public:
  static constexpr int width = 16;

  PanelMatrix() = default;
  PanelMatrix(int in, int out)
      : in_(in), out_(out), data_(static_cast<std::size_t>(panels()) * width * static_cast<std::size_t>(in)) {
    if (out % width != 0) std::fill_n(panel(panels() - 1), width * static_cast<std::size_t>(in), W{});
  }

  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] int panels() const { return (out_ + width - 1) / width; }
  [[nodiscard]] W* panel(int p) { return data_.data() + offset(p); }
  [[nodiscard]] const W* panel(int p) const { return data_.data() + offset(p); }

  /// Sets row k, out[0..out()), rounded to W.
  void set_row(int k, const float* from) {
    for (int p = 0; p < panels(); ++p) {
      const int count = std::min(width, out_ - p * width);
      W* to = panel(p) + static_cast<std::size_t>(k) * width;
      for (int c = 0; c < count; ++c) to[c] = from_float<W>(from[p * width + c]);
    }
  }

  /// Column j starts here and its elements lie `width` apart.
  [[nodiscard]] W* column(int j) { return panel(j / width) + j % width; }
  [[nodiscard]] const W* column(int j) const { return panel(j / width) + j % width; }

 private:
  [[nodiscard]] std::size_t offset(int p) const {
    return static_cast<std::size_t>(p) * width * static_cast<std::size_t>(in_);
  }

  int in_ = 0, out_ = 0;
  HostBuffer<W> data_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
