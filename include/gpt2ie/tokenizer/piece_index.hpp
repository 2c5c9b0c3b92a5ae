// SPDX-License-Identifier: MIT
/// Short pieces of text that are one token, found at once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// A hash table with open addressing from pieces of 1 to 16 bytes to tokens. The bytes stand in the slots, so that a
/// look-up touches one cache line as a rule.
class PieceIndex {
 public:
  static constexpr std::size_t longest = 16;
  static constexpr Token none = -1;

  /// Room for `pieces` pieces.
  explicit PieceIndex(std::size_t pieces = 0)
      : slots_(std::bit_ceil(2 * pieces + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  /// Adds a piece that is not there yet, within the room.
  void insert(std::string_view piece, Token token) {
    const Key key = key_of(piece);
    slots_[place(key)] = {key, token};
  }

  /// The token of `piece` (1 to 16 bytes), or `none`.
  [[nodiscard]] Token find(std::string_view piece) const { return slots_[place(key_of(piece))].token; }

 private:
  /// The first and last bytes of a piece; with the length they are all of it.
  struct Key {
    std::uint64_t front = 0, back = 0;
    std::uint32_t length = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Slot {
    Key key;
    Token token = none;  // none: the slot is free
  };

  template <class Word>
  static Word load(const char* bytes) {
    Word word;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
  }

  static Key key_of(std::string_view piece) {
    const std::size_t length = piece.size();
    const char* bytes = piece.data();
    const auto size = static_cast<std::uint32_t>(length);
    if (length >= 8) return {load<std::uint64_t>(bytes), load<std::uint64_t>(bytes + length - 8), size};
    if (length >= 4) return {load<std::uint32_t>(bytes), load<std::uint32_t>(bytes + length - 4), size};
    // One to three bytes: the first, the middle and the last.
    const auto middle = load<std::uint8_t>(bytes + length / 2), last = load<std::uint8_t>(bytes + length - 1);
    return {load<std::uint8_t>(bytes), std::uint64_t{middle} << 8 | last, size};
  }

  [[nodiscard]] std::size_t place(const Key& key) const {
    std::uint64_t hash = (key.front ^ key.length) * 0x9e3779b97f4a7c15u + key.back * 0xc2b2ae3d27d4eb4fu;
    hash = (hash ^ hash >> 32) * 0xff51afd7ed558ccdu;
    std::size_t at = static_cast<std::size_t>(hash >> shift_);
    while (slots_[at].token != none && slots_[at].key != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
