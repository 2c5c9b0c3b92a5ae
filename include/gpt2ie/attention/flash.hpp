// SPDX-License-Identifier: MIT
/// attention::Flash<M, N>: M query rows by N keys at a time with an online softmax; memory O(T).
///
/// Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness" (2022), algorithm 1; Dao,
/// "FlashAttention-2" (2023), section 3.1. Deviation: blocks of keys begin at absolute multiples of N, not at tiles or
/// at the run's start, and each row of a block of queries is updated on its own, so that a row has the same bits
/// whatever tiles, chunks or batch it comes in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

#include <gpt2ie/attention/attention.hpp>
#include <gpt2ie/attention/concepts.hpp>
#include <gpt2ie/attention/flash_math.hpp>
#include <gpt2ie/attention/tiles.hpp>
#include <gpt2ie/backend/simd_cpu.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/math.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace detail {
constexpr bool are_flash_blocks(int m, int n) { return m > 0 && n > 0 && n <= 65536 / m; }
}  // namespace detail

namespace attention {

/// M query rows share each block of N keys while it is in cache. Memory: M * N + 2 * M floats a thread, on its stack;
/// nothing that grows with the context.
template <int M, int N>
struct Flash {
  static_assert(detail::are_flash_blocks(M, N),
                "gpt2ie: attention::Flash<M, N>: M query rows and N keys, each at least 1 and M * N at most 65536");

  template <class T>
  static constexpr bool reads = NumberElement<T>;

  static std::size_t scratch_floats(const ModelConfig& /*config*/, const Limits& /*limits*/) { return 0; }

  /// Scores held at once by each thread, in floats.
  static constexpr std::size_t block_floats = static_cast<std::size_t>(M) * N + 2 * M;

  template <CacheView View>
  GPT2IE_HD static void row(const View& view, const AttentionArgs& args, int row, int head) {
    rows<1>(view, args, view.step.row_run[row], row, 1, head, detail::PortableFlashMath{});
  }

  /// `count` <= Rows neighbouring rows of one run, from `first_row` on. math: PortableFlashMath, or what stands for it.
  template <int Rows, CacheView View, class Math>
  GPT2IE_HD static void rows(const View& view, const AttentionArgs& args, int run, int first_row, int count, int head,
                             const Math& math) {
    if constexpr (!Math::knows_head_dim) return block<Rows, 0>(view, args, run, first_row, count, head, math);
    switch (args.head_dim) {
      case 64:
        return block<Rows, 64>(view, args, run, first_row, count, head, math);
      case 128:
        return block<Rows, 128>(view, args, run, first_row, count, head, math);
      default:
        return block<Rows, 0>(view, args, run, first_row, count, head, math);
    }
  }

 private:
  template <int Rows, int HeadDim, CacheView View, class Math>
  GPT2IE_HD static void block(const View& view, const AttentionArgs& args, int run, int first_row, int count, int head,
                              const Math& math) {
    const int head_dim = HeadDim > 0 ? HeadDim : args.head_dim;
    const int first_position = view.step.position[first_row];
    float largest[Rows], sum[Rows], scores[Rows * N];
    for (int r = 0; r < count; ++r) {
      largest[r] = -std::numeric_limits<float>::infinity();
      sum[r] = 0;
      float* out = args.out_at(first_row + r, head);
      for (int d = 0; d < head_dim; ++d) out[d] = 0;
    }

    TileCursor<View> keys(view, args.layer, run), values(view, args.layer, run);
    const int end = first_position + count;  // one past the last position that any row sees
    for (int from = 0; from < end; from += N) {
      const int to = from + N < end ? from + N : end;
      // Row r sees positions up to first_position + r: in this block, the first `seen(r)` keys.
      const auto seen = [&](int r) {
        const int keys_seen = first_position + r + 1 - from;
        return keys_seen < to - from ? keys_seen : to - from;
      };
      const int first_seeing = from > first_position ? from - first_position : 0;

      keys.for_pieces(from, to, head, [&](int position, int piece, const auto* k, const auto* /*v*/) {
        const auto scales = keys.k_scales(position, head, args.n_head);
        for (int r = first_seeing; r < count; ++r) {
          const float* q = args.q_at(first_row + r, head);
          const int visible = seen(r) - (position - from) < piece ? seen(r) - (position - from) : piece;
          float* of_piece = scores + r * N + (position - from);
          math.template dots<HeadDim>(q, k, keys.row_stride(), visible, head_dim, args.scale, of_piece);
          scales.multiply(of_piece, visible);
        }
      });

      for (int r = first_seeing; r < count; ++r) {
        const float before = largest[r];
        const float block_sum = math.exponentials(scores + r * N, seen(r), largest[r]);
        const float shrink = exp_float(before - largest[r]);
        sum[r] = madd(sum[r], shrink, block_sum);
        scale(shrink, head_dim, args.out_at(first_row + r, head));
      }

      values.for_pieces(from, to, head, [&](int position, int piece, const auto* /*k*/, const auto* v) {
        const auto scales = values.v_scales(position, head, args.n_head);
        for (int r = first_seeing; r < count; ++r) {
          const int visible = seen(r) - (position - from) < piece ? seen(r) - (position - from) : piece;
          float* of_piece = scores + r * N + (position - from);
          scales.multiply(of_piece, visible);
          math.template add_weighted<HeadDim>(of_piece, v, values.row_stride(), visible, head_dim,
                                              args.out_at(first_row + r, head));
        }
      });
    }

    for (int r = 0; r < count; ++r) {
      float* out = args.out_at(first_row + r, head);
      for (int d = 0; d < head_dim; ++d) out[d] /= sum[r];
    }
  }
};

}  // namespace attention

template <int M, int N>
inline constexpr bool detail::refused<attention::Flash<M, N>> = !detail::are_flash_blocks(M, N);

/// On SimdCpu blocks of M rows of a run share their keys, and the backend's instruction set does the loops.
template <int M, int N, class W>
struct attention_kernel<attention::Flash<M, N>, backend::SimdCpu<W>> {
  template <CacheView View>
  static void run(backend::SimdCpu<W>& backend, const View& view, const AttentionArgs& args, int longest_context) {
    if (detail::has_flash_math(backend.isa(), args.head_dim)) {
      run_with(backend, view, args, longest_context, detail::flash_math<typename View::element>());
    } else {
      run_with(backend, view, args, longest_context, detail::PortableFlashMath{});
    }
  }

 private:
  template <CacheView View, class Math>
  static void run_with(backend::SimdCpu<W>& backend, const View& view, const AttentionArgs& args, int longest_context,
                       const Math& math) {
    const StepView& step = view.step;
    int blocks = 0;
    for (int run = 0; run < step.runs; ++run) blocks += blocks_of(step, run);
    const std::size_t cost = static_cast<std::size_t>(longest_context) * static_cast<std::size_t>(args.head_dim) * 2;
    backend.launch(blocks * args.n_head, cost, [&](int i) {
      // Heads vary fastest; later blocks see more keys, so they go first.
      int block = blocks - 1 - i / args.n_head, run = 0;
      while (block >= blocks_of(step, run)) block -= blocks_of(step, run++);
      const int first = block * M, count = std::min(M, rows_of(step, run) - first);
      attention::Flash<M, N>::template rows<M>(view, args, run, step.run_row[run] + first, count, i % args.n_head,
                                               math);
    });
  }

  static int rows_of(const StepView& step, int run) { return step.run_context[run] - step.run_first[run]; }
  static int blocks_of(const StepView& step, int run) { return (rows_of(step, run) + M - 1) / M; }
};

static_assert(AttentionPolicy<attention::Flash<64, 64>>);

}  // namespace gpt2ie::inline GPT2IE_ABI
