// SPDX-License-Identifier: MIT
/// A storage: one slot of max_length tokens for each sequence, cut into chunks of Rows tokens.
///
/// Layout of a slot: [chunks][n_layer][K, V][Rows][E], so that what is written at one time lies together.
#pragma once

#include <cstddef>
#include <vector>

#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/slab.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace my {

/// What attention sees: one tile a chunk.
template <class T, int Rows>
struct ChunkedView {
  using element = T;

  gpt2ie::StepView step;
  T* slots;
  const int* slot;  ///< [runs]: the run's slot
  int chunks, n_layer, n_embd, head_dim;

  [[nodiscard]] GPT2IE_HD int tile_count(int run) const { return (step.run_context[run] + Rows - 1) / Rows; }

  [[nodiscard]] GPT2IE_HD gpt2ie::Tile<T> tile(int layer, int run, int index) const {
    const T* k = chunk(layer, run, index);
    const int first = index * Rows, left = step.run_context[run] - first;
    return {k, k + plane(), nullptr, nullptr, n_embd, head_dim, first, left < Rows ? left : Rows};
  }

  [[nodiscard]] GPT2IE_HD gpt2ie::Place<T> place(int layer, int row) const {
    const int position = step.position[row];
    T* k = chunk(layer, step.row_run[row], position / Rows) + static_cast<std::ptrdiff_t>(position % Rows) * n_embd;
    return {k, k + plane(), nullptr, nullptr, head_dim};
  }

 private:
  [[nodiscard]] GPT2IE_HD std::ptrdiff_t plane() const { return static_cast<std::ptrdiff_t>(Rows) * n_embd; }
  [[nodiscard]] GPT2IE_HD T* chunk(int layer, int run, int index) const {
    const std::ptrdiff_t number = static_cast<std::ptrdiff_t>(slot[run]) * chunks + index;
    return slots + (number * n_layer + layer) * 2 * plane();
  }
};

/// Owns the slots, and makes the copies that the book owes for forks.
template <class T, int Rows, class Backend>
class ChunkedPool {
 public:
  ChunkedPool(Backend& backend, const gpt2ie::ModelConfig& config, const gpt2ie::Limits& limits)
      : config_(config),
        chunks_((limits.max_length + Rows - 1) / Rows),
        slot_size_(static_cast<std::size_t>(2 * Rows * chunks_ * config.n_layer) *
                   static_cast<std::size_t>(config.n_embd)),
        memory_(backend.template allocate<T>(slot_size_ * static_cast<std::size_t>(limits.cache_units != 0
                                                                                       ? limits.cache_units
                                                                                       : limits.max_sequences))),
        slot_(backend.template allocate<int>(static_cast<std::size_t>(limits.max_sequences))) {
    host_slot_.reserve(slot_.size());
  }

  ChunkedView<T, Rows> stage(Backend& backend, const gpt2ie::SlotBook& book, const gpt2ie::Step& step,
                             gpt2ie::StepView view) {
    for (const gpt2ie::Move& move : book.moves()) {
      backend.copy(memory_.data() + slot_size_ * static_cast<std::size_t>(move.to),
                   memory_.data() + slot_size_ * static_cast<std::size_t>(move.from), slot_size_);
    }
    host_slot_.clear();
    for (const gpt2ie::Run& run : step.runs) host_slot_.push_back(static_cast<int>(run.seq));
    backend.upload(slot_.data(), host_slot_.data(), host_slot_.size());
    return {view, memory_.data(), slot_.data(), chunks_, config_.n_layer, config_.n_embd, config_.head_dim()};
  }

 private:
  gpt2ie::ModelConfig config_;
  int chunks_;
  std::size_t slot_size_;
  gpt2ie::buffer_of<Backend, T> memory_;
  gpt2ie::buffer_of<Backend, int> slot_;
  std::vector<int> host_slot_;
};

template <class T, int Rows>
struct Chunked {
  using element = T;
  using book = gpt2ie::SlotBook;
  template <class Backend>
  using pool = ChunkedPool<T, Rows, Backend>;
  static constexpr bool retains = true;
};

static_assert(gpt2ie::RetainingStorage<Chunked<float, 5>>);

}  // namespace my
