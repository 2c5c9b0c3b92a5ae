// SPDX-License-Identifier: MIT
/// Byte-pair encoding of one piece, after Sennrich et al. 2016 (section 3.2) as GPT-2 uses it.
///
/// The pair of neighbours with the lowest rank becomes one token, the leftmost first among equals, until no neighbours
/// are a pair of the table.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/model_config.hpp>
#include <gpt2ie/tokenizer/merge_table.hpp>

namespace gpt2ie::inline GPT2IE_ABI::detail {

/// Pieces up to here are merged in place, which is quadratic but has no set-up; nearly every piece of real text is one.
inline constexpr std::size_t short_piece = 48;

/// Merges `tokens` (at most `short_piece`) in place and gives how many are left. Time: quadratic. No allocation.
inline std::size_t merge_short_piece(const MergeTable& merges, std::span<Token> tokens) {
  std::array<std::uint32_t, short_piece> ranks;  // [i]: the rank of the pair that token i begins
  std::array<Token, short_piece> merged;         // [i]: what that pair becomes
  const auto look_up = [&](std::size_t i) {
    const MergeTable::Found found = merges.find(tokens[i], tokens[i + 1]);
    ranks[i] = found.rank;
    merged[i] = found.merged;
  };
  std::size_t count = tokens.size();
  for (std::size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == MergeTable::no_rank) break;
    tokens[best] = merged[best];
    for (std::size_t i = best + 1; i + 1 < count; ++i) {
      tokens[i] = tokens[i + 1];
      ranks[i] = ranks[i + 1];
      merged[i] = merged[i + 1];
    }
    --count;
    if (best > 0) look_up(best - 1);
    if (best + 1 < count) look_up(best);
  }
  return count;
}

/// Merges `tokens` (fewer than 2^32) and appends what is left to `out`. Time: O(n log n) with n tokens; each of the at
/// most n - 1 merges looks three pairs up and queues two at most. Merges: MergeTable, or what has its find(). Extra
/// memory: 16 bytes a token and 8 a queued pair.
template <class Merges>
void merge_long_piece(const Merges& merges, std::span<const Token> tokens, std::vector<Token>& out) {
  // A list linked both ways through places in `nodes`; a merge keeps the left node and unlinks the right one.
  struct Node {
    Token token;
    std::uint32_t previous, next;
    std::uint32_t rank;  // of the pair that this node begins
  };
  const auto end = static_cast<std::uint32_t>(tokens.size());
  std::vector<Node> nodes(tokens.size());
  for (std::uint32_t i = 0; i < end; ++i) nodes[i] = {tokens[i], i - 1, i + 1, MergeTable::no_rank};

  // Rank above, place below: the smallest is the next merge. A pair that changed stays queued under its old rank, and
  // is known by it when its turn comes.
  std::vector<std::uint64_t> pairs;
  pairs.reserve(tokens.size());
  const auto rank_pair = [&](std::uint32_t left) {
    Node& node = nodes[left];
    node.rank = node.next == end ? MergeTable::no_rank : merges.find(node.token, nodes[node.next].token).rank;
    return node.rank != MergeTable::no_rank;
  };
  const auto queued = [&](std::uint32_t left) { return std::uint64_t{nodes[left].rank} << 32 | left; };
  for (std::uint32_t i = 0; i < end; ++i) {
    if (rank_pair(i)) pairs.push_back(queued(i));
  }
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue(std::greater<>{},
                                                                                       std::move(pairs));
  while (!queue.empty()) {
    const auto rank = static_cast<std::uint32_t>(queue.top() >> 32);
    const auto left = static_cast<std::uint32_t>(queue.top());
    queue.pop();
    Node& node = nodes[left];
    if (node.rank != rank) continue;
    Node& right = nodes[node.next];
    node.token = merges.find(node.token, right.token).merged;
    node.next = right.next;
    right.rank = MergeTable::no_rank;
    if (node.next != end) nodes[node.next].previous = left;
    if (rank_pair(left)) queue.push(queued(left));
    if (left != 0 && rank_pair(node.previous)) queue.push(queued(node.previous));
  }
  for (std::uint32_t i = 0; i != end; i = nodes[i].next) out.push_back(nodes[i].token);
}

}  // namespace gpt2ie::inline GPT2IE_ABI::detail
