// SPDX-License-Identifier: MIT
/// The book of storages with one unit, a slot, for each sequence.
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

/// Slots of max_length tokens. Retains false: lengths stay 0, because nothing is kept between steps.
///
/// Moves that are owed always read slots that hold their tokens already, never one that waits for a move itself, and
/// such a slot is not given to a new sequence before the moves are made: so their order does not matter.
template <bool Retains>
class BasicSlotBook {
 public:
  explicit BasicSlotBook(const Limits& limits)
      : slots_(static_cast<std::size_t>(limits.cache_units ? limits.cache_units : limits.max_sequences)),
        max_length_(limits.max_length) {
    moves_.reserve(slots_.size());
  }

  std::optional<Opened> open(std::span<const Token> /*tokens*/, std::uint64_t /*salt*/) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].used || is_source(static_cast<int>(i))) continue;
      slots_[i] = Slot{true, 0};
      return Opened{static_cast<SeqId>(i), 0};
    }
    return std::nullopt;
  }

  [[nodiscard]] int length(SeqId seq) const { return at(seq).length; }

  void truncate(SeqId seq, int n) noexcept { at(seq).length = std::min(at(seq).length, n); }

  std::optional<SeqId> fork(SeqId seq) {
    const std::optional<Opened> opened = open({}, 0);
    if (!opened) return std::nullopt;
    at(opened->seq).length = length(seq);
    moves_.push_back({source_of(static_cast<int>(seq)), static_cast<int>(opened->seq)});
    return opened->seq;
  }

  void close(SeqId seq) noexcept {
    at(seq).used = false;
    std::erase_if(moves_, [seq](const Move& move) { return move.to == static_cast<int>(seq); });
  }

  [[nodiscard]] int missing(std::span<const Run> runs) const {
    return static_cast<int>(
        std::count_if(runs.begin(), runs.end(), [this](const Run& run) { return !fits_alone(run.first + run.count); }));
  }

  bool reserve(std::span<const Run> runs) { return missing(runs) == 0; }

  void commit(std::span<const Run> runs, std::span<const Token> /*tokens*/) {
    if constexpr (Retains) {
      for (const Run& run : runs) at(run.seq).length = run.first + run.count;
    }
  }

  void rollback() noexcept {}

  [[nodiscard]] Capacity capacity() const {
    const auto free = std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.used; });
    return {static_cast<int>(slots_.size()), static_cast<int>(free), max_length_};
  }

  [[nodiscard]] bool fits_alone(int n) const { return n <= max_length_; }
  [[nodiscard]] int units_for(int /*tokens*/) const { return 1; }
  [[nodiscard]] std::span<const Move> moves() const { return moves_; }
  void settle() noexcept { moves_.clear(); }

 private:
  struct Slot {
    bool used = false;
    int length = 0;
  };

  [[nodiscard]] bool is_source(int slot) const {
    return std::any_of(moves_.begin(), moves_.end(), [slot](const Move& move) { return move.from == slot; });
  }
  /// The slot that holds the tokens of `slot`: itself, unless a move to it is owed.
  [[nodiscard]] int source_of(int slot) const {
    const auto owed = std::find_if(moves_.begin(), moves_.end(), [slot](const Move& move) { return move.to == slot; });
    return owed == moves_.end() ? slot : owed->from;
  }

  [[nodiscard]] Slot& at(SeqId seq) { return slots_[static_cast<std::size_t>(seq)]; }
  [[nodiscard]] const Slot& at(SeqId seq) const { return slots_[static_cast<std::size_t>(seq)]; }

  std::vector<Slot> slots_;
  std::vector<Move> moves_;
  int max_length_;
};

using SlotBook = BasicSlotBook<true>;
using NoCacheBook = BasicSlotBook<false>;

}  // namespace gpt2ie::inline GPT2IE_ABI
