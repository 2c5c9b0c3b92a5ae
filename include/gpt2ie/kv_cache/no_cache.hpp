// SPDX-License-Identifier: MIT
/// kv::NoCache: nothing is kept; every step computes the whole sequence anew.
#pragma once

#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/row_memory.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// K and V of the step's own rows, [rows][E] each. Layers follow one another, so one layer's memory serves all.
struct NoCacheView {
  using element = float;

  StepView step;
  float *k, *v;
  int n_embd, head_dim;

  [[nodiscard]] GPT2IE_HD int tile_count(int /*run*/) const { return 1; }

  [[nodiscard]] GPT2IE_HD Tile<float> tile(int /*layer*/, int run, int /*index*/) const {
    const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(step.run_row[run]) * n_embd;
    return {k + first, v + first, nullptr, nullptr, n_embd, head_dim, 0, step.run_context[run]};
  }

  [[nodiscard]] GPT2IE_HD Place<float> place(int /*layer*/, int row) const {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(row) * n_embd;
    return {k + at, v + at, nullptr, nullptr, head_dim};
  }
};

namespace detail {

template <class B>
class NoCachePool {
 public:
  NoCachePool(B& backend, const ModelConfig& config, const Limits& limits)
      : config_(config),
        plane_(static_cast<std::size_t>(limits.max_rows) * static_cast<std::size_t>(config.n_embd)),
        rows_(backend.template allocate<float>(2 * plane_)) {}

  NoCacheView stage(B& /*backend*/, const NoCacheBook& /*book*/, const Step& /*step*/, StepView view) {
    return {view, rows_.data(), rows_.data() + plane_, config_.n_embd, config_.head_dim()};
  }

  [[nodiscard]] const CopyCount& copies() const { return copies_; }

 private:
  ModelConfig config_;
  std::size_t plane_;
  buffer_of<B, float> rows_;
  CopyCount copies_;
};

}  // namespace detail

namespace kv {

/// Every run starts at position 0 and is whole, so n tokens cost O(n^2) rows. The baseline of the comparison.
struct NoCache {
  using element = float;
  using book = NoCacheBook;
  template <class B>
  using pool = detail::NoCachePool<B>;
  static constexpr bool retains = false;
};

}  // namespace kv

static_assert(CacheStorage<kv::NoCache> && !RetainingStorage<kv::NoCache>);

}  // namespace gpt2ie::inline GPT2IE_ABI
