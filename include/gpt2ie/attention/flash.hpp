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

/// Neighbouring rows of one run in neighbouring heads.
template <CacheView View>
struct FlashPart {
  const View& view;
  const AttentionArgs& args;
  int run, first_row, rows, first_head, heads;

  /// Of [heads][rows].
  [[nodiscard]] GPT2IE_HD const float* q(int head, int row) const {
    return args.q_at(first_row + row, first_head + head);
  }
  [[nodiscard]] GPT2IE_HD float* out(int head, int row) const {
    return args.out_at(first_row + row, first_head + head);
  }
};
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
    rows<1>(detail::FlashPart<View>{view, args, view.step.row_run[row], row, 1, head, 1}, detail::PortableFlashMath{});
  }

  /// A part with rows * heads <= Most. math: PortableFlashMath, or what stands for it.
  template <int Most, CacheView View, class Math>
  GPT2IE_HD static void rows(const detail::FlashPart<View>& part, const Math& math) {
    if constexpr (!Math::knows_head_dim) return walk<Most, 0>(part, math);
    switch (part.args.head_dim) {
      case 64:
        return walk<Most, 64>(part, math);
      case 128:
        return walk<Most, 128>(part, math);
      default:
        return walk<Most, 0>(part, math);
    }
  }

 private:
  template <int Most, int HeadDim, CacheView View, class Math>
  GPT2IE_HD static void walk(const detail::FlashPart<View>& part, const Math& math) {
    const AttentionArgs& args = part.args;
    const int head_dim = HeadDim > 0 ? HeadDim : args.head_dim, rows = part.rows;
    const int first_position = part.view.step.position[part.first_row];
    float largest[Most], sum[Most], scores[Most * N];  // [heads][rows]
    for (int head = 0; head < part.heads; ++head) {
      for (int r = 0; r < rows; ++r) {
        largest[head * rows + r] = -std::numeric_limits<float>::infinity();
        sum[head * rows + r] = 0;
        float* out = part.out(head, r);
        for (int d = 0; d < head_dim; ++d) out[d] = 0;
      }
    }

    TileCursor<View> keys(part.view, args.layer, part.run), values(part.view, args.layer, part.run);
    const int end = first_position + rows;  // one past the last position that any row sees
    for (int from = 0; from < end; from += N) {
      const int to = from + N < end ? from + N : end;
      // Row r sees positions up to first_position + r: of the `piece` keys from `position` on, the first seen(...).
      const auto seen = [&](int r, int position, int piece) {
        const int keys_seen = first_position + r + 1 - position;
        return keys_seen < 0 ? 0 : keys_seen < piece ? keys_seen : piece;
      };
      const int first_seeing = from > first_position ? from - first_position : 0;

      // All heads of a piece before the next piece: where they lie side by side, memory is read in one stream.
      keys.for_pieces(from, to, part.first_head, [&](int position, int piece, const auto* k, const auto* /*v*/) {
        const auto stride = keys.row_stride();
        for (int head = 0; head < part.heads; ++head, k += keys.head_stride()) {
          const auto scales = keys.k_scales(position, part.first_head + head, head_dim);
          float* const of_piece = scores + head * rows * N + (position - from);
          // What all rows of a group see goes through them together.
          for (int r = first_seeing; r < rows; r += Math::most_rows) {
            const int group = rows - r < Math::most_rows ? rows - r : Math::most_rows;
            const int common = seen(r, position, piece);
            math.template dots<HeadDim>(part.q(head, r), args.q_stride, group, k, stride, common, head_dim, args.scale,
                                        of_piece + r * N, N);
            for (int i = r + 1; i < r + group; ++i) {
              math.template dots<HeadDim>(part.q(head, i), 0, 1, k + common * stride, stride,
                                          seen(i, position, piece) - common, head_dim, args.scale,
                                          of_piece + i * N + common, 0);
            }
          }
          for (int r = first_seeing; r < rows; ++r) scales.multiply(of_piece + r * N, seen(r, position, piece));
        }
      });

      for (int head = 0; head < part.heads; ++head) {
        for (int r = first_seeing; r < rows; ++r) {
          const int i = head * rows + r;
          const float before = largest[i];
          const float block_sum = math.exponentials(scores + i * N, seen(r, from, to - from), largest[i]);
          const float shrink = exp_float(before - largest[i]);
          sum[i] = madd(sum[i], shrink, block_sum);
          scale(shrink, head_dim, part.out(head, r));
        }
      }

      values.for_pieces(from, to, part.first_head, [&](int position, int piece, const auto* /*k*/, const auto* v) {
        const auto stride = values.row_stride();
        for (int head = 0; head < part.heads; ++head, v += values.head_stride()) {
          const auto scales = values.v_scales(position, part.first_head + head, head_dim);
          float* const of_piece = scores + head * rows * N + (position - from);
          for (int r = first_seeing; r < rows; ++r) scales.multiply(of_piece + r * N, seen(r, position, piece));
          for (int r = first_seeing; r < rows; r += Math::most_rows) {
            const int group = rows - r < Math::most_rows ? rows - r : Math::most_rows;
            const int common = seen(r, position, piece);
            math.template add_weighted<HeadDim>(of_piece + r * N, N, group, v, stride, common, head_dim,
                                                part.out(head, r), args.out_stride);
            for (int i = r + 1; i < r + group; ++i) {
              math.template add_weighted<HeadDim>(of_piece + i * N + common, 0, 1, v + common * stride, stride,
                                                  seen(i, position, piece) - common, head_dim, part.out(head, i), 0);
            }
          }
        }
      });
    }

    for (int head = 0; head < part.heads; ++head) {
      for (int r = 0; r < rows; ++r) {
        float* out = part.out(head, r);
        for (int d = 0; d < head_dim; ++d) out[d] /= sum[head * rows + r];
      }
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
      run_with(backend, view, args, longest_context, detail::flash_math<typename View::element>(backend.isa()));
    } else {
      run_with(backend, view, args, longest_context, detail::PortableFlashMath{});
    }
  }

 private:
  template <CacheView View, class Math>
  static void run_with(backend::SimdCpu<W>& backend, const View& view, const AttentionArgs& args, int longest_context,
                       const Math& math) {
    const StepView& step = view.step;
    int blocks = 0, longest = 1;
    for (int run = 0; run < step.runs; ++run) {
      blocks += blocks_of(step, run);
      longest = std::max(longest, rows_of(step, run));
    }
    // Short runs leave room for several heads; but each thread is to have something.
    const int heads =
        std::clamp(blocks * args.n_head / (backend.threads() * 2), 1, std::min(args.n_head, M / std::min(M, longest)));
    const int parts = (args.n_head + heads - 1) / heads;
    const auto cost = static_cast<std::size_t>(longest_context) * static_cast<std::size_t>(heads * args.head_dim) * 2;
    backend.launch(blocks * parts, cost, [&](int i) {
      // Heads vary fastest; later blocks see more keys, so they go first.
      int block = blocks - 1 - i / parts, run = 0;
      while (block >= blocks_of(step, run)) block -= blocks_of(step, run++);
      const int first = block * M, count = std::min(M, rows_of(step, run) - first), head = i % parts * heads;
      attention::Flash<M, N>::template rows<M>(
          detail::FlashPart<View>{view, args, run, step.run_row[run] + first, count, head,
                                  std::min(heads, args.n_head - head)},
          math);
    });
  }

  static int rows_of(const StepView& step, int run) { return step.run_context[run] - step.run_first[run]; }
  static int blocks_of(const StepView& step, int run) { return (rows_of(step, run) + M - 1) / M; }
};

static_assert(AttentionPolicy<attention::Flash<64, 64>>);

}  // namespace gpt2ie::inline GPT2IE_ABI
