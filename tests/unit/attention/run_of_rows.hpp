// SPDX-License-Identifier: MIT
/// One run of a sequence in memory of a test's own, in tiles of any size, for a policy's row function.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <gpt2ie/attention/concepts.hpp>
#include <gpt2ie/core/element.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

#include "support/random_checkpoint.hpp"
#include "support/stored_heads.hpp"

namespace gpt2ie_test {

/// Tiles of `tile_rows` rows over K and V [context, E], and over their scales [context, n_head].
template <class T>
struct TiledView {
  using element = T;

  gpt2ie::StepView step;
  T *k, *v;
  float *k_scale, *v_scale;  // null for plain elements
  int tile_rows, n_embd, head_dim;

  [[nodiscard]] int tile_count(int run) const { return (step.run_context[run] + tile_rows - 1) / tile_rows; }
  [[nodiscard]] gpt2ie::Tile<T> tile(int /*layer*/, int run, int index) const {
    const int first = index * tile_rows, left = step.run_context[run] - first;
    return {k + first * n_embd,
            v + first * n_embd,
            scale_of(k_scale, first),
            scale_of(v_scale, first),
            n_embd,
            head_dim,
            first,
            left < tile_rows ? left : tile_rows};
  }
  [[nodiscard]] gpt2ie::Place<T> place(int /*layer*/, int row) const { return at(step.position[row]); }

  [[nodiscard]] gpt2ie::Place<T> at(int position) const {
    return {k + position * n_embd, v + position * n_embd, scale_of(k_scale, position), scale_of(v_scale, position),
            head_dim};
  }

 private:
  [[nodiscard]] float* scale_of(float* scales, int position) const {
    return scales == nullptr ? nullptr : scales + position * (n_embd / head_dim);
  }
};
static_assert(gpt2ie::CacheView<TiledView<float>>);

/// `context` positions, of which the last `rows` are the step's. K and V past the context are NaN, or their scales.
template <class T = float>
class RunOfRows {
 public:
  RunOfRows(int n_head, int head_dim, int context, int rows)
      : n_head_(n_head), head_dim_(head_dim), rows_(rows), run_first_{context - rows}, run_context_{context} {
    const auto embd = static_cast<std::size_t>(n_head * head_dim);
    k_ = random_floats(embd * static_cast<std::size_t>(context), 1, 1);
    v_ = random_floats(embd * static_cast<std::size_t>(context), 1, 2);
    q_ = random_floats(embd * static_cast<std::size_t>(rows), 4, 3);
    for (int i = 0; i < rows; ++i) {
      positions_.push_back(context - rows + i);
      row_run_.push_back(0);
    }
    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    const auto room = static_cast<std::size_t>(context) + 16, heads = static_cast<std::size_t>(n_head);
    if constexpr (gpt2ie::PlainElement<T>) {
      stored_k_.assign(room * embd, gpt2ie::from_float<T>(nan));
    } else {
      stored_k_.resize(room * embd);
      k_scale_.assign(room * heads, nan);
    }
    stored_v_ = stored_k_;
    v_scale_ = k_scale_;
    const TiledView<T> whole = view(context);
    for (int i = 0; i < context; ++i) {
      store_row(k_.data() + i * n_head * head_dim, v_.data() + i * n_head * head_dim, n_head, head_dim, whole.at(i));
    }
    k_ = as_stored<T>(std::move(k_), head_dim);
    v_ = as_stored<T>(std::move(v_), head_dim);
  }

  TiledView<T> view(int tile_rows) {
    return {{.token = nullptr,
             .position = positions_.data(),
             .row_run = row_run_.data(),
             .run_row = &run_row_,
             .run_first = &run_first_,
             .run_context = &run_context_,
             .rows = rows_,
             .runs = 1},
            stored_k_.data(),
            stored_v_.data(),
            k_scale_.empty() ? nullptr : k_scale_.data(),
            v_scale_.empty() ? nullptr : v_scale_.data(),
            tile_rows,
            n_head_ * head_dim_,
            head_dim_};
  }

  /// Attention of every row and head by P::row, [rows, E].
  template <class Policy>
  std::vector<float> attend(int tile_rows) {
    gpt2ie::ModelConfig config;
    config.n_head = n_head_;
    const gpt2ie::Limits limits{.max_rows = rows_, .max_length = run_context_};
    std::vector<float> out(q_.size()), scratch(Policy::scratch_floats(config, limits));
    const gpt2ie::AttentionArgs args = arguments(out.data(), scratch.data());
    const TiledView<T> tiles = view(tile_rows);
    for (int row = 0; row < rows_; ++row) {
      for (int head = 0; head < n_head_; ++head) Policy::row(tiles, args, row, head);
    }
    return out;
  }

  gpt2ie::AttentionArgs arguments(float* out, float* scratch) {
    const int embd = n_head_ * head_dim_;
    return {.layer = 0,
            .n_head = n_head_,
            .head_dim = head_dim_,
            .n_positions = run_context_,
            .scale = 1 / std::sqrt(static_cast<float>(head_dim_)),
            .q = q_.data(),
            .q_stride = embd,
            .out = out,
            .out_stride = embd,
            .scratch = scratch};
  }

  /// The same in double, from the definition, of K and V as they are stored.
  [[nodiscard]] std::vector<double> exact() const {
    const auto embd = static_cast<std::size_t>(n_head_ * head_dim_), dim = static_cast<std::size_t>(head_dim_);
    std::vector<double> out(q_.size());
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows_); ++row) {
      const auto keys = static_cast<std::size_t>(positions_[row]) + 1;
      for (std::size_t head = 0; head < embd; head += dim) {
        double sum = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          double score = 0;
          for (std::size_t d = head; d < head + dim; ++d) {
            score += static_cast<double>(q_[row * embd + d]) * static_cast<double>(k_[j * embd + d]);
          }
          const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
          sum += weight;
          for (std::size_t d = head; d < head + dim; ++d) {
            out[row * embd + d] += weight * static_cast<double>(v_[j * embd + d]);
          }
        }
        for (std::size_t d = head; d < head + dim; ++d) out[row * embd + d] /= sum;
      }
    }
    return out;
  }

 private:
  int n_head_, head_dim_, rows_, run_row_ = 0, run_first_, run_context_;
  std::vector<int> positions_, row_run_;
  std::vector<float> k_, v_, q_;  // K and V: what is read back
  std::vector<T> stored_k_, stored_v_;
  std::vector<float> k_scale_, v_scale_;
};

}  // namespace gpt2ie_test
