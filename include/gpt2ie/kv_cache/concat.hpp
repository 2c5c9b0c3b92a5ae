// SPDX-License-Identifier: MIT
/// kv::Concat: a new, larger array at each append, as torch.cat does.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/kv_cache/copy_timer.hpp>
#include <gpt2ie/kv_cache/slab.hpp>
#include <gpt2ie/kv_cache/slot_book.hpp>

namespace gpt2ie::inline GPT2IE_ABI {
namespace detail {

template <class T, class B>
class ConcatPool {
 public:
  ConcatPool(B& backend, const ModelConfig& config, const Limits& limits)
      : config_(config),
        slabs_(static_cast<std::size_t>(limits.cache_units ? limits.cache_units : limits.max_sequences)),
        tables_(backend, limits) {}

  /// Grows every run's slab, all layers, before the step runs: if memory ends here, no slab has lost anything.
  SlabView<T> stage(B& backend, const SlotBook& book, const Step& step, StepView view) {
    for (const Move& move : book.moves()) {
      const CopyTimer timer(copies_);
      const Slab& from = slabs_[static_cast<std::size_t>(move.from)];
      resize(backend, slabs_[static_cast<std::size_t>(move.to)], from, book.length(static_cast<SeqId>(move.to)),
             book.length(static_cast<SeqId>(move.to)));
    }
    tables_.clear();
    for (const Run& run : step.runs) {
      Slab& slab = slabs_[static_cast<std::size_t>(run.seq)];
      {
        const CopyTimer timer(copies_);
        resize(backend, slab, slab, run.first, run.first + run.count);
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

  /// target = a new array of `rows` rows that begins with `kept` rows of source; source may be target.
  void resize(B& backend, Slab& target, const Slab& source, int kept, int rows) {
    Slab grown;
    grown.plane = static_cast<std::ptrdiff_t>(rows) * config_.n_embd;
    grown.memory = backend.template allocate<T>(static_cast<std::size_t>(2 * grown.plane * config_.n_layer));
    copy_slab(backend, config_, kept, source.memory.data(), source.plane, grown.memory.data(), grown.plane, copies_);
    target = std::move(grown);
  }

  ModelConfig config_;
  std::vector<Slab> slabs_;
  SlabTables<T, B> tables_;
  CopyCount copies_;
};

}  // namespace detail

namespace kv {

/// Copies the whole past at every step: n tokens cost O(n^2) bytes. It is here to be measured against; choose
/// kv::Contiguous or kv::Paged for work.
template <class T>
struct Concat {
  using element = T;
  using book = SlotBook;
  template <class B>
  using pool = detail::ConcatPool<T, B>;
  static constexpr bool retains = true;
};

}  // namespace kv

static_assert(RetainingStorage<kv::Concat<float>>);

}  // namespace gpt2ie::inline GPT2IE_ABI
