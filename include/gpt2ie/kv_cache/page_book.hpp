// SPDX-License-Identifier: MIT
/// The book of paged storages: a free list, block tables, reference counts, forks with copy on write.
///
/// After Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (SOSP 2023),
/// sections 4.1 to 4.4. A page holds PageTokens tokens of one sequence in all layers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Every page is either free or held by `references(page)` block tables; the two together are always all pages.
/// Opening, closing and reserving cost O(pages touched). One thread at a time.
template <int PageTokens>
class PageBook {
  static_assert(PageTokens > 0, "gpt2ie: kv::Paged<T, P>: P is the number of tokens in a page, and at least 1");

 public:
  explicit PageBook(const Limits& limits)
      : sequences_(static_cast<std::size_t>(limits.max_sequences)), max_length_(limits.max_length) {
    const int total = limits.cache_units ? limits.cache_units : limits.max_sequences * pages_for(limits.max_length);
    references_.assign(static_cast<std::size_t>(total), 0);
    free_.reserve(references_.size());
    for (int page = total; page-- > 0;) free_.push_back(page);
    for (Sequence& sequence : sequences_) sequence.pages.reserve(static_cast<std::size_t>(pages_for(max_length_)));
    undo_.reserve(references_.size());
    moves_.reserve(sequences_.size());
  }

  std::optional<Opened> open(std::span<const Token> /*tokens*/, std::uint64_t /*salt*/) {
    for (std::size_t i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].used) continue;
      sequences_[i].used = true;
      return Opened{static_cast<SeqId>(i), 0};
    }
    return std::nullopt;
  }

  [[nodiscard]] int length(SeqId seq) const { return at(seq).length; }

  void truncate(SeqId seq, int n) noexcept {
    Sequence& sequence = at(seq);
    sequence.length = std::min(sequence.length, n);
    trim(sequence);
  }

  std::optional<SeqId> fork(SeqId seq) {
    const std::optional<Opened> opened = open({}, 0);
    if (!opened) return std::nullopt;
    Sequence& child = at(opened->seq);
    const Sequence& parent = at(seq);
    child.length = parent.length;
    child.pages.assign(parent.pages.begin(), parent.pages.begin() + pages_for(parent.length));
    for (const int page : child.pages) ++count(page);
    return opened->seq;
  }

  void close(SeqId seq) noexcept {
    Sequence& sequence = at(seq);
    sequence.length = 0;
    trim(sequence);
    sequence.used = false;
  }

  /// Pages short for these runs together.
  [[nodiscard]] int missing(std::span<const Run> runs) const {
    int needed = 0;
    for (const Run& run : runs) {
      const Sequence& sequence = at(run.seq);
      needed += std::max(0, pages_for(run.first + run.count) - static_cast<int>(sequence.pages.size()));
      if (writes_into_shared_page(sequence, run)) ++needed;
    }
    return std::max(0, needed - static_cast<int>(free_.size()));
  }

  bool reserve(std::span<const Run> runs) {
    for (const Run& run : runs) {
      if (!fits_alone(run.first + run.count)) return false;
    }
    if (missing(runs) != 0) return false;
    for (const Run& run : runs) {
      Sequence& sequence = at(run.seq);
      GPT2IE_ASSERT(run.first == sequence.length);
      if (writes_into_shared_page(sequence, run)) copy_on_write(run);
      while (static_cast<int>(sequence.pages.size()) < pages_for(run.first + run.count)) {
        sequence.pages.push_back(take());
        undo_.push_back({run.seq, static_cast<int>(sequence.pages.size()) - 1, no_page});
      }
    }
    return true;
  }

  void commit(std::span<const Run> runs, std::span<const Token> /*tokens*/) {
    for (const Run& run : runs) {
      at(run.seq).length = run.first + run.count;
      trim(at(run.seq));
    }
    for (const Undo& undo : undo_) {
      if (undo.shared != no_page) release(undo.shared);
    }
    undo_.clear();
  }

  void rollback() noexcept {
    for (; !undo_.empty(); undo_.pop_back()) {
      const Undo undo = undo_.back();
      std::vector<int>& pages = at(undo.seq).pages;
      const auto index = static_cast<std::size_t>(undo.index);
      if (index >= pages.size()) {  // the sequence was closed meanwhile
        if (undo.shared != no_page) release(undo.shared);
        continue;
      }
      const int page = pages[index];
      if (undo.shared == no_page) {
        pages.pop_back();
      } else {
        pages[index] = undo.shared;
        std::erase_if(moves_, [page](const Move& move) { return move.to == page; });
      }
      release(page);
    }
  }

  [[nodiscard]] Capacity capacity() const {
    return {static_cast<int>(references_.size()), static_cast<int>(free_.size()), max_length_};
  }
  [[nodiscard]] bool fits_alone(int n) const {
    return n <= max_length_ && pages_for(n) <= static_cast<int>(references_.size());
  }
  [[nodiscard]] int units_for(int tokens) const { return pages_for(tokens); }
  [[nodiscard]] std::span<const Move> moves() const { return moves_; }
  void settle() noexcept { moves_.clear(); }

  /// The block table of a sequence: page i holds positions [i * PageTokens, (i + 1) * PageTokens).
  [[nodiscard]] std::span<const int> pages(SeqId seq) const { return at(seq).pages; }
  /// How many block tables name this page; 0: it is free.
  [[nodiscard]] int references(int page) const { return references_[static_cast<std::size_t>(page)]; }

  [[nodiscard]] static constexpr int pages_for(int tokens) { return (tokens + PageTokens - 1) / PageTokens; }

 private:
  static constexpr int no_page = -1;

  struct Sequence {
    bool used = false;
    int length = 0;
    std::vector<int> pages;
  };
  /// One change that a reserve made: a page appended (shared is no_page), or a shared page replaced by an own copy. The
  /// sequence's reference to the shared page lives here until commit drops it or rollback gives it back.
  struct Undo {
    SeqId seq;
    int index, shared;
  };

  [[nodiscard]] Sequence& at(SeqId seq) { return sequences_[static_cast<std::size_t>(seq)]; }
  [[nodiscard]] const Sequence& at(SeqId seq) const { return sequences_[static_cast<std::size_t>(seq)]; }
  [[nodiscard]] int& count(int page) { return references_[static_cast<std::size_t>(page)]; }

  [[nodiscard]] bool writes_into_shared_page(const Sequence& sequence, const Run& run) const {
    const auto index = static_cast<std::size_t>(run.first / PageTokens);
    return run.count > 0 && index < sequence.pages.size() && references(sequence.pages[index]) > 1;
  }

  int take() {
    const int page = free_.back();
    free_.pop_back();
    count(page) = 1;
    return page;
  }
  void release(int page) noexcept {
    if (--count(page) == 0) free_.push_back(page);
  }
  void trim(Sequence& sequence) noexcept {
    while (static_cast<int>(sequence.pages.size()) > pages_for(sequence.length)) {
      release(sequence.pages.back());
      sequence.pages.pop_back();
    }
  }
  void copy_on_write(const Run& run) {
    const int index = run.first / PageTokens;
    int& slot = at(run.seq).pages[static_cast<std::size_t>(index)];
    const int shared = slot;
    slot = take();
    moves_.push_back({shared, slot});
    undo_.push_back({run.seq, index, shared});
  }

  std::vector<Sequence> sequences_;
  std::vector<int> references_, free_;
  std::vector<Move> moves_;
  std::vector<Undo> undo_;
  int max_length_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
