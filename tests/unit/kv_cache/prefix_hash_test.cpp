// SPDX-License-Identifier: MIT
/// Every part of a page's key is part of its hash.
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/core/siphash.hpp>
#include <gpt2ie/kv_cache/prefix_hash.hpp>

using gpt2ie::Hash128;
using gpt2ie::KeyedHash;
using gpt2ie::PageKey;
using gpt2ie::SipKey;
using gpt2ie::Token;

TEST_CASE("a page's hash is SipHash of parent, salt and tokens, in this order") {
  const std::vector<Token> even = {1, 2}, odd = {1, 2, 0x01020304};
  const std::vector<std::uint8_t> bytes = {7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0,
                                           0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 4, 3, 2, 1};
  const SipKey key{3, 4};
  const KeyedHash hash(key);
  CHECK(hash(PageKey{7, 9, odd}) == siphash128(key, bytes));
  CHECK(hash(PageKey{7, 9, even}) == siphash128(key, std::span(bytes).first(24)));
}

TEST_CASE("parent, salt, each token and their order change the hash") {
  const KeyedHash hash(SipKey{1, 2});
  const std::vector<Token> texts[] = {{1, 2, 3, 4}, {1, 2, 4, 3}, {1, 2, 3, 5}, {0, 2, 3, 4}, {1, 2, 3}, {1, 2, 3, -4}};
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const std::vector<Token>& text : texts) {
    for (const std::uint64_t parent : {0u, 1u, 2u}) {
      for (const std::uint64_t salt : {0u, 1u, 2u}) {
        const Hash128 found = hash(PageKey{parent, salt, text});
        seen.emplace(found.low, found.high);
      }
    }
  }
  CHECK(seen.size() == 6 * 9);
}

TEST_CASE("K-3: nobody knows the key of a hash in advance") {
  const std::vector<Token> text = {1, 2, 3, 4};
  const KeyedHash first, second;
  CHECK_FALSE(first(PageKey{0, 0, text}) == second(PageKey{0, 0, text}));
}
