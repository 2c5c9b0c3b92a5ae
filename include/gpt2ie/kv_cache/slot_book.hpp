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
template <bool Retains>
class BasicSlotBook {
 public:
  explicit BasicSlotBook(const Limits& limits)
      : slots_(static_cast<std::size_t>(limits.cache_units ? limits.cache_units : limits.max_sequences)),
        max_length_(limits.max_length) {
    moves_.reserve(slots_.size());
  }

  std::optional<Opened> open(std::span<const Token> /*tokens*/, std::uint64_t /*salt*/) {
    const auto free = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.used; });
    if (free == slots_.end()) return std::nullopt;
    *free = Slot{true, 0};
    return Opened{static_cast<SeqId>(free - slots_.begin()), 0};
  }

  [[nodiscard]] int length(SeqId seq) const { return at(seq).length; }

  void truncate(SeqId seq, int n) noexcept { at(seq).length = std::min(at(seq).length, n); }

  std::optional<SeqId> fork(SeqId seq) {
    const std::optional<Opened> opened = open({}, 0);
    if (!opened) return std::nullopt;
    at(opened->seq).length = length(seq);
    moves_.push_back({static_cast<int>(seq), static_cast<int>(opened->seq)});
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
  [[nodiscard]] std::span<const Move> moves() const { return moves_; }
  void settle() noexcept { moves_.clear(); }

 private:
  struct Slot {
    bool used = false;
    int length = 0;
  };

  [[nodiscard]] Slot& at(SeqId seq) { return slots_[static_cast<std::size_t>(seq)]; }
  [[nodiscard]] const Slot& at(SeqId seq) const { return slots_[static_cast<std::size_t>(seq)]; }

  std::vector<Slot> slots_;
  std::vector<Move> moves_;
  int max_length_;
};

using SlotBook = BasicSlotBook<true>;
using NoCacheBook = BasicSlotBook<false>;

}  // namespace gpt2ie::inline GPT2IE_ABI
