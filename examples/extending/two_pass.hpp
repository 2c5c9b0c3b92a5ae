// SPDX-License-Identifier: MIT
/// An attention policy: softmax in two passes over the keys, with no memory for scores.
#pragma once

#include <cstddef>
#include <limits>

#include <gpt2ie/attention/concepts.hpp>
#include <gpt2ie/attention/tiles.hpp>
#include <gpt2ie/core/math.hpp>

namespace my {

/// The first pass finds the largest score, the second computes every score again and sums. Twice the dot products of
/// gpt2ie::attention::Standard, none of its T x T floats.
struct TwoPass {
  template <class T>
  static constexpr bool reads = gpt2ie::PlainElement<T>;

  static std::size_t scratch_floats(const gpt2ie::ModelConfig& /*config*/, const gpt2ie::Limits& /*limits*/) {
    return 0;
  }

  template <gpt2ie::CacheView View>
  GPT2IE_HD static void row(const View& view, const gpt2ie::AttentionArgs& args, int row, int head) {
    const int run = view.step.row_run[row], keys = view.step.position[row] + 1;
    const float* q = args.q_at(row, head);
    float* out = args.out_at(row, head);

    float largest = -std::numeric_limits<float>::infinity();
    gpt2ie::TileCursor<View> first(view, args.layer, run);
    first.for_pieces(0, keys, head, [&](int /*position*/, int count, const auto* k, const auto* /*v*/) {
      for (int i = 0; i < count; ++i) {
        const float score = args.scale * gpt2ie::dot(q, k + i * first.row_stride(), args.head_dim);
        largest = score > largest ? score : largest;
      }
    });

    float sum = 0;
    for (int d = 0; d < args.head_dim; ++d) out[d] = 0;
    gpt2ie::TileCursor<View> second(view, args.layer, run);
    second.for_pieces(0, keys, head, [&](int /*position*/, int count, const auto* k, const auto* v) {
      for (int i = 0; i < count; ++i) {
        const float score = args.scale * gpt2ie::dot(q, k + i * second.row_stride(), args.head_dim);
        const float weight = gpt2ie::exp_float(score - largest);
        sum += weight;
        gpt2ie::add_scaled(weight, v + i * second.row_stride(), args.head_dim, out);
      }
    });
    for (int d = 0; d < args.head_dim; ++d) out[d] /= sum;
  }
};

static_assert(gpt2ie::AttentionPolicy<TwoPass>);

}  // namespace my
