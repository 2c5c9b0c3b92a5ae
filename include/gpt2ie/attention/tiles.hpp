// SPDX-License-Identifier: MIT
/// Walking the tiles of a run.
#pragma once

#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// What the elements of one head are multiplied with in neighbouring rows of K or V: 1 where they stand for themselves.
template <class T>
struct RowScales {
  const float* first;
  std::ptrdiff_t stride;

  [[nodiscard]] GPT2IE_HD float operator[](int row) const {
    if constexpr (PlainElement<T>) {
      return 1.0f;
    } else {
      return first[row * stride];
    }
  }

  /// x[i] *= the scale of row i, for n rows.
  GPT2IE_HD void multiply(float* x, int n) const {
    if constexpr (!PlainElement<T>) {
      for (int i = 0; i < n; ++i) x[i] *= (*this)[i];
    }
  }
};

/// A position in a run's tiles that only moves forward. Host and device.
template <CacheView View>
class TileCursor {
  using Element = typename View::element;

 public:
  GPT2IE_HD TileCursor(const View& view, int layer, int run)
      : view_(view), layer_(layer), run_(run), tile_(view.tile(layer, run, 0)) {}

  /// Calls f(position, count, k, v) for the pieces of [from, to) that lie in one tile each, in order: k and v are the
  /// row of `position` in head `head`; the next row is row_stride() further, the next head head_stride().
  template <class F>
  GPT2IE_HD void for_pieces(int from, int to, int head, F&& f) {
    while (from < to) {
      while (from >= tile_.first + tile_.count) tile_ = view_.tile(layer_, run_, ++index_);
      const int end = to < tile_.first + tile_.count ? to : tile_.first + tile_.count;
      const std::ptrdiff_t offset = (from - tile_.first) * tile_.row_stride + head * tile_.head_stride;
      f(from, end - from, tile_.k + offset, tile_.v + offset);
      from = end;
    }
  }

  [[nodiscard]] GPT2IE_HD std::ptrdiff_t row_stride() const { return tile_.row_stride; }
  [[nodiscard]] GPT2IE_HD std::ptrdiff_t head_stride() const { return tile_.head_stride; }

  /// Within f: the scales of K and of V from row `position` on.
  [[nodiscard]] GPT2IE_HD RowScales<Element> k_scales(int position, int head, int head_dim) const {
    return scales(tile_.k_scale, position, head, head_dim);
  }
  [[nodiscard]] GPT2IE_HD RowScales<Element> v_scales(int position, int head, int head_dim) const {
    return scales(tile_.v_scale, position, head, head_dim);
  }

 private:
  [[nodiscard]] GPT2IE_HD RowScales<Element> scales(const float* of_tile, int position, int head, int head_dim) const {
    if constexpr (PlainElement<Element>) {
      return {};
    } else {
      const std::ptrdiff_t row_stride = tile_.row_stride / head_dim, head_stride = tile_.head_stride / head_dim;
      return {of_tile + (position - tile_.first) * row_stride + head * head_stride, row_stride};
    }
  }

  const View& view_;
  int layer_, run_, index_ = 0;
  Tile<Element> tile_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
