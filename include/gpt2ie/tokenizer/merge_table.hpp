// SPDX-License-Identifier: MIT
/// The merges of a byte-pair encoding, found by the two tokens that they join.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Two neighbouring tokens that may become one. The place of a merge in its list is its rank: the lower goes first.
struct Merge {
  Token left, right, merged;
};

namespace detail {

/// A hash table with open addressing. Const after construction.
class MergeTable {
 public:
  /// The rank of a pair that is not in the table: behind every real one.
  static constexpr std::uint32_t no_rank = std::numeric_limits<std::uint32_t>::max();

  struct Found {
    std::uint32_t rank = no_rank;
    Token merged = 0;
  };

  MergeTable() : MergeTable(std::span<const Merge>{}) {}

  /// Ranks are places in `merges`. Of a pair that is there twice the first counts; `size` tells.
  explicit MergeTable(std::span<const Merge> merges)
      : slots_(std::bit_ceil(2 * merges.size() + 2)), shift_(64 - std::countr_zero(slots_.size())) {
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const Merge& merge = merges[rank];
      Slot& slot = slots_[place(key_of(merge.left, merge.right))];
      if (slot.found.rank != no_rank) continue;
      slot = {key_of(merge.left, merge.right), {static_cast<std::uint32_t>(rank), merge.merged}};
      ++size_;
    }
  }

  [[nodiscard]] Found find(Token left, Token right) const { return slots_[place(key_of(left, right))].found; }

  /// Pairs in the table.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Found found;  // no_rank: the slot is free
  };

  static std::uint64_t key_of(Token left, Token right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }

  /// Where the key is, or the free slot where it would be. The table is at most half full, so there is one.
  [[nodiscard]] std::size_t place(std::uint64_t key) const {
    std::size_t at = static_cast<std::size_t>(key * 0x9e3779b97f4a7c15u >> shift_);
    while (slots_[at].found.rank != no_rank && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
  std::size_t size_ = 0;
};

}  // namespace detail
}  // namespace gpt2ie::inline GPT2IE_ABI
