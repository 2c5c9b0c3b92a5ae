// SPDX-License-Identifier: MIT
/// What an attention policy is: how softmax(q Kᵀ) V of a row is computed over the tiles of a cache.
#pragma once

#include <concepts>
#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/slab.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// One layer's attention over one step. q of row r, head h: q[r * q_stride + h * head_dim]; out alike. All float, in
/// the backend's memory. A kernel copies this by value.
struct AttentionArgs {
  int layer;
  int n_head, head_dim;  ///< head_dim: 1 to 256
  int n_positions;
  float scale;  ///< scores are multiplied with it before softmax
  const float* q;
  std::ptrdiff_t q_stride;
  float* out;
  std::ptrdiff_t out_stride;
  float* scratch;  ///< Policy::scratch_floats(config, limits) floats for the whole step

  [[nodiscard]] GPT2IE_HD const float* q_at(int row, int head) const {
    return q + row * q_stride + static_cast<std::ptrdiff_t>(head) * head_dim;
  }
  [[nodiscard]] GPT2IE_HD float* out_at(int row, int head) const {
    return out + row * out_stride + static_cast<std::ptrdiff_t>(head) * head_dim;
  }
};

/// P::reads<T>: can it read a cache of element T?
template <class P>
concept HasReads = requires {
  { P::template reads<float> } -> std::convertible_to<bool>;
};

/// Floats that it needs beside the output, for all rows of a step within the limits.
template <class P>
concept HasScratch = requires(const ModelConfig& config, const Limits& limits) {
  { P::scratch_floats(config, limits) } -> std::same_as<std::size_t>;
};

/// The portable row function: row `row`, head `head` attends to positions 0 to its own in its own run, through the
/// view.
template <class P>
concept HasRow = requires(const SlabView<float>& view, const AttentionArgs& args, int row, int head) {
  { P::row(view, args, row, head) } -> std::same_as<void>;
};

/// A policy. Its result for a row depends on the row's query and on the keys and values of positions 0 to its own,
/// never on how tiles divide them, nor on other rows; rows at or past a tile's count never enter arithmetic; it gathers
/// at most one block of keys at a time.
template <class P>
concept AttentionPolicy = HasReads<P> && HasScratch<P> && HasRow<P>;

/// P can read a cache of element T.
template <class P, class T>
concept Reads = AttentionPolicy<P> && P::template reads<T>;

}  // namespace gpt2ie::inline GPT2IE_ABI
