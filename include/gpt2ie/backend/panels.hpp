// SPDX-License-Identifier: MIT
/// Packed weights and the one product routine of backend::SimdCpu.
///
/// Layout: W[in, out] is cut into panels of 16 columns, each panel stored as [in][16] and the last one padded with
/// zeros. Every output element is summed over `in` in ascending order from zero with madd, whatever the number of rows,
/// the blocking or the thread: so a row has the same bits alone and in any batch. The idea of packed panels is Goto and
/// van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008), section 4; there the order of a sum may
/// change with the blocking, here it may not.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/float4.hpp>
#include <gpt2ie/core/host_buffer.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A weight matrix in panels of 16 columns. Immutable once packed; safe to read from any thread.
class PanelMatrix {
 public:
  static constexpr int width = 16;

  PanelMatrix() = default;
  PanelMatrix(int in, int out)
      : in_(in), out_(out), data_(static_cast<std::size_t>(panels()) * width * static_cast<std::size_t>(in)) {
    if (out % width != 0) std::fill_n(panel(panels() - 1), width * static_cast<std::size_t>(in), 0.0f);
  }

  [[nodiscard]] int in() const { return in_; }
  [[nodiscard]] int out() const { return out_; }
  [[nodiscard]] int panels() const { return (out_ + width - 1) / width; }
  [[nodiscard]] float* panel(int p) { return data_.data() + offset(p); }
  [[nodiscard]] const float* panel(int p) const { return data_.data() + offset(p); }

  /// Sets row k, out[0..out()).
  void set_row(int k, const float* from) {
    for (int p = 0; p < panels(); ++p) {
      const int count = std::min(width, out_ - p * width);
      std::memcpy(panel(p) + static_cast<std::size_t>(k) * width, from + p * width,
                  static_cast<std::size_t>(count) * sizeof(float));
    }
  }

  /// Column j starts here and its elements lie `width` apart.
  [[nodiscard]] float* column(int j) { return panel(j / width) + j % width; }
  [[nodiscard]] const float* column(int j) const { return panel(j / width) + j % width; }

 private:
  [[nodiscard]] std::size_t offset(int p) const {
    return static_cast<std::size_t>(p) * width * static_cast<std::size_t>(in_);
  }

  int in_ = 0, out_ = 0;
  HostBuffer<float> data_;
};

namespace detail {

/// Adds x[Rows, depth] times one slice of a panel, [depth][16], to sums[Rows, 16].
template <int Rows>
inline void multiply_panel(const float* x, std::ptrdiff_t x_stride, const float* panel, int depth, float* sums,
                           std::ptrdiff_t sums_stride) {
  Float4 sum[Rows][4];
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < 4; ++c) sum[r][c] = load4(sums + r * sums_stride + 4 * c);
  }
  for (int k = 0; k < depth; ++k) {
    const float* w = panel + static_cast<std::ptrdiff_t>(k) * PanelMatrix::width;
    for (int r = 0; r < Rows; ++r) {
      const Float4 factor = broadcast4(x[r * x_stride + k]);
      for (int c = 0; c < 4; ++c) sum[r][c] = madd4(factor, load4(w + 4 * c), sum[r][c]);
    }
  }
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < 4; ++c) store4(sums + r * sums_stride + 4 * c, sum[r][c]);
  }
}

/// What multiply_panels takes at most: its sums, [panels][rows][16], are the caller's scratch.
inline constexpr int panel_rows = 64, panel_group = 4;

/// sums[panels, rows, 16] = x[rows, in] times the panels from `first` on; up to panel_rows rows, panel_group panels.
inline void multiply_panels(const PanelMatrix& w, int first, int panels, const float* x, int rows, float* sums) {
  // Few rows wait for memory: short slices of several panels in turn keep several streams of reads going, which a core
  // prefetches half as fast again as one. Many rows compute: a slice [256][16] stays in a first-level cache while they
  // pass by.
  const int slice = rows < 8 ? 8 : 256;
  std::fill_n(sums, static_cast<std::size_t>(panels * rows) * PanelMatrix::width, 0.0f);
  for (int k = 0; k < w.in(); k += slice) {
    const int depth = std::min(slice, w.in() - k);
    for (int p = 0; p < panels; ++p) {
      const float* panel = w.panel(first + p) + static_cast<std::ptrdiff_t>(k) * PanelMatrix::width;
      float* panel_sums = sums + p * rows * PanelMatrix::width;
      int r = 0;
      for (; r + 2 <= rows; r += 2) {
        multiply_panel<2>(x + static_cast<std::ptrdiff_t>(r) * w.in() + k, w.in(), panel, depth,
                          panel_sums + r * PanelMatrix::width, PanelMatrix::width);
      }
      if (r < rows) {
        multiply_panel<1>(x + static_cast<std::ptrdiff_t>(r) * w.in() + k, w.in(), panel, depth,
                          panel_sums + r * PanelMatrix::width, PanelMatrix::width);
      }
    }
  }
}

}  // namespace detail
}  // namespace gpt2ie::inline GPT2IE_ABI
