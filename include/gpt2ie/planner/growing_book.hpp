// SPDX-License-Identifier: MIT
/// The book of a cache without pages: each sequence is one contiguous run of tokens that grows. For the simulator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/core/step.hpp>
#include <gpt2ie/kv_cache/concepts.hpp>
#include <gpt2ie/planner/first_fit.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// One memory of Limits::cache_units tokens; a unit is a token. What pages are compared with: no storage uses it.
///
/// A sequence opens with a run for the tokens of its prompt, placed by first fit. When it needs more it asks for half
/// as much again as it holds, max_length at most: first in place, where whatever is free behind it will do if it covers
/// what is needed; else at a new place, by first fit; else at a new place for what is needed and no more. A move copies
/// the sequence, and its old place counts as free when the new one is looked for, so a sequence alone always has room
/// for as much as the memory holds. No sharing and no forks.
///
/// Free units are tokens not written, whoever holds them: a scheduler that counts them alone opens as many sequences as
/// it would with perfect packing, and open says no where no hole is large enough.
///
/// Calls cost O(sequences), missing and reserve O(runs * sequences). One thread at a time.
class GrowingBook {
 public:
  explicit GrowingBook(const Limits& limits)
      : memory_(limits.cache_units ? limits.cache_units : limits.max_sequences * limits.max_length),
        sequences_(static_cast<std::size_t>(limits.max_sequences)),
        max_length_(limits.max_length) {}

  /// nullopt as well where no hole holds the tokens.
  std::optional<Opened> open(std::span<const Token> tokens, std::uint64_t /*salt*/) {
    const auto free = std::find_if(sequences_.begin(), sequences_.end(), [](const Sequence& s) { return !s.used; });
    if (free == sequences_.end()) return std::nullopt;
    const auto seq = static_cast<int>(free - sequences_.begin());
    if (!memory_.allocate(seq, std::max(1, static_cast<int>(tokens.size())))) return std::nullopt;
    *free = {.used = true, .length = 0};
    return Opened{static_cast<SeqId>(seq), 0};
  }

  [[nodiscard]] int length(SeqId seq) const { return at(seq).length; }

  /// The run stays as large as it is.
  void truncate(SeqId seq, int n) noexcept { at(seq).length = std::min(at(seq).length, n); }

  std::optional<SeqId> fork(SeqId /*seq*/) { return std::nullopt; }

  void close(SeqId seq) noexcept {
    memory_.release(static_cast<int>(seq));
    if (before_) before_->memory.release(static_cast<int>(seq));
    at(seq) = {};
  }

  /// Tokens that are short for these runs together, at least.
  [[nodiscard]] int missing(std::span<const Run> runs) const {
    State after{memory_, moved_};
    int short_by = 0;
    for (const Run& run : runs) {
      if (!grow(after, run)) short_by += std::max(1, run.first + run.count - after.memory.largest_hole());
    }
    return short_by;
  }

  bool reserve(std::span<const Run> runs) {
    State after{memory_, moved_};
    for (const Run& run : runs) {
      GPT2IE_ASSERT(run.first == length(run.seq));
      if (!grow(after, run)) return false;
    }
    before_ = State{std::exchange(memory_, std::move(after.memory)), std::exchange(moved_, after.moved)};
    return true;
  }

  void commit(std::span<const Run> runs, std::span<const Token> /*tokens*/) {
    for (const Run& run : runs) at(run.seq).length = run.first + run.count;
    before_.reset();
  }

  void rollback() noexcept {
    if (!before_) return;
    memory_ = std::move(before_->memory);
    moved_ = before_->moved;
    before_.reset();
  }

  [[nodiscard]] Capacity capacity() const {
    int written = 0;
    for (const Sequence& sequence : sequences_) written += sequence.length;
    return {memory_.size(), memory_.size() - written, max_length_};
  }
  [[nodiscard]] bool fits_alone(int n) const { return n <= std::min(max_length_, memory_.size()); }
  [[nodiscard]] int units_for(int tokens) const { return tokens; }
  [[nodiscard]] std::span<const Move> moves() const { return {}; }
  void settle() noexcept {}

  [[nodiscard]] const FirstFit& memory() const { return memory_; }
  /// Tokens copied to another place so far.
  [[nodiscard]] std::int64_t moved_tokens() const { return moved_; }

 private:
  struct Sequence {
    bool used = false;
    int length = 0;
  };
  struct State {
    FirstFit memory;
    std::int64_t moved;
  };

  [[nodiscard]] Sequence& at(SeqId seq) { return sequences_[static_cast<std::size_t>(seq)]; }
  [[nodiscard]] const Sequence& at(SeqId seq) const { return sequences_[static_cast<std::size_t>(seq)]; }

  bool grow(State& state, const Run& run) const {
    const auto owner = static_cast<int>(run.seq);
    const int needed = run.first + run.count, held = state.memory.run(owner).size;
    if (needed <= held) return true;
    if (!fits_alone(needed)) return false;
    const int wanted = std::max(needed, std::min(held + held / 2, max_length_));
    if (state.memory.extend(owner, needed, wanted)) return true;
    if (!state.memory.move(owner, wanted) && !state.memory.move(owner, needed)) return false;
    state.moved += run.first;
    return true;
  }

  FirstFit memory_;
  std::vector<Sequence> sequences_;
  std::optional<State> before_;  // of the step that is reserved
  std::int64_t moved_ = 0;
  int max_length_;
};

static_assert(CacheBook<GrowingBook>);

}  // namespace gpt2ie::inline GPT2IE_ABI
