// SPDX-License-Identifier: MIT
/// Walking the tiles of a run.
#pragma once

#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// A position in a run's tiles that only moves forward. Host and device.
template <CacheView View>
class TileCursor {
 public:
  GPT2IE_HD TileCursor(const View& view, int layer, int run)
      : view_(view), layer_(layer), run_(run), tile_(view.tile(layer, run, 0)) {}

  /// Calls f(position, count, k, v) for the pieces of [from, to) that lie in one tile each, in order: k and v are the
  /// row of `position` in head `head`, and the next row is row_stride() further.
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

 private:
  const View& view_;
  int layer_, run_, index_ = 0;
  Tile<typename View::element> tile_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
