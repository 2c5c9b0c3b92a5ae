// SPDX-License-Identifier: MIT
/// SipHash-2-4 with 128 bits of output: a keyed hash that nobody without the key can find collisions for.
///
/// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2; the wider output is
/// that of its authors' reference code. One round a word of eight bytes costs 14 operations, twice.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Sixteen bytes, the first eight in `low`, lowest byte first.
struct Hash128 {
  std::uint64_t low, high;

  friend constexpr bool operator==(const Hash128&, const Hash128&) = default;
};

/// The secret, as sixteen bytes in the same order.
struct SipKey {
  std::uint64_t low, high;
};

/// Hashes a message given in words of eight bytes, lowest byte first. One message an object; no allocation.
class SipHash128 {
 public:
  constexpr explicit SipHash128(SipKey key)
      : v0_(key.low ^ 0x736f6d6570736575u),
        v1_(key.high ^ 0x646f72616e646f6du ^ 0xee),
        v2_(key.low ^ 0x6c7967656e657261u),
        v3_(key.high ^ 0x7465646279746573u) {}

  /// The next eight bytes.
  constexpr void add(std::uint64_t word) {
    v3_ ^= word;
    mix(2);
    v0_ ^= word;
    bytes_ += 8;
  }

  /// The last `count` bytes, 0 to 7, in the low end of `rest`; then the hash. Call it once.
  constexpr Hash128 finish(std::uint64_t rest = 0, std::size_t count = 0) {
    add(static_cast<std::uint64_t>(bytes_ + count) << 56 | rest);
    v2_ ^= 0xee;
    mix(4);
    const std::uint64_t low = v0_ ^ v1_ ^ v2_ ^ v3_;
    v1_ ^= 0xdd;
    mix(4);
    return {low, v0_ ^ v1_ ^ v2_ ^ v3_};
  }

 private:
  constexpr void mix(int rounds) {
    for (; rounds > 0; --rounds) {
      v0_ += v1_;
      v2_ += v3_;
      v1_ = std::rotl(v1_, 13) ^ v0_;
      v3_ = std::rotl(v3_, 16) ^ v2_;
      v0_ = std::rotl(v0_, 32) + v3_;
      v2_ += v1_;
      v1_ = std::rotl(v1_, 17) ^ v2_;
      v3_ = std::rotl(v3_, 21) ^ v0_;
      v2_ = std::rotl(v2_, 32);
    }
  }

  std::uint64_t v0_, v1_, v2_, v3_;
  std::size_t bytes_ = 0;
};

/// The hash of any bytes. O(size).
[[nodiscard]] constexpr Hash128 siphash128(SipKey key, std::span<const std::uint8_t> bytes) {
  SipHash128 hash(key);
  std::uint64_t word = 0;
  std::size_t held = 0;
  for (const std::uint8_t byte : bytes) {
    word |= static_cast<std::uint64_t>(byte) << (8 * held);
    if (++held == 8) {
      hash.add(word);
      word = held = 0;
    }
  }
  return hash.finish(word, held);
}

}  // namespace gpt2ie::inline GPT2IE_ABI
