// SPDX-License-Identifier: MIT
/// Slabs: all of one sequence in one block of memory. kv::Contiguous and kv::Concat differ in when they allocate it.
///
/// Layout of a slab of `rows` rows: [n_layer][K, V][rows][E].
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/copy_timer.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// The owning array that a backend's allocate<T> returns.
template <class B, class T>
using buffer_of = decltype(std::declval<B&>().template allocate<T>(std::size_t{}));

/// One tile a run.
template <class T>
struct SlabView {
  using element = T;

  StepView step;
  T* const* base;               ///< [runs]: the run's slab
  const std::ptrdiff_t* plane;  ///< [runs]: elements from K to V, and from V to the next layer's K
  int n_embd, head_dim;

  [[nodiscard]] GPT2IE_HD int tile_count(int /*run*/) const { return 1; }

  [[nodiscard]] GPT2IE_HD Tile<T> tile(int layer, int run, int /*index*/) const {
    const T* k = base[run] + 2 * layer * plane[run];
    return {k, k + plane[run], nullptr, nullptr, n_embd, head_dim, 0, step.run_context[run]};
  }

  [[nodiscard]] GPT2IE_HD Place<T> place(int layer, int row) const {
    const int run = step.row_run[row];
    T* k = base[run] + 2 * layer * plane[run] + static_cast<std::ptrdiff_t>(step.position[row]) * n_embd;
    return {k, k + plane[run], nullptr, nullptr, head_dim};
  }
};

namespace detail {

/// The tables behind a SlabView, in the backend's memory at addresses that stay.
template <class T, class B>
class SlabTables {
 public:
  SlabTables(B& backend, const Limits& limits)
      : base_(backend.template allocate<T*>(size(limits))),
        plane_(backend.template allocate<std::ptrdiff_t>(size(limits))) {
    host_base_.reserve(size(limits));
    host_plane_.reserve(size(limits));
  }

  void clear() {
    host_base_.clear();
    host_plane_.clear();
  }
  void add_run(T* base, std::ptrdiff_t plane) {
    host_base_.push_back(base);
    host_plane_.push_back(plane);
  }
  SlabView<T> view(B& backend, const ModelConfig& config, StepView step) {
    backend.upload(base_.data(), host_base_.data(), host_base_.size());
    backend.upload(plane_.data(), host_plane_.data(), host_plane_.size());
    return {step, base_.data(), plane_.data(), config.n_embd, config.head_dim()};
  }

 private:
  static std::size_t size(const Limits& limits) { return static_cast<std::size_t>(limits.max_sequences); }

  buffer_of<B, T*> base_;
  buffer_of<B, std::ptrdiff_t> plane_;
  std::vector<T*> host_base_;
  std::vector<std::ptrdiff_t> host_plane_;
};

/// Copies the first `rows` rows of every plane from one slab to another; planes are from_plane and to_plane elements
/// long.
template <class B, class T>
void copy_slab(B& backend, const ModelConfig& config, int rows, const T* from, std::ptrdiff_t from_plane, T* to,
               std::ptrdiff_t to_plane, CopyCount& copies) {
  const std::size_t n = static_cast<std::size_t>(rows) * static_cast<std::size_t>(config.n_embd);
  for (int plane = 0; n != 0 && plane < 2 * config.n_layer; ++plane) {
    backend.copy(to + plane * to_plane, from + plane * from_plane, n);
    copies.bytes += n * sizeof(T);
  }
}

/// When a pool of slabs allocates: all of max_length at the start, or a new slab of the very size at each append.
enum class SlabGrowth { none, each_step };

/// A slab for each sequence of a SlotBook.
template <class T, class B, SlabGrowth Growth>
class SlabPool {
 public:
  SlabPool(B& backend, const ModelConfig& config, const Limits& limits)
      : config_(config),
        slabs_(static_cast<std::size_t>(limits.cache_units ? limits.cache_units : limits.max_sequences)),
        tables_(backend, limits) {
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
    tables_.clear();
    for (const Run& run : step.runs) {
      Slab& slab = slabs_[static_cast<std::size_t>(run.seq)];
      if constexpr (Growth == SlabGrowth::each_step) {
        const CopyTimer timer(copies_);
        Slab grown = allocate(backend, run.first + run.count);
        copy(backend, run.first, slab, grown);
        slab = std::move(grown);
      }
      tables_.add_run(slab.memory.data(), slab.plane);
    }
    return tables_.view(backend, config_, view);
  }

  [[nodiscard]] const CopyCount& copies() const { return copies_; }

 private:
  struct Slab {
    buffer_of<B, T> memory;
    std::ptrdiff_t plane = 0;
  };

  Slab allocate(B& backend, int rows) const {
    const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(rows) * config_.n_embd;
    return {backend.template allocate<T>(static_cast<std::size_t>(2 * plane * config_.n_layer)), plane};
  }

  void copy(B& backend, int rows, const Slab& from, Slab& to) {
    copy_slab(backend, config_, rows, from.memory.data(), from.plane, to.memory.data(), to.plane, copies_);
  }

  ModelConfig config_;
  std::vector<Slab> slabs_;
  SlabTables<T, B> tables_;
  CopyCount copies_;
};

}  // namespace detail
}  // namespace gpt2ie::inline GPT2IE_ABI
