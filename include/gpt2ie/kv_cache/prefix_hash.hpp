// SPDX-License-Identifier: MIT
/// What a full page is known by, and the hash of that.
///
/// After Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (SOSP 2023),
/// section 4.4: pages of a shared prefix. K and V of a page depend on every token before it, so a page is known by its
/// own tokens and the page before it. The hash only says where to look; pages are the same when their keys are equal.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/core/siphash.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Names the content of one full page.
struct PageKey {
  std::uint64_t parent;           ///< serial number of the page before it; 0: it is the first
  std::uint64_t salt;             ///< prompts with different salts share nothing
  std::span<const Token> tokens;  ///< [PageTokens]
};

/// Any function of a key. How well it spreads decides how fast a prompt is looked up, never what is found.
template <class H>
concept PageHash = std::movable<H> && std::default_initializable<H> && requires(const H hash, const PageKey& key) {
  { hash(key) } -> std::same_as<Hash128>;
};

/// A key of 128 random bits from the operating system.
inline SipKey random_sip_key() {
  std::random_device device;
  const auto word = [&device] { return std::uint64_t{device()} << 32 | device(); };
  const std::uint64_t low = word();
  return {low, word()};
}

/// SipHash-2-4 under a key of its own, so that nobody can write prompts which collide.
class KeyedHash {
 public:
  KeyedHash() : key_(random_sip_key()) {}
  explicit KeyedHash(SipKey key) : key_(key) {}

  [[nodiscard]] Hash128 operator()(const PageKey& key) const {
    SipHash128 hash(key_);
    hash.add(key.parent);
    hash.add(key.salt);
    const std::size_t n = key.tokens.size();
    for (std::size_t i = 0; i + 1 < n; i += 2) hash.add(bits(key.tokens[i]) | bits(key.tokens[i + 1]) << 32);
    return n % 2 == 0 ? hash.finish() : hash.finish(bits(key.tokens[n - 1]), sizeof(Token));
  }

 private:
  static std::uint64_t bits(Token token) { return static_cast<std::uint32_t>(token); }

  SipKey key_;
};

static_assert(PageHash<KeyedHash>);

}  // namespace gpt2ie::inline GPT2IE_ABI
