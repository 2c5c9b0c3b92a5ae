// SPDX-License-Identifier: MIT
/// Philox4x32-10: random numbers as a pure function of a key and a counter, on host and device alike.
///
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 3.3. Nothing
/// here has state, so every function is safe from any thread.
#pragma once

#include <cstdint>

#include <gpt2ie/config.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// 128 bits: a counter, or the random block that belongs to it.
struct PhiloxBlock {
  std::uint32_t word[4];

  friend constexpr bool operator==(const PhiloxBlock&, const PhiloxBlock&) = default;
};

/// 64 bits that choose one of the permutations of blocks.
struct PhiloxKey {
  std::uint32_t low, high;
};

/// The block that ten rounds of Philox make of `counter` under `key`. For one key it is a bijection: different counters
/// never give the same block.
GPT2IE_HD constexpr PhiloxBlock philox4x32_10(PhiloxBlock counter, PhiloxKey key) {
  constexpr std::uint64_t multiplier0 = 0xD2511F53u, multiplier1 = 0xCD9E8D57u;
  constexpr std::uint32_t golden_ratio = 0x9E3779B9u, sqrt3_minus_1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = multiplier0 * counter.word[0];
    const std::uint64_t product1 = multiplier1 * counter.word[2];
    counter = {{static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key.low,
                static_cast<std::uint32_t>(product1),
                static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key.high,
                static_cast<std::uint32_t>(product0)}};
    key.low += golden_ratio;
    key.high += sqrt3_minus_1;
  }
  return counter;
}

/// What a draw decides. Draws for different purposes at one position are independent.
enum class DrawPurpose : std::uint32_t {
  sample = 0,    ///< the token at a position
  draft = 1,     ///< a drafter's proposal for the token at a position
  accept = 2,    ///< whether a drafted token is kept
  residual = 3,  ///< the token in place of a draft that was not kept
};

/// Names one draw. The seed is Philox's key and (position, purpose, choice, 0) its counter: each field has words of its
/// own, so no two names share a key and a counter.
struct DrawName {
  std::uint64_t seed = 0;
  std::uint32_t position = 0;  ///< of the token drawn for: tokens before it, prompt included
  std::uint32_t choice = 0;    ///< which of the n answers of one request
  DrawPurpose purpose = DrawPurpose::sample;
};

/// The 128 random bits of a draw.
GPT2IE_HD constexpr PhiloxBlock random_block(const DrawName& draw) {
  return philox4x32_10({{draw.position, static_cast<std::uint32_t>(draw.purpose), draw.choice, 0}},
                       {static_cast<std::uint32_t>(draw.seed), static_cast<std::uint32_t>(draw.seed >> 32)});
}

/// Uniform in [0, 1) with 53 random bits: a multiple of 2^-53.
GPT2IE_HD constexpr double uniform_double(const DrawName& draw) {
  const PhiloxBlock block = random_block(draw);
  const std::uint64_t bits = std::uint64_t{block.word[0]} << 32 | block.word[1];
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// Uniform in [0, 1) with 24 random bits, the upper ones of the same draw's uniform_double: a multiple of 2^-24.
GPT2IE_HD constexpr float uniform_float(const DrawName& draw) {
  return static_cast<float>(random_block(draw).word[0] >> 8) * 0x1p-24f;
}

}  // namespace gpt2ie::inline GPT2IE_ABI
