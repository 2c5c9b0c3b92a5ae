// SPDX-License-Identifier: MIT
/// One run of a sequence in memory of a test's own, in tiles of any size, for a policy's row function.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <gpt2ie/attention/concepts.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

#include "support/random_checkpoint.hpp"

namespace gpt2ie_test {

/// Tiles of `tile_rows` rows over K and V [context, E].
struct TiledView {
  using element = float;

  gpt2ie::StepView step;
  float *k, *v;
  int tile_rows, n_embd, head_dim;

  [[nodiscard]] int tile_count(int run) const { return (step.run_context[run] + tile_rows - 1) / tile_rows; }
  [[nodiscard]] gpt2ie::Tile<float> tile(int /*layer*/, int run, int index) const {
    const int first = index * tile_rows, left = step.run_context[run] - first;
    return {k + first * n_embd,
            v + first * n_embd,
            nullptr,
            nullptr,
            n_embd,
            head_dim,
            first,
            left < tile_rows ? left : tile_rows};
  }
  [[nodiscard]] gpt2ie::Place<float> place(int /*layer*/, int row) const {
    return {k + step.position[row] * n_embd, v + step.position[row] * n_embd, nullptr, nullptr, head_dim};
  }
};
static_assert(gpt2ie::CacheView<TiledView>);

/// `context` positions, of which the last `rows` are the step's. K and V past the context are NaN.
class RunOfRows {
 public:
  RunOfRows(int n_head, int head_dim, int context, int rows)
      : n_head_(n_head), head_dim_(head_dim), rows_(rows), run_first_{context - rows}, run_context_{context} {
    const auto embd = static_cast<std::size_t>(n_head * head_dim);
    k_ = random_floats(embd * static_cast<std::size_t>(context), 1, 1);
    v_ = random_floats(embd * static_cast<std::size_t>(context), 1, 2);
    q_ = random_floats(embd * static_cast<std::size_t>(rows), 4, 3);
    k_.resize(k_.size() + 16 * embd, std::numeric_limits<float>::quiet_NaN());
    v_.resize(v_.size() + 16 * embd, std::numeric_limits<float>::quiet_NaN());
    for (int i = 0; i < rows; ++i) {
      positions_.push_back(context - rows + i);
      row_run_.push_back(0);
    }
  }

  TiledView view(int tile_rows) {
    return {{.token = nullptr,
             .position = positions_.data(),
             .row_run = row_run_.data(),
             .run_row = &run_row_,
             .run_first = &run_first_,
             .run_context = &run_context_,
             .rows = rows_,
             .runs = 1},
            k_.data(),
            v_.data(),
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
    const TiledView tiles = view(tile_rows);
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

  /// The same in double, from the definition.
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
  std::vector<float> k_, v_, q_;
};

}  // namespace gpt2ie_test
