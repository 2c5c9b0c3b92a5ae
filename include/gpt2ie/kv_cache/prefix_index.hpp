// SPDX-License-Identifier: MIT
/// Finds the page that holds given tokens after a given page: a hash table whose nodes are the pages themselves.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gpt2ie/config.hpp>
#include <gpt2ie/core/error.hpp>
#include <gpt2ie/kv_cache/prefix_hash.hpp>

namespace gpt2ie::inline GPT2IE_ABI {

/// Pages by their keys; a page has a serial number from when it is added until it is removed, and no number is ever
/// given twice, so that a child never passes for one of a later page in the same place. Every call costs O(PageTokens)
/// on average whatever the number of pages, for there are as many buckets as pages; nothing allocates after the
/// constructor. Memory: 56 bytes and the tokens for each page.
template <int PageTokens, PageHash Hash>
class PrefixIndex {
 public:
  static constexpr int none = -1;

  explicit PrefixIndex(int pages)
      : entries_(static_cast<std::size_t>(pages)),
        tokens_(entries_.size() * PageTokens),
        buckets_(std::bit_ceil(std::max<std::size_t>(entries_.size(), 1)), none) {}

  /// The page with this key, or none.
  [[nodiscard]] int find(const PageKey& key) { return find(key, hash_(key)); }

  /// Adds a page, unless there is one with this key already. Returns the page that the key stands for now.
  int add(int page, const PageKey& key) {
    GPT2IE_ASSERT(!holds(page) && key.tokens.size() == PageTokens);
    const Hash128 hash = hash_(key);
    const int known = find(key, hash);
    if (known != none) return known;
    int& first = bucket(hash);
    at(page) = {hash, ++last_serial_, key.parent, key.salt, first};
    std::copy(key.tokens.begin(), key.tokens.end(), tokens_.begin() + std::ptrdiff_t{page} * PageTokens);
    first = page;
    return page;
  }

  /// Precondition: holds(page).
  void remove(int page) noexcept {
    int* link = &bucket(at(page).hash);
    while (*link != page) link = &at(*link).next;
    *link = at(page).next;
    at(page).serial = 0;
  }

  [[nodiscard]] bool holds(int page) const { return serial(page) != 0; }
  /// 0: the page is not here.
  [[nodiscard]] std::uint64_t serial(int page) const { return entries_[static_cast<std::size_t>(page)].serial; }

  /// How many pages all searches have looked at so far.
  [[nodiscard]] std::uint64_t visited() const { return visited_; }

 private:
  struct Entry {
    Hash128 hash{};
    std::uint64_t serial = 0, parent = 0, salt = 0;
    int next = none;  // in the same bucket
  };

  [[nodiscard]] Entry& at(int page) { return entries_[static_cast<std::size_t>(page)]; }
  [[nodiscard]] int& bucket(const Hash128& hash) {
    return buckets_[static_cast<std::size_t>(hash.low) & (buckets_.size() - 1)];
  }

  [[nodiscard]] int find(const PageKey& key, const Hash128& hash) {
    int page = bucket(hash);
    for (; page != none; page = at(page).next) {
      ++visited_;
      if (at(page).hash == hash && is(page, key)) break;
    }
    return page;
  }
  [[nodiscard]] bool is(int page, const PageKey& key) {
    const Entry& entry = at(page);
    return entry.parent == key.parent && entry.salt == key.salt &&
           std::equal(key.tokens.begin(), key.tokens.end(), tokens_.begin() + std::ptrdiff_t{page} * PageTokens);
  }

  Hash hash_;
  std::vector<Entry> entries_;  // [pages]
  std::vector<Token> tokens_;   // [pages, PageTokens]
  std::vector<int> buckets_;    // [a power of two]: the first page of each
  std::uint64_t last_serial_ = 0, visited_ = 0;
};

}  // namespace gpt2ie::inline GPT2IE_ABI
