// SPDX-License-Identifier: MIT
/// attention::Standard on backend::EigenCpu: the textbook formula in Eigen, one tile of keys at a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <Eigen/Core>

#include <gpt2ie/attention/standard.hpp>
#include <gpt2ie/attention/tiles.hpp>
#include <gpt2ie/backend/eigen_cpu.hpp>
#include <gpt2ie/config.hpp>
#include <gpt2ie/core/element.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// softmax(scale * q Kᵀ) V for each run and head, all its rows at once.
template <class W>
struct attention_kernel<attention::Standard, backend::EigenCpu<W>> {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  template <CacheView View>
  static void run(backend::EigenCpu<W>& backend, const View& view, const AttentionArgs& args, int longest_context) {
    const StepView& step = view.step;
    const std::size_t cost =
        static_cast<std::size_t>(longest_context) * static_cast<std::size_t>(args.head_dim * step.rows);
    backend.launch(step.runs * args.n_head, cost, [&](int i) { attend(view, args, i / args.n_head, i % args.n_head); });
  }

 private:
  template <CacheView View>
  static void attend(const View& view, const AttentionArgs& args, int run, int head) {
    const int first_row = view.step.run_row[run], first = view.step.run_first[run];
    const int keys = view.step.run_context[run], rows = keys - first;
    const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> q(args.q_at(first_row, head), rows, args.head_dim,
                                                              Eigen::OuterStride<>(args.q_stride));
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> out(args.out_at(first_row, head), rows, args.head_dim,
                                                    Eigen::OuterStride<>(args.out_stride));
    Eigen::Map<Matrix, 0, Eigen::OuterStride<>> scores(
        args.scratch + (static_cast<std::ptrdiff_t>(first_row) * args.n_head + head) * args.n_positions, rows, keys,
        Eigen::OuterStride<>(static_cast<std::ptrdiff_t>(args.n_head) * args.n_positions));

    TileCursor<View> forward(view, args.layer, run);
    forward.for_pieces(0, keys, head, [&](int position, int count, const auto* k, const auto* /*v*/) {
      scores.middleCols(position, count).noalias() =
          args.scale * q *
          as_floats(k, count, args.head_dim, forward.row_stride(), forward.k_scales(position, head, args.head_dim))
              .transpose();
    });
    for (int r = 0; r < rows; ++r) {
      auto visible = scores.row(r).head(first + r + 1);
      visible = (visible.array() - visible.maxCoeff()).exp().matrix();
      visible /= visible.sum();
      scores.row(r).tail(rows - r - 1).setZero();
    }
    out.setZero();
    TileCursor<View> again(view, args.layer, run);
    again.for_pieces(0, keys, head, [&](int position, int count, const auto* /*k*/, const auto* v) {
      out.noalias() += scores.middleCols(position, count) * as_floats(v, count, args.head_dim, again.row_stride(),
                                                                      again.v_scales(position, head, args.head_dim));
    });
  }

  template <class T>
  static Matrix as_floats(const T* rows, int count, int head_dim, std::ptrdiff_t row_stride, RowScales<T> scales) {
    Matrix floats(count, head_dim);
    for (int i = 0; i < count; ++i) {
      for (int d = 0; d < head_dim; ++d) floats(i, d) = to_float(rows[i * row_stride + d]) * scales[i];
    }
    return floats;
  }
};

}  // namespace gpt2ie::inline GPT2IE_ABI
