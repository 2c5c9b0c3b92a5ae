// SPDX-License-Identifier: MIT
/// kv::Contiguous: one slab of max_length tokens for each sequence, allocated at the start.
#pragma once

#include <cstddef>

#include <gpt2ie/config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/copy_timer.hpp>
#include <gpt2ie/kv_cache/slab.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace detail {

template <class T, class B>
class ContiguousPool {
 public:
  ContiguousPool(B& backend, const ModelConfig& config, const Limits& limits)
      : config_(config),
        plane_(static_cast<std::ptrdiff_t>(limits.max_length) * config.n_embd),
        slabs_(backend.template allocate<T>(static_cast<std::size_t>(slab() * slots(limits)))),
        tables_(backend, limits) {}

  SlabView<T> stage(B& backend, const SlotBook& book, const Step& step, StepView view) {
    if (!book.moves().empty()) {
      const CopyTimer timer(copies_);
      for (const Move& move : book.moves()) {
        copy_slab(backend, config_, book.length(static_cast<SeqId>(move.to)), at(move.from), plane_, at(move.to),
                  plane_, copies_);
      }
    }
    tables_.clear();
    for (const Run& run : step.runs) tables_.add_run(at(static_cast<int>(run.seq)), plane_);
    return tables_.view(backend, config_, view);
  }

  [[nodiscard]] const CopyCount& copies() const { return copies_; }

 private:
  [[nodiscard]] std::ptrdiff_t slab() const { return 2 * plane_ * config_.n_layer; }
  [[nodiscard]] static int slots(const Limits& limits) {
    return limits.cache_units ? limits.cache_units : limits.max_sequences;
  }
  [[nodiscard]] T* at(int slot) { return slabs_.data() + slot * slab(); }

  ModelConfig config_;
  std::ptrdiff_t plane_;
  buffer_of<B, T> slabs_;
  SlabTables<T, B> tables_;
  CopyCount copies_;
};

}  // namespace detail

namespace kv {

/// Memory: max_sequences * max_length tokens from the start, used or not. Reading is one long run of memory. Do not
/// choose it for many sequences of unknown length: kv::Paged holds only what is used.
template <class T>
struct Contiguous {
  using element = T;
  using book = SlotBook;
  template <class B>
  using pool = detail::ContiguousPool<T, B>;
  static constexpr bool retains = true;
};

}  // namespace kv

static_assert(RetainingStorage<kv::Contiguous<float>>);

}  // namespace gpt2ie::inline GPT2IE_ABI
