// SPDX-License-Identifier: MIT
/// attention::Standard: all scores of a row are kept, then softmax, then the weighted sum. The oracle.
#pragma once

#include <cstddef>
#include <limits>

#include <gpt2ie/attention/attention.hpp>
#include <gpt2ie/attention/concepts.hpp>
#include <gpt2ie/attention/tiles.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/math.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace attention {

/// Vaswani et al., "Attention Is All You Need" (2017), equation 1, with the maximum subtracted before exponentiation.
/// Memory: rows * n_head * n_positions floats of scores. Do not choose it for long contexts: that grows with T * T.
struct Standard {
  template <class T>
  static constexpr bool reads = NumberElement<T>;

  static std::size_t scratch_floats(const ModelConfig& config, const Limits& limits) {
    return static_cast<std::size_t>(limits.max_rows) * static_cast<std::size_t>(config.n_head) *
           static_cast<std::size_t>(limits.max_length);
  }

  template <CacheView View>
  GPT2IE_HD static void row(const View& view, const AttentionArgs& args, int row, int head) {
    const int run = view.step.row_run[row], keys = view.step.position[row] + 1;
    const float* q = args.q_at(row, head);
    float* out = args.out_at(row, head);
    float* scores = args.scratch + (static_cast<std::ptrdiff_t>(row) * args.n_head + head) * args.n_positions;

    float largest = -std::numeric_limits<float>::infinity();
    TileCursor<View> forward(view, args.layer, run);
    forward.for_pieces(0, keys, head, [&](int position, int count, const auto* k, const auto* /*v*/) {
      const auto scales = forward.k_scales(position, head, args.head_dim);
      for (int i = 0; i < count; ++i) {
        const float score = args.scale * dot(q, k + i * forward.row_stride(), args.head_dim) * scales[i];
        scores[position + i] = score;
        largest = score > largest ? score : largest;
      }
    });

    float sum = 0;
    for (int i = 0; i < keys; ++i) {
      scores[i] = exp_float(scores[i] - largest);
      sum += scores[i];
    }

    for (int d = 0; d < args.head_dim; ++d) out[d] = 0;
    TileCursor<View> again(view, args.layer, run);
    again.for_pieces(0, keys, head, [&](int position, int count, const auto* /*k*/, const auto* v) {
      again.v_scales(position, head, args.head_dim).multiply(scores + position, count);
      for (int i = 0; i < count; ++i) {
        add_scaled(scores[position + i], v + i * again.row_stride(), args.head_dim, out);
      }
    });
    for (int d = 0; d < args.head_dim; ++d) out[d] /= sum;
  }
};

}  // namespace attention

static_assert(AttentionPolicy<attention::Standard>);

}  // namespace gpt2ie::inline GPT2IE_ABI
