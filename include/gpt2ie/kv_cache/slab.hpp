// SPDX-License-Identifier: MIT
/// Slabs: all of one sequence in one block of memory. kv::Contiguous and kv::Concat differ in when they allocate it.
///
/// Layout of a slab of `rows` rows: [n_layer][K, V][rows][E], and of its scales, if T has them: [n_layer][K, V][rows]
/// [n_head].
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/copy_timer.hpp>
#include <gpt2ie/kv_cache/row_memory.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The rows of one sequence.
template <class T>
struct SlabRows {
  StoredRows<T> rows;
  std::ptrdiff_t plane;  ///< elements from K to V, and from V to the next layer's K
};

/// One tile a run.
template <class T>
struct SlabView {
  using element = T;

  StepView step;
  const SlabRows<T>* slab;  ///< [runs]
  int n_embd, head_dim;

  [[nodiscard]] GPT2IE_HD int tile_count(int /*run*/) const { return 1; }

  [[nodiscard]] GPT2IE_HD Tile<T> tile(int layer, int run, int /*index*/) const {
    const std::ptrdiff_t plane = slab[run].plane, k = 2 * layer * plane;
    return slab[run].rows.tile(k, k + plane, heads(), 0, step.run_context[run]);
  }

  [[nodiscard]] GPT2IE_HD Place<T> place(int layer, int row) const {
    const int run = step.row_run[row];
    const std::ptrdiff_t plane = slab[run].plane;
    const std::ptrdiff_t k = 2 * layer * plane + static_cast<std::ptrdiff_t>(step.position[row]) * n_embd;
    return slab[run].rows.place(k, k + plane, heads());
  }

 private:
  [[nodiscard]] GPT2IE_HD HeadLayout heads() const { return {n_embd, head_dim, head_dim}; }
};

namespace detail {

/// When a pool of slabs allocates: all of max_length at the start, or a new slab of the very size at each append.
enum class SlabGrowth { none, each_step };

/// A slab for each sequence of a SlotBook.
template <class T, class B, SlabGrowth Growth>
class SlabPool {
 public:
  SlabPool(B& backend, const ModelConfig& config, const Limits& limits)
      : config_(config),
        slabs_(static_cast<std::size_t>(limits.cache_units ? limits.cache_units : limits.max_sequences)),
        table_(backend.template allocate<SlabRows<T>>(static_cast<std::size_t>(limits.max_sequences))) {
    host_table_.reserve(table_.size());
    if constexpr (Growth == SlabGrowth::none) {
      for (Slab& slab : slabs_) slab = allocate(backend, limits.max_length);
    }
  }

  /// Performs the book's moves. Slabs that grow do so here, all layers, before the step runs: if memory ends, no slab
  /// has lost anything.
  SlabView<T> stage(B& backend, const SlotBook& book, const Step& step, StepView view) {
    for (const Move& move : book.moves()) {
      const CopyTimer timer(copies_);
      const int rows = book.length(static_cast<SeqId>(move.to));
      Slab& to = slabs_[static_cast<std::size_t>(move.to)];
      if constexpr (Growth == SlabGrowth::each_step) to = allocate(backend, rows);
      copy(backend, rows, slabs_[static_cast<std::size_t>(move.from)], to);
    }
    host_table_.clear();
    for (const Run& run : step.runs) {
      Slab& slab = slabs_[static_cast<std::size_t>(run.seq)];
      if constexpr (Growth == SlabGrowth::each_step) {
        const CopyTimer timer(copies_);
        Slab grown = allocate(backend, run.first + run.count);
        copy(backend, run.first, slab, grown);
        slab = std::move(grown);
      }
      host_table_.push_back({slab.memory.rows(), slab.plane});
    }
    backend.upload(table_.data(), host_table_.data(), host_table_.size());
    return {view, table_.data(), config_.n_embd, config_.head_dim()};
  }

  [[nodiscard]] const CopyCount& copies() const { return copies_; }

 private:
  struct Slab {
    RowMemory<T, B> memory;
    std::ptrdiff_t plane = 0;
  };

  Slab allocate(B& backend, int rows) const {
    const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(rows) * config_.n_embd;
    return {RowMemory<T, B>(backend, config_, static_cast<std::size_t>(2 * plane * config_.n_layer)), plane};
  }

  /// Copies the first `rows` rows of every plane.
  void copy(B& backend, int rows, const Slab& from, Slab& to) {
    const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(config_.n_embd);
    for (int plane = 0; plane < 2 * config_.n_layer; ++plane) {
      to.memory.copy(backend, static_cast<std::size_t>(plane * to.plane), from.memory,
                     static_cast<std::size_t>(plane * from.plane), count, copies_);
    }
  }

  ModelConfig config_;
  std::vector<Slab> slabs_;
  buffer_of<B, SlabRows<T>> table_;  // at an address that stays
  std::vector<SlabRows<T>> host_table_;
  CopyCount copies_;
};

}  // namespace detail
}  // namespace gpt2ie::inline GPT2IE_ABI
