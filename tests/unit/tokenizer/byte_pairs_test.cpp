// SPDX-License-Identifier: MIT
/// Both ways of merging against a quadratic one, and how much work the long way does.
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include <doctest/doctest.h>

#include <gpt2ie/tokenizer/byte_pairs.hpp>

namespace {

using gpt2ie::Merge;
using gpt2ie::Token;
using gpt2ie::detail::MergeTable;
using Tokens = std::vector<Token>;

/// Every pair looked up again before every merge.
Tokens merge_slowly(const MergeTable& merges, Tokens tokens) {
  while (true) {
    MergeTable::Found best;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto found = merges.find(tokens[i], tokens[i + 1]);
      if (found.rank < best.rank) {
        best = found;
        at = i;
      }
    }
    if (best.rank == MergeTable::no_rank) return tokens;
    tokens[at] = best.merged;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

Tokens merge_long(const MergeTable& merges, const Tokens& tokens) {
  Tokens out;
  gpt2ie::detail::merge_long_piece(merges, tokens, out);
  return out;
}

Tokens merge_short(const MergeTable& merges, Tokens tokens) {
  tokens.resize(gpt2ie::detail::merge_short_piece(merges, tokens));
  return tokens;
}

/// Random merges over an alphabet of `letters`; they may lead back to tokens of lower rank, which trained ones don't.
std::vector<Merge> random_merges(std::mt19937& random, int letters, int count) {
  std::vector<Merge> merges;
  for (int i = 0; i < count; ++i) {
    const int known = letters + (random() % 2 == 0 ? i : count);
    const auto token = [&] { return static_cast<Token>(random() % static_cast<unsigned>(known)); };
    merges.push_back({token(), token(), letters + i});
  }
  return merges;
}

/// A table that counts what is asked of it.
struct CountingMerges {
  const MergeTable& merges;
  mutable std::size_t finds = 0;
  MergeTable::Found find(Token left, Token right) const {
    ++finds;
    return merges.find(left, right);
  }
};

}  // namespace

TEST_CASE("both ways merge as the quadratic one does") {
  constexpr unsigned seed = 7;
  INFO("seed ", seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 3000; ++i) {
    const int letters = 1 + static_cast<int>(random() % 4);
    const MergeTable merges(random_merges(random, letters, static_cast<int>(random() % 12)));
    Tokens tokens(random() % (gpt2ie::detail::short_piece + 1));
    for (Token& token : tokens) token = static_cast<Token>(random() % static_cast<unsigned>(letters));
    const Tokens expected = merge_slowly(merges, tokens);
    REQUIRE(merge_long(merges, tokens) == expected);
    REQUIRE(merge_short(merges, tokens) == expected);
  }
}

TEST_CASE("long pieces merge as the quadratic way does") {
  constexpr unsigned seed = 8;
  INFO("seed ", seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 20; ++i) {
    const int letters = 1 + static_cast<int>(random() % 3);
    const MergeTable merges(random_merges(random, letters, 20));
    Tokens tokens(500 + random() % 1500);
    for (Token& token : tokens) token = static_cast<Token>(random() % static_cast<unsigned>(letters));
    REQUIRE(merge_long(merges, tokens) == merge_slowly(merges, tokens));
  }
}

TEST_CASE("pieces of no and of one token stay") {
  const MergeTable merges(std::vector<Merge>{{0, 0, 1}});
  CHECK(merge_long(merges, {}) == Tokens{});
  CHECK(merge_short(merges, {}) == Tokens{});
  CHECK(merge_long(merges, {0}) == Tokens{0});
  CHECK(merge_short(merges, {0}) == Tokens{0});
  CHECK(merge_long(merges, {0, 0, 0}) == Tokens{1, 0});
}

TEST_CASE("the work for a long piece grows in proportion to its length") {
  // 0 0 -> 1, 1 1 -> 2, ...: the worst case, where everything merges again and again.
  std::vector<Merge> doubling;
  for (Token i = 0; i < 20; ++i) doubling.push_back({i, i, i + 1});
  const MergeTable table(doubling);
  for (const std::size_t length : {1000u, 100000u, 1000000u}) {
    const CountingMerges merges{table};
    Tokens out;
    gpt2ie::detail::merge_long_piece(merges, Tokens(length, 0), out);
    CHECK(merges.finds <= 5 * length);
    std::size_t total = 0;
    for (const Token token : out) total += std::size_t{1} << token;
    CHECK(total == length);
  }
}
